"""Cancelling is structured: when a run is over, nothing of it is alive."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from pitstop.engine.frame import Activation
from pitstop.events.outcome import Status
from pitstop.events.types import RunEnded, StepFinished, StepStarted
from pitstop.plan.plan import Plan, Step
from tests.engine.flows import (
    Bench,
    background,
    call,
    flow,
    leaf,
    living_tasks,
    matrix,
    parallel,
    repeat,
    retry,
    run_flow,
    sequence,
    stubborn,
    takes,
    takes_then_fails,
)
from tests.engine.virtual_time import now, virtual_time


@asynccontextmanager
async def cancelled_after(bench: Bench, seconds: float) -> AsyncIterator[None]:
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(seconds):
            await bench.execute()
    yield


def everything() -> Step:
    """All ways of combining steps, open at once."""
    server = parallel("servers", leaf("s1", takes(99)), leaf("s2", takes(99)))
    combos = matrix("m", {"n": [1, 2]}, leaf("deep", takes(99)), config={"parallel": True, "max_parallel": 1})
    foreground = sequence("f", call("c", repeat("r", leaf("poll", takes(2)), config={"times": 99})))
    return background("bg", server, parallel("p", combos, foreground))


@pytest.mark.parametrize("seconds", [0, 1, 2, 3, 10])
@virtual_time
async def test_cancelled_from_outside_at_any_time_nothing_is_left(seconds: float) -> None:
    bench = Bench(flow(everything()))

    async with cancelled_after(bench, seconds):
        assert living_tasks() == set()
        assert now() == seconds
        assert bench.run.scope.values() is not None


@virtual_time
async def test_every_step_that_began_says_how_it_ended() -> None:
    bench = Bench(flow(everything()))

    async with cancelled_after(bench, 3):
        started = [event.occurrence for event in bench.events if isinstance(event, StepStarted)]
        finished = [event.occurrence for event in bench.events if isinstance(event, StepFinished)]
        assert sorted(started) == sorted(finished)
        assert bench.finished["bg.p.f.c.r[0].poll"] is Status.PASSED
        assert bench.finished["bg.p.f.c.r[1].poll"] is Status.CANCELLED


@virtual_time
async def test_the_log_of_a_cancelled_run_has_an_end() -> None:
    bench = Bench(flow(leaf("a", takes(60))))

    async with cancelled_after(bench, 1):
        last = bench.events[-1]
        assert isinstance(last, RunEnded)
        assert last.outcome.status is Status.CANCELLED
        error = bench.outcomes["a"].error
        assert error is not None
        assert error.message == "the run was cancelled"


@pytest.mark.parametrize(
    "plan",
    [
        flow(parallel("p", everything(), leaf("x", takes_then_fails(3)), config={"fail_fast": True})),
        flow(parallel("p", everything(), leaf("x", takes(3)), config={"succeed": "any"})),
        flow(background("b", leaf("x", takes_then_fails(3)), everything())),
        flow(background("b", everything(), leaf("x", takes(3)))),
        flow(sequence("s", everything(), timeout_seconds=3)),
        flow(everything(), timeout=3),
        flow(parallel("p", everything(), leaf("x", takes_then_fails(1)), config={"fail_fast": True}, retry=retry(2))),
    ],
    ids=["fail fast", "enough", "background failed", "foreground ended", "timeout", "run timeout", "retries"],
)
@virtual_time
async def test_ended_from_inside_nothing_is_left(plan: Plan) -> None:
    _, bench = await run_flow(plan)

    assert living_tasks() == set()
    assert now() == 3
    assert sorted(bench.started) == sorted(name for name in bench.finished), "each that began has ended"


@virtual_time
async def test_a_step_has_time_to_tidy_up_when_it_is_cancelled() -> None:
    tidied: list[float] = []

    async def careful(activation: Activation) -> None:
        try:
            await asyncio.sleep(60)
        finally:
            await asyncio.sleep(2)
            tidied.append(now())

    plan = flow(parallel("p", leaf("a", careful), leaf("b", takes_then_fails(1)), config={"fail_fast": True}))

    await run_flow(plan)

    assert tidied == [3]


@virtual_time
async def test_an_abort_cannot_be_forgiven_or_tried_again() -> None:
    part = sequence(
        "s", leaf("a", takes(60), retry=retry(5), continue_on_error=True), leaf("b"), continue_on_error=True
    )
    bench = Bench(flow(parallel("p", part, leaf("c", takes(60)), config={"succeed": "any"}), leaf("d")))
    asyncio.get_running_loop().call_later(1, bench.run.abort, "enough")

    outcome = await bench.execute()

    assert (outcome.status, now()) == (Status.CANCELLED, 1)
    assert bench.ran == ["p.s.a", "p.c"]
    assert bench.finished["p.s.a"] is Status.CANCELLED
    error = bench.outcomes["p.s.a"].error
    assert error is not None
    assert error.message == "enough"
    assert living_tasks() == set()


@virtual_time
async def test_after_an_abort_nothing_begins_even_if_a_step_took_the_cancel_for_its_own() -> None:
    bench = Bench(
        flow(parallel("p", sequence("s", leaf("a", stubborn(60)), leaf("b")), leaf("c", takes(60))), leaf("d"))
    )
    asyncio.get_running_loop().call_later(1, bench.run.abort, "enough")

    outcome = await bench.execute()

    assert (outcome.status, now()) == (Status.CANCELLED, 1)
    assert bench.ran == ["p.s.a", "p.c"]


@virtual_time
async def test_after_a_cancel_nothing_begins_even_if_a_step_took_it_for_its_own() -> None:
    bench = Bench(flow(leaf("a", stubborn(60)), leaf("b", takes(1000))))

    async with cancelled_after(bench, 1):
        assert bench.ran == ["a"]
        assert now() == 1


@virtual_time
async def test_a_branch_that_was_ended_but_took_it_for_its_own_begins_nothing_more() -> None:
    part = sequence("s", leaf("a", stubborn(60)), leaf("b", takes(1000)))

    _, bench = await run_flow(flow(parallel("p", part, leaf("c", takes_then_fails(1)), config={"fail_fast": True})))

    assert bench.ran == ["p.s.a", "p.c"]
    assert now() == 1


async def slow_to_end(activation: Activation) -> None:
    try:
        await asyncio.sleep(60)
    finally:
        await asyncio.sleep(30)


@pytest.mark.parametrize(
    "plan",
    [
        flow(leaf("a", slow_to_end), cleanup=[leaf("k")]),
        flow(parallel("p", leaf("a", slow_to_end), sequence("s", leaf("b", slow_to_end))), cleanup=[leaf("k")]),
        flow(background("b", leaf("x", slow_to_end), leaf("y", slow_to_end)), cleanup=[leaf("k")]),
        flow(parallel("p", call("c", leaf("a", slow_to_end), cleanup=(leaf("k"),)), leaf("b", slow_to_end))),
    ],
    ids=["step", "branches", "background", "sub-flow"],
)
@virtual_time
async def test_a_second_abort_ends_what_is_slow_to_end_wherever_it_is_and_cleans_nothing_up(plan: Plan) -> None:
    bench = Bench(plan)
    asyncio.get_running_loop().call_later(1, bench.run.abort, "enough")
    asyncio.get_running_loop().call_later(2, bench.run.abort, "really")

    outcome = await bench.execute()

    assert (outcome.status, now()) == (Status.CANCELLED, 2)
    assert not [each for each in bench.ran if each.endswith("k")]
    assert living_tasks() == set()
    task = asyncio.current_task()
    assert task is not None
    assert task.cancelling() == 0


@virtual_time
async def test_a_second_abort_ends_the_cleanup_of_a_branch() -> None:
    part = call("c", leaf("a", takes(60)), cleanup=(leaf("k", takes(60)),))
    bench = Bench(flow(parallel("p", part, leaf("b", takes(60)))))
    asyncio.get_running_loop().call_later(1, bench.run.abort, "enough")
    asyncio.get_running_loop().call_later(2, bench.run.abort, "really")

    await bench.execute()

    assert now() == 2
    assert bench.finished["p.c.k"] is Status.CANCELLED
    assert living_tasks() == set()


@virtual_time
async def test_an_abort_ends_the_cleanup_that_a_cancel_from_outside_has_begun() -> None:
    bench = Bench(flow(leaf("a", takes(60)), cleanup=[leaf("k", takes(60))]))
    asyncio.get_running_loop().call_later(2, bench.run.abort, "enough")

    async with cancelled_after(bench, 1):
        assert now() == 2
        assert bench.finished["k"] is Status.CANCELLED
        assert living_tasks() == set()
