"""A part that runs beside the steps that need it."""

import asyncio

from pitstop.engine.frame import Activation
from pitstop.events.outcome import Status
from tests.engine.flows import (
    background,
    fails,
    flow,
    leaf,
    living_tasks,
    parallel,
    passes,
    run_flow,
    sequence,
    stubborn,
    takes,
    takes_then_fails,
)
from tests.engine.virtual_time import now, virtual_time

FOR_EVER = 1e6


@virtual_time
async def test_it_is_ended_with_the_steps_it_runs_beside() -> None:
    plan = flow(background("bg", leaf("server", takes(FOR_EVER)), leaf("a", takes(1)), leaf("b", takes(2))), leaf("c"))

    outcome, bench = await run_flow(plan)

    assert (outcome.status, now()) == (Status.PASSED, 3)
    assert bench.finished["bg.server"] is Status.CANCELLED
    assert bench.frame_ends["bg.server"] == "the foreground steps have ended"
    assert bench.statuses["bg"] == "passed"
    assert bench.ran == ["bg.a", "bg.server", "bg.b", "c"]
    assert living_tasks() == set()


@virtual_time
async def test_its_failure_ends_the_steps_beside_and_fails_the_step() -> None:
    plan = flow(background("bg", leaf("server", takes_then_fails(1, "port in use")), leaf("a", takes(60)), leaf("b")))

    outcome, bench = await run_flow(plan)

    assert (outcome.status, now()) == (Status.FAILED, 1)
    assert outcome.error is not None
    assert (outcome.error.message, outcome.error.origin) == ("port in use", "bg.server")
    assert bench.finished["bg.a"] is Status.CANCELLED
    assert "b" not in bench.steps


@virtual_time
async def test_a_step_that_its_failure_ended_says_so() -> None:
    plan = flow(background("bg", leaf("server", takes_then_fails(1)), leaf("a", takes(60))))

    _, bench = await run_flow(plan)

    error = bench.outcomes["bg.a"].error
    assert error is not None
    assert "server" in error.message, f"it says: {error.message}"


@virtual_time
async def test_a_step_beside_that_does_not_let_itself_be_ended_does_not_save_it() -> None:
    plan = flow(background("bg", leaf("server", takes_then_fails(1)), leaf("a", stubborn(60)), leaf("b", takes(60))))

    outcome, bench = await run_flow(plan)

    assert (outcome.status, now()) == (Status.FAILED, 1)
    assert "bg.b" not in bench.ran


@virtual_time
async def test_it_may_end_first() -> None:
    plan = flow(background("bg", leaf("warm-up", takes(1, {"x": 1})), leaf("a", takes(5))))

    outcome, bench = await run_flow(plan)

    assert (outcome.status, now()) == (Status.PASSED, 5)
    assert bench.steps["warm-up"]["outputs"] == {"x": 1}
    assert bench.frame_ends["bg.warm-up"] is None


@virtual_time
async def test_with_continue_on_error_its_failure_is_its_own() -> None:
    server = leaf("server", takes_then_fails(1), continue_on_error=True)

    outcome, bench = await run_flow(flow(background("bg", server, leaf("a", takes(5)))))

    assert (outcome.status, now()) == (Status.PASSED, 5)
    assert bench.statuses["server"] == "failed"


@virtual_time
async def test_a_failure_beside_it_ends_it_too() -> None:
    plan = flow(background("bg", leaf("server", takes(FOR_EVER)), leaf("a", takes_then_fails(1, "smoke")), leaf("b")))

    outcome, bench = await run_flow(plan)

    assert outcome.error is not None
    assert (outcome.error.message, now()) == ("smoke", 1)
    assert bench.finished["bg.server"] is Status.CANCELLED
    assert living_tasks() == set()


@virtual_time
async def test_it_may_itself_be_branches() -> None:
    servers = parallel("servers", leaf("x", takes(FOR_EVER)), sequence("y", leaf("z", takes(FOR_EVER))))

    outcome, bench = await run_flow(flow(background("bg", servers, leaf("a", takes(1)))))

    assert outcome.status is Status.PASSED
    assert {bench.finished[name] for name in ("bg.servers", "bg.servers.x", "bg.servers.y.z")} == {Status.CANCELLED}
    assert living_tasks() == set()


@virtual_time
async def test_a_timeout_of_the_whole_ends_both() -> None:
    plan = flow(background("bg", leaf("server", takes(FOR_EVER)), leaf("a", takes(FOR_EVER)), timeout_seconds=5))

    outcome, bench = await run_flow(plan)

    assert (outcome.status, now()) == (Status.TIMED_OUT, 5)
    assert bench.finished["bg.server"] is Status.CANCELLED
    assert living_tasks() == set()


@virtual_time
async def test_a_step_beside_that_raises_a_timeout_error_has_just_failed() -> None:
    def raise_timeout(activation: Activation) -> None:
        raise TimeoutError("mine")

    outcome, _ = await run_flow(flow(background("bg", leaf("server", takes(FOR_EVER)), leaf("a", raise_timeout))))

    assert outcome.status is Status.FAILED
    assert outcome.error is not None
    assert outcome.error.message == "mine"


@virtual_time
async def test_both_run_at_once() -> None:
    ready = asyncio.Event()

    async def serve(activation: Activation) -> None:
        ready.set()
        await asyncio.Event().wait()

    async def use(activation: Activation) -> str:
        await ready.wait()
        return "answered"

    _, bench = await run_flow(flow(background("bg", leaf("server", serve), leaf("client", use))))

    assert bench.steps["client"]["outputs"] == "answered"


@virtual_time
async def test_a_part_without_steps_beside_ends_at_once() -> None:
    outcome, _ = await run_flow(flow(background("bg", leaf("server", fails())), leaf("a", passes())))

    assert outcome.status is Status.PASSED
