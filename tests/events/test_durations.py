"""How long runs, frames and steps ran and were paused: one definition for all of them."""

from typing import Any

from pitstop.events.outcome import Outcome, Status
from pitstop.events.types import (
    AnyEvent,
    FrameEnded,
    FrameOpened,
    OutcomeForced,
    Resumed,
    RunEnded,
    RunStarted,
    StepFinished,
    StepStarted,
    Stopped,
)
from pitstop.events.view import RunView, fold

PASSED = Outcome(Status.PASSED)


def started(at: float, frame: str, step: str) -> AnyEvent:
    return StepStarted(at, frame, step, step)


def finished(at: float, frame: str, step: str, status: Status = Status.PASSED) -> AnyEvent:
    return StepFinished(at, frame, step, step, Outcome(status))


def stopped(at: float, stop: int, frame: str, step: str, position: str = "before") -> AnyEvent:
    return Stopped(at, stop, frame, step, step, position, ("breakpoint",))


def resumed(at: float, stop: int, frame: str) -> AnyEvent:
    return Resumed(at, stop, frame, "continue")


def of_run(view: RunView, now: float) -> tuple[float, float, float]:
    assert view.clock is not None
    lasted = view.clock.durations(now)
    return lasted.ran, lasted.paused, lasted.total


def of_step(view: RunView, step: str, now: float = 0.0) -> tuple[float, float, float]:
    lasted = view.steps[step].clock.durations(now)
    return lasted.ran, lasted.paused, lasted.total


def of_frame(view: RunView, frame: str, now: float = 0.0) -> tuple[float, float, float]:
    lasted = view.frames[frame].clock.durations(now)
    return lasted.ran, lasted.paused, lasted.total


def begun(at: float = 0.0, **more: Any) -> list[AnyEvent]:
    return [RunStarted(at, "flow", {}, **more), FrameOpened(at, "main", "flow", None, "")]


def test_the_time_at_its_stops_is_paused_time_of_a_step_and_of_all_around_it() -> None:
    events = [
        *begun(0),
        started(1, "main", "group"),
        stopped(2, 1, "main", "group.a"),
        resumed(12, 1, "main"),
        started(12, "main", "group.a"),
        finished(15, "main", "group.a", Status.FAILED),
        stopped(15, 2, "main", "group.a", "error"),
    ]
    view = fold(events)

    assert view.steps["group"].status == "paused"
    assert view.frames["main"].state == "paused"
    assert of_step(view, "group.a", 115) == (3, 110, 113)
    assert of_step(view, "group", 115) == (4, 110, 114)
    assert of_frame(view, "main", 115) == of_run(view, 115) == (5, 110, 115)

    more = [
        OutcomeForced(115, 2, "main", "group.a", "group.a", "force", PASSED),
        resumed(115, 2, "main"),
        finished(116, "main", "group"),
        FrameEnded(116, "main"),
        RunEnded(116, PASSED),
    ]
    view = fold([*events, *more])

    assert view.steps["group"].status == "passed"
    assert of_step(view, "group.a", 1000) == (3, 110, 113)
    assert of_step(view, "group", 1000) == (5, 110, 115)
    assert of_frame(view, "main", 1000) == of_run(view, 1000) == (6, 110, 116)


def test_a_parent_is_paused_when_all_that_lives_in_it_is() -> None:
    events = [
        *begun(0),
        started(0, "main", "both"),
        FrameOpened(0, "both.x", "x", "main", "both"),
        FrameOpened(0, "both.y", "y", "main", "both"),
        stopped(1, 1, "both.x", "both.x"),
        started(1, "both.y", "both.y"),
    ]
    view = fold(events)
    assert (view.steps["both"].status, view.frames["main"].state) == ("running", "running")
    assert view.frames["both.x"].state == "paused"

    events += [finished(5, "both.y", "both.y"), FrameEnded(5, "both.y")]
    view = fold(events)
    assert (view.steps["both"].status, view.frames["main"].state) == ("paused", "paused")
    assert of_step(view, "both", 105) == of_frame(view, "main", 105) == of_run(view, 105) == (5, 100, 105)

    events += [resumed(105, 1, "both.x"), started(105, "both.x", "both.x")]
    view = fold(events)
    assert (view.steps["both"].status, view.frames["main"].state) == ("running", "running")
    assert of_run(view, 110) == (10, 100, 110)


def test_a_frame_with_a_step_in_the_background_works_itself() -> None:
    events = [
        *begun(0),
        started(0, "main", "bg"),
        FrameOpened(0, "bg.server", "server", "main", "bg"),
        started(0, "bg.server", "bg.server"),
        stopped(1, 1, "main", "bg.test"),
    ]
    assert fold(events).steps["bg"].status == "running", "the server runs"
    assert fold(events).frames["main"].state == "paused"

    events += [resumed(2, 1, "main"), started(2, "main", "bg.test"), finished(3, "bg.server", "bg.server")]
    events += [stopped(3, 2, "bg.server", "bg.server", "after")]
    assert fold(events).steps["bg"].status == "running", "the test runs"
    assert fold(events).frames["main"].state == "running"


def test_the_time_without_a_process_is_in_the_total_only() -> None:
    events = [*begun(0), started(0, "main", "group"), started(1, "main", "group.a"), *begun(100, left_at=11.0)]
    view = fold([*events, started(101, "main", "group.a")])

    assert of_run(view, 105) == (16, 0, 105)
    assert of_step(view, "group.a", 105) == (14, 0, 104)
    assert of_step(view, "group", 105) == (16, 0, 105)

    view = fold([*begun(0), stopped(10, 1, "main", "a"), *begun(100, left_at=50.0), resumed(110, 1, "main")])
    assert of_run(view, 115) == (15, 100, 115)


def test_a_re_run_counts_from_its_own_start() -> None:
    first = [*begun(0), started(0, "main", "group"), started(0, "main", "group.a"), finished(30, "main", "group.a")]
    view = fold([*first, *begun(1000), started(1001, "main", "group.b")], carried_over=len(first))

    assert of_run(view, 1002) == (2, 0, 2)
    assert of_frame(view, "main", 1002) == (2, 0, 2)
    assert of_step(view, "group", 1002) == (2, 0, 2)
    assert view.steps["group"].started_at == 1000
    assert of_step(view, "group.a", 1002) == (30, 0, 30)
