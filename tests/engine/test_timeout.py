"""Timeouts: of a step, of a part, of the whole run, and what is not one."""

import asyncio
from typing import Any

import pytest
from msgspec.structs import replace

from pitstop.engine.frame import Activation
from pitstop.events.outcome import Status
from pitstop.plan.plan import Step
from tests.engine.flows import (
    Bench,
    Do,
    call,
    flow,
    leaf,
    living_tasks,
    matrix,
    parallel,
    repeat,
    run_flow,
    sequence,
    stubborn,
    takes,
)
from tests.engine.virtual_time import now, virtual_time


@virtual_time
async def test_a_step_that_takes_too_long_is_ended() -> None:
    outcome, bench = await run_flow(flow(leaf("x", takes(60), timeout_seconds=2.5), leaf("y")))

    assert (outcome.status, now()) == (Status.TIMED_OUT, 2.5)
    assert outcome.error is not None
    assert (outcome.error.type, outcome.error.message) == ("Timeout", "timed out after 2.5 s")
    assert outcome.error.origin == "x"
    assert bench.ran == ["x"]


@virtual_time
async def test_a_step_in_time_is_left_alone() -> None:
    outcome, _ = await run_flow(flow(leaf("x", takes(2), timeout_seconds=2.5)))

    assert outcome.status is Status.PASSED


@virtual_time
async def test_a_timed_out_step_may_be_forgiven() -> None:
    outcome, bench = await run_flow(flow(leaf("x", takes(60), timeout_seconds=1, continue_on_error=True), leaf("y")))

    assert outcome.status is Status.PASSED
    assert bench.statuses == {"x": "timed_out", "y": "passed"}


PARTS = {
    "sequence": sequence("part", leaf("x", takes(60)), leaf("z")),
    "parallel": parallel("part", leaf("x", takes(60)), leaf("y", takes(60))),
    "matrix": matrix("part", {"n": [1, 2]}, leaf("x", takes(60)), config={"parallel": True}),
    "repeat": repeat("part", leaf("x", takes(3)), config={"times": 99}),
    "call": call("part", leaf("x", takes(60))),
    "deep": sequence("part", parallel("p", sequence("s", leaf("x", takes(60))), leaf("y", takes(60)))),
}


@pytest.mark.parametrize("kind", PARTS)
@virtual_time
async def test_the_timeout_of_a_part_ends_all_in_it(kind: str) -> None:
    part = replace(PARTS[kind], timeout_seconds=5)

    outcome, bench = await run_flow(flow(part, leaf("after")))

    assert (outcome.status, now()) == (Status.TIMED_OUT, 5)
    assert outcome.error is not None
    assert outcome.error.origin == "part"
    assert "after" not in bench.ran
    assert bench.finished["part"] is Status.TIMED_OUT
    assert living_tasks() == set()


@pytest.mark.parametrize("kind", ["sequence", "parallel", "deep"])
@virtual_time
async def test_a_step_that_the_timeout_of_its_part_ended_says_so(kind: str) -> None:
    part = replace(PARTS[kind], timeout_seconds=5)

    _, bench = await run_flow(flow(part))

    (message,) = {
        outcome.error.message
        for occurrence, outcome in bench.outcomes.items()
        if outcome.error is not None and outcome.status is Status.CANCELLED
    }
    assert "timed out after 5 s" in message, f"it says: {message}"


@virtual_time
async def test_the_timeout_of_a_run_ends_it_and_cleanup_has_its_own_time() -> None:
    outcome, bench = await run_flow(flow(leaf("x", takes(60)), cleanup=[leaf("tidy", takes(10))], timeout=5))

    assert outcome.status is Status.TIMED_OUT
    assert outcome.error is not None
    assert outcome.error.message == "the run timed out after 5 s"
    assert bench.ran == ["x", "tidy"]
    assert now() == 15


@virtual_time
async def test_the_shortest_timeout_counts_and_says_whose_it_is() -> None:
    inner, _ = await run_flow(
        flow(sequence("part", leaf("x", takes(60), timeout_seconds=1), timeout_seconds=2), timeout=3)
    )
    middle, _ = await run_flow(
        flow(sequence("part", leaf("x", takes(60), timeout_seconds=3), timeout_seconds=1), timeout=2)
    )

    assert inner.error is not None
    assert inner.error.origin == "part.x"
    assert middle.error is not None
    assert middle.error.origin == "part"


async def _raise_timeout(activation: Activation) -> None:
    raise TimeoutError("from the socket")


async def _own_timeout(activation: Activation) -> None:
    async with asyncio.timeout(1):
        await asyncio.sleep(60)


@pytest.mark.parametrize("do", [_raise_timeout, _own_timeout])
@pytest.mark.parametrize("seconds", [None, 30])
@virtual_time
async def test_a_timeout_error_of_the_steps_own_is_a_plain_failure(do: Do, seconds: float | None) -> None:
    plan = flow(sequence("part", leaf("x", do, timeout_seconds=seconds), timeout_seconds=seconds), timeout=seconds)

    outcome, _ = await run_flow(plan)

    assert outcome.status is Status.FAILED
    assert outcome.error is not None
    assert outcome.error.type == "TimeoutError"


@virtual_time
async def test_a_step_that_answers_a_timeout_with_an_error_of_its_own_is_timed_out_all_the_same() -> None:
    async def complain(activation: Activation) -> None:
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            raise ValueError("was interrupted") from None

    outcome, _ = await run_flow(flow(leaf("x", complain, timeout_seconds=1)))

    assert outcome.status is Status.TIMED_OUT


def _swallowing(part: Step, **limits: Any) -> Bench:
    return Bench(flow(part, leaf("after", takes(1000)), **limits))


@virtual_time
async def test_a_step_that_does_not_let_itself_be_ended_is_timed_out_when_it_ends() -> None:
    bench = _swallowing(leaf("x", stubborn(60), timeout_seconds=5))

    outcome = await bench.execute()

    assert (outcome.status, now()) == (Status.TIMED_OUT, 5)
    assert bench.ran == ["x"]


@virtual_time
async def test_nothing_begins_in_a_part_whose_time_is_over_even_if_a_step_took_the_cancel_for_its_own() -> None:
    bench = _swallowing(sequence("part", leaf("x", stubborn(60)), leaf("y", takes(1000)), timeout_seconds=5))

    outcome = await bench.execute()

    assert (outcome.status, now()) == (Status.TIMED_OUT, 5)
    assert bench.ran == ["part.x"]


@virtual_time
async def test_a_run_whose_time_is_over_is_timed_out_even_if_a_step_took_the_cancel_for_its_own() -> None:
    bench = _swallowing(leaf("x", stubborn(60)), timeout=5)

    outcome = await bench.execute()

    assert (outcome.status, now()) == (Status.TIMED_OUT, 5)
    assert bench.ran == ["x"]


@virtual_time
async def test_a_run_whose_last_step_took_the_cancel_for_its_own_has_not_passed() -> None:
    bench = Bench(flow(leaf("x", stubborn(60)), timeout=5))

    outcome = await bench.execute()

    assert outcome.status is Status.TIMED_OUT
