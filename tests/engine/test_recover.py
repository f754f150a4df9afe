"""A run that is given a log does the rest: cut at every event, it ends as if nothing had happened."""

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest

from pitstop.engine.frame import Activation
from pitstop.errors import BadLog
from pitstop.events.log import MemoryLog, events_from_json, events_to_json
from pitstop.events.outcome import Status
from pitstop.events.types import AnyEvent, RunEnded, StepFinished, StepStarted
from pitstop.events.view import fold
from pitstop.plan.plan import Plan
from tests.amounts import amount
from tests.engine.flows import (
    Bench,
    background,
    call,
    conditional,
    fails,
    flaky,
    flow,
    give,
    leaf,
    matrix,
    parallel,
    repeat,
    retry,
    sequence,
    stubborn,
    takes,
    takes_then_fails,
)
from tests.engine.virtual_time import now, run_virtual, virtual_time


def turn(activation: Activation) -> Any:
    return activation.scope.values()["repeat"]["index"]


def fail_in_first_attempt_of_the_part(activation: Activation) -> str:
    if activation.parent is not None and activation.parent.attempt == 1:
        raise ValueError("no")
    return "second"


POLL = {"until": ".steps.poll.outputs >= 2", "every_seconds": 2, "times": 9}
FAST = {"fail_fast": True}

FLOWS: dict[str, Plan] = {
    "sequence": flow(leaf("a", takes(1, 1)), sequence("s", leaf("b"), leaf("c")), leaf("d")),
    "failure": flow(leaf("a"), leaf("b", fails("broken")), leaf("c"), cleanup=[leaf("x"), leaf("y", fails("second"))]),
    "forgiven": flow(leaf("a", fails(), continue_on_error=True), leaf("b", condition='.steps.a.status == "failed"')),
    "skipped": flow(leaf("a", condition="false"), sequence("s", leaf("b"), condition="false"), leaf("c")),
    "broken if": flow(leaf("a", condition=".x |", continue_on_error=True), leaf("b")),
    "retries": flow(leaf("a", flaky(2, "ok"), retry=retry(3, delay=5)), leaf("b")),
    "retries in vain": flow(leaf("a", fails("again"), retry=retry(2, delay=5)), leaf("b"), cleanup=[leaf("c")]),
    "retried part": flow(
        sequence("s", leaf("a"), leaf("b", fail_in_first_attempt_of_the_part), retry=retry(1, delay=3)), leaf("c")
    ),
    "retried branches": flow(
        parallel("p", leaf("a", takes(1)), leaf("b", fail_in_first_attempt_of_the_part), retry=retry(1)), leaf("c")
    ),
    "timeout": flow(leaf("a", takes(60), timeout_seconds=2, continue_on_error=True), leaf("b")),
    "timeout tried again": flow(leaf("a", takes(60), timeout_seconds=2, retry=retry(1)), cleanup=[leaf("b")]),
    "timeout of a part": flow(
        sequence("s", leaf("a", takes(1)), leaf("b", takes(60)), timeout_seconds=5, continue_on_error=True), leaf("c")
    ),
    "timeout of branches": flow(
        parallel("p", leaf("a", takes(1)), leaf("b", takes(60)), timeout_seconds=5, continue_on_error=True), leaf("c")
    ),
    "parallel": flow(
        parallel("p", leaf("a", takes(3, 1)), sequence("s", leaf("b", takes(1, 2)), leaf("c", takes(1, 3)))), leaf("d")
    ),
    "parallel in parallel": flow(
        parallel("p", parallel("q", leaf("a", takes(2)), leaf("b", takes(1))), leaf("c", takes(1))), leaf("d", takes(1))
    ),
    "fail fast, first": flow(
        parallel("p", leaf("a", takes_then_fails(1, "why")), leaf("b", takes(9)), config=FAST, continue_on_error=True),
        leaf("c"),
    ),
    "fail fast, last": flow(
        parallel("p", leaf("a", takes(9)), leaf("b", takes_then_fails(1, "why")), config=FAST, continue_on_error=True),
        leaf("c"),
    ),
    "race": flow(parallel("p", leaf("slow", takes(9)), leaf("quick", takes(1)), config={"succeed": "any"}), leaf("c")),
    "two of three": flow(
        parallel("p", leaf("a", takes(9)), leaf("b", fails()), leaf("c", takes(1)), config={"succeed": 2}), leaf("d")
    ),
    "matrix": flow(matrix("m", {"n": [1, 2, 3]}, give("a", "${{ .matrix.n }}"), leaf("b", takes(1))), leaf("c")),
    "parallel matrix": flow(
        matrix("m", {"n": [1, 2, 3]}, give("a", "${{ .matrix.n }}"), leaf("b", takes(1)), config={"parallel": True}),
        leaf("c"),
    ),
    "matrix, two at once": flow(
        matrix("m", {"n": [1, 2, 3]}, leaf("a", takes(1)), config={"parallel": True, "max_parallel": 2}), leaf("c")
    ),
    "background": flow(
        background("bg", leaf("server", takes(99)), leaf("a", takes(1)), leaf("b", takes(1))), leaf("c")
    ),
    "background ends": flow(background("bg", leaf("warm", takes(1, "w")), leaf("a", takes(3))), leaf("c")),
    "background fails": flow(
        background("bg", leaf("server", takes_then_fails(2, "port")), leaf("a", takes(9)), continue_on_error=True),
        leaf("c"),
    ),
    "background beside branches": flow(
        background("bg", leaf("server", takes(99)), parallel("p", leaf("a", takes(1)), leaf("b", takes(2)))), leaf("c")
    ),
    "repeat": flow(repeat("r", leaf("poll", turn), leaf("x", takes(1)), config=POLL), leaf("b")),
    "repeat in vain": flow(
        repeat("r", leaf("poll", takes(1, 0)), config={"until": "false", "times": 3}, continue_on_error=True), leaf("b")
    ),
    "call": flow(
        call(
            "c",
            give("a", "${{ .inputs.x }}"),
            leaf("b", takes(1)),
            config={"with": {"x": 5}, "outputs": "${{ .steps.a.outputs + 1 }}"},
            cleanup=(leaf("tidy"),),
        ),
        give("d", "${{ .steps.c.outputs }}"),
    ),
    "call that fails": flow(
        call("c", leaf("a", fails("no")), cleanup=(leaf("tidy"),), continue_on_error=True), leaf("d")
    ),
    "conditional": flow(
        conditional(
            "c", leaf("a", condition="false"), sequence("b", leaf("b1"), leaf("b2"), condition="true"), leaf("e")
        ),
        conditional("none", leaf("f", condition="false")),
        leaf("d"),
    ),
    "all at once": flow(
        background(
            "bg",
            parallel("servers", leaf("s1", takes(99)), leaf("s2", takes(99))),
            matrix(
                "m", {"n": [1, 2]}, call("c", repeat("r", leaf("poll", turn), config=POLL)), config={"parallel": True}
            ),
            parallel("p", leaf("x", flaky(1), retry=retry(1, delay=1)), leaf("y", takes(1))),
        ),
        leaf("end"),
        cleanup=[leaf("tidy")],
    ),
}


def leaves_done(events: Sequence[AnyEvent], plan: Plan) -> set[str]:
    """The occurrences of leaves whose end counts."""
    return {
        event.occurrence
        for event in events
        if isinstance(event, StepFinished)
        and event.outcome.status is not Status.CANCELLED
        and not plan.steps[event.step].children
    }


def is_end_that_counts(event: AnyEvent) -> bool:
    return isinstance(event, StepFinished) and event.outcome.status is not Status.CANCELLED


def said_of(scope: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in scope.items() if name != "run"}


def run_again(plan: Plan, events: Sequence[AnyEvent]) -> tuple[Any, Bench, float]:
    async def again() -> tuple[Any, Bench, float]:
        bench = Bench(plan, log=MemoryLog(events))
        outcome = await bench.execute()
        return (outcome.status, outcome.error and (outcome.error.type, outcome.error.message)), bench, now()

    return run_virtual(again())


@pytest.mark.repeats
@pytest.mark.parametrize("name", FLOWS)
def test_cut_at_every_event_it_ends_the_same_and_nothing_that_had_ended_runs_again(name: str) -> None:
    plan = FLOWS[name]
    expected, whole, _ = run_again(plan, [])
    events = whole.events

    for cut in range(0, len(events) + 1, amount(4, soak=1)):
        known = events[:cut]
        outcome, bench, _ = run_again(plan, known)

        where = f"cut after event {cut}: {known[-1] if known else None}"
        assert outcome == expected, where
        assert said_of(bench.scope) == said_of(whole.scope), where
        repeated = set(bench.ran) & leaves_done(known, plan)
        assert not repeated, where


@pytest.mark.parametrize("name", FLOWS)
def test_a_run_that_has_ended_is_not_run_again_at_all(name: str) -> None:
    plan = FLOWS[name]
    expected, whole, _ = run_again(plan, [])

    outcome, bench, seconds = run_again(plan, whole.events)

    assert outcome == expected
    assert bench.ran == [], "what its log tells it need not do, also of steps that were cancelled under a finished one"
    assert seconds == 0, "nor wait for"
    assert said_of(bench.scope) == said_of(whole.scope)


@pytest.mark.parametrize("name", FLOWS)
def test_every_prefix_of_a_log_adds_up_to_a_state(name: str) -> None:
    _, whole, _ = run_again(FLOWS[name], [])
    events = whole.events

    for cut in range(len(events) + 1):
        view = fold(events[:cut])
        assert view.last_event == cut
        open_steps = {step.occurrence for step in view.steps.values() if step.outcome is None}
        started = {event.occurrence for event in events[:cut] if isinstance(event, StepStarted)}
        ended = {event.occurrence for event in events[:cut] if isinstance(event, StepFinished)}
        assert open_steps == started - ended
    assert {frame.state for frame in fold(events).frames.values()} == {"done"}


@pytest.mark.parametrize("name", FLOWS)
def test_every_step_that_began_has_exactly_one_end(name: str) -> None:
    _, whole, _ = run_again(FLOWS[name], [])

    finished = [event.occurrence for event in whole.events if isinstance(event, StepFinished)]
    assert len(set(finished)) == len(finished)
    assert set(whole.started) <= set(finished)
    assert len(set(whole.started)) == len(whole.started)
    never_began = set(finished) - set(whole.started)
    assert {whole.outcomes[each].status for each in never_began} <= {Status.SKIPPED, Status.FAILED}


@pytest.mark.parametrize("name", ["all at once", "retries", "call", "parallel matrix"])
def test_a_log_may_be_cut_again_and_again(name: str) -> None:
    """Killed after every third event, started again each time, with the log as JSON in between."""
    plan = FLOWS[name]
    expected, whole, _ = run_again(plan, [])
    log: list[AnyEvent] = []
    ran: list[str] = []

    for _ in range(60):
        outcome, bench, _ = run_again(plan, log)
        grown = bench.events
        new_ends = [n for n in range(len(log), len(grown)) if is_end_that_counts(grown[n])]
        ran += bench.ran
        if not new_ends:
            break
        log = events_from_json(events_to_json(grown[: new_ends[0] + 1]))
    else:
        pytest.fail("it never came to its end")

    assert outcome == expected
    assert said_of(bench.scope) == said_of(whole.scope)
    assert set(ran) == set(whole.ran)


@virtual_time
async def test_the_waits_between_turns_that_are_over_are_not_waited_for_again() -> None:
    plan = flow(repeat("r", leaf("poll", turn), config=POLL), leaf("last", takes(1)))
    whole = Bench(plan)
    await whole.execute()
    began = now()
    cut = next(n for n, event in enumerate(whole.events) if isinstance(event, StepFinished) and event.step == "r")

    await Bench(plan, log=MemoryLog(whole.events[: cut + 1])).execute()

    assert now() - began == 1


@virtual_time
async def test_a_step_that_was_cancelled_runs_again() -> None:
    plan = flow(leaf("a"), leaf("b", takes(5)))
    first = Bench(plan)
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(2):
            await first.execute()

    second = Bench(plan, log=first.log)
    outcome = await second.execute()

    assert outcome.status is Status.PASSED
    assert second.ran == ["b"]


@virtual_time
async def test_cleanup_runs_again_after_a_cancelled_run_was_gone_on_with() -> None:
    plan = flow(leaf("a"), leaf("b", takes(5)), cleanup=[leaf("tidy")])
    first = Bench(plan)
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(2):
            await first.execute()
    assert first.ran == ["a", "b", "tidy"]

    second = Bench(plan, log=first.log)
    await second.execute()

    assert second.ran == ["b", "tidy"], "b has made something that is to be tidied up"


@virtual_time
async def test_cleanup_of_a_sub_flow_runs_again_after_a_cancelled_run_was_gone_on_with() -> None:
    plan = flow(call("c", leaf("a"), leaf("b", takes(5)), cleanup=(leaf("tidy"),)))
    first = Bench(plan)
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(2):
            await first.execute()

    second = Bench(plan, log=first.log)
    await second.execute()

    assert second.ran == ["c.b", "c.tidy"]


@virtual_time
async def test_a_stubborn_step_that_ended_after_its_time_is_timed_out_in_the_log_too() -> None:
    plan = flow(leaf("a", stubborn(60), timeout_seconds=2, continue_on_error=True), leaf("b"))
    first = Bench(plan)
    await first.execute()

    second = Bench(plan, log=MemoryLog(first.events[:-2]))
    await second.execute()

    assert second.statuses == first.statuses == {"a": "timed_out", "b": "passed"}


@virtual_time
async def test_what_a_run_adds_to_the_log_it_was_given() -> None:
    plan = flow(leaf("a"), leaf("b"))
    whole = Bench(plan)
    await whole.execute()
    cut = next(n for n, event in enumerate(whole.events) if isinstance(event, StepStarted) and event.step == "b")

    again = Bench(plan, log=MemoryLog(whole.events[: cut + 1]))
    await again.execute()

    added = [type(event).__name__ for event in again.events[cut + 1 :]]
    assert added == [
        "RunStarted",
        "FrameOpened",
        "StepInterrupted",
        "StepStarted",
        "StepFinished",
        "FrameEnded",
        "RunEnded",
    ]
    assert fold(again.events).status == "passed"


@virtual_time
async def test_a_log_of_another_plan_is_refused() -> None:
    whole = Bench(flow(leaf("a")))
    await whole.execute()
    other = Plan(flow(leaf("a")).root, "another")

    with pytest.raises(BadLog, match=r"'flow'.*'another'"):
        await Bench(other, log=MemoryLog(whole.events)).execute()


@virtual_time
async def test_a_log_that_does_not_begin_at_the_beginning_is_refused() -> None:
    whole = Bench(flow(leaf("a")))
    await whole.execute()

    with pytest.raises(BadLog, match=r"run\.started"):
        await Bench(flow(leaf("a")), log=MemoryLog(whole.events[1:])).execute()

    assert isinstance(whole.events[-1], RunEnded)
