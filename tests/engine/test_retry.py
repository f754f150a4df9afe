"""Tried again: how often, after how long, and what is kept of it."""

import asyncio

import pytest

from pitstop.engine.frame import Activation
from pitstop.events.outcome import Status
from pitstop.events.types import StepRetried
from pitstop.plan.plan import Retry
from tests.engine.flows import Bench, fails, flaky, flow, give, leaf, parallel, retry, run_flow, sequence, takes
from tests.engine.virtual_time import now, virtual_time


@virtual_time
async def test_each_attempt_is_an_occurrence_of_its_own() -> None:
    outcome, bench = await run_flow(flow(leaf("x", flaky(2, "done"), retry=retry(3))))

    assert outcome.status is Status.PASSED
    assert bench.ran == ["x", "x#2", "x#3"]
    assert bench.finished == {"x": Status.FAILED, "x#2": Status.FAILED, "x#3": Status.PASSED}
    assert bench.steps["x"] == {"status": "passed", "outputs": "done", "error": None, "attempt": 3}
    assert [event.occurrence for event in bench.events if isinstance(event, StepRetried)] == ["x", "x#2"]


@virtual_time
async def test_after_the_last_attempt_it_has_failed_as_that_attempt_did() -> None:
    outcome, bench = await run_flow(flow(leaf("x", flaky(9), retry=retry(2)), leaf("y")))

    assert outcome.error is not None
    assert (outcome.error.message, outcome.error.origin) == ("attempt 3", "x#3")
    assert bench.ran == ["x", "x#2", "x#3"]
    assert bench.steps["x"]["attempt"] == 3


@virtual_time
async def test_the_wait_grows() -> None:
    began: list[float] = []

    def note(activation: Activation) -> None:
        began.append(now())
        raise ValueError("no")

    await run_flow(flow(leaf("x", note, retry=retry(3, delay=1, backoff=10))))

    assert began == [0, 1, 11, 111]


@pytest.mark.parametrize(
    ("policy", "delays"),
    [
        (Retry(), [None]),
        (Retry(2), [0, 0, None]),
        (Retry(3, 5), [5, 5, 5, None]),
        (Retry(3, 2, 3), [2, 6, 18, None]),
    ],
)
def test_the_delays_of_a_policy(policy: Retry, delays: list[float | None]) -> None:
    assert [policy.delay_after(attempt) for attempt in range(1, len(delays) + 1)] == delays


@virtual_time
async def test_a_part_is_tried_again_as_a_whole() -> None:
    def fail_first(activation: Activation) -> None:
        if activation.parent is not None and activation.parent.attempt == 1:
            raise ValueError("no")

    outcome, bench = await run_flow(flow(sequence("part", leaf("a"), leaf("b", fail_first), retry=retry(1))))

    assert outcome.status is Status.PASSED
    assert bench.ran == ["part.a", "part.b", "part#2.a", "part#2.b"]


@virtual_time
async def test_branches_of_a_part_that_is_tried_again_are_new_frames() -> None:
    def fail_first(activation: Activation) -> None:
        if activation.parent is not None and activation.parent.attempt == 1:
            raise ValueError("no")

    _, bench = await run_flow(flow(parallel("p", leaf("a"), leaf("b", fail_first), retry=retry(1))))

    assert sorted(bench.frame_ends) == ["main", "p#2.a", "p#2.b", "p.a", "p.b"]


@virtual_time
async def test_a_timeout_counts_for_each_attempt_and_is_tried_again() -> None:
    outcome, bench = await run_flow(flow(leaf("x", takes(60), timeout_seconds=2, retry=retry(2, delay=10))))

    assert outcome.status is Status.TIMED_OUT
    assert bench.finished == {"x": Status.TIMED_OUT, "x#2": Status.TIMED_OUT, "x#3": Status.TIMED_OUT}
    assert now() == 26


@virtual_time
async def test_the_timeout_around_it_counts_the_waits_too() -> None:
    plan = flow(sequence("part", leaf("x", fails(), retry=retry(99, delay=10)), timeout_seconds=25))

    outcome, bench = await run_flow(plan)

    assert (outcome.status, now()) == (Status.TIMED_OUT, 25)
    assert bench.ran == ["part.x", "part.x#2", "part.x#3"]


@virtual_time
async def test_a_cancel_is_not_tried_again() -> None:
    bench = Bench(flow(leaf("x", takes(60), retry=retry(5))))

    with pytest.raises(TimeoutError):
        async with asyncio.timeout(1):
            await bench.execute()

    assert bench.ran == ["x"]


@virtual_time
async def test_a_skipped_step_is_not_tried_again() -> None:
    _, bench = await run_flow(flow(leaf("x", condition="false", retry=retry(5))))

    assert bench.finished == {"x": Status.SKIPPED}


@virtual_time
async def test_what_a_failed_attempt_left_under_steps_is_replaced() -> None:
    plan = flow(leaf("x", flaky(1, "good"), retry=retry(1)), give("y", "${{ .steps.x.outputs }} ${{ .steps.x.error }}"))

    _, bench = await run_flow(plan)

    assert bench.steps["y"]["outputs"] == "good "


@virtual_time
async def test_the_exception_of_a_run_belongs_to_the_failure_that_ended_it() -> None:
    bench = Bench(flow(leaf("x", flaky(1), retry=retry(1)), leaf("y", fails("the end"))))

    outcome = await bench.execute()

    assert outcome.error is not None
    assert outcome.error.message == "the end"
    assert str(bench.run.exception) == "the end"


@virtual_time
async def test_a_run_that_passed_has_no_exception() -> None:
    bench = Bench(flow(leaf("x", flaky(1), retry=retry(1))))

    outcome = await bench.execute()

    assert outcome.status is Status.PASSED
    assert bench.run.exception is None
