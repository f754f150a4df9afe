"""Which frame the prompt looks at, and what it learns from events."""

from typing import Any

from pitstop.doors.cli.debug.focus import choose_frame
from pitstop.doors.cli.debug.output import OutputLines
from pitstop.doors.cli.debug.trail import Trail, label_of
from pitstop.runs.stop_info import FrameState
from pitstop.service.debugging import FrameInfo, StopInfo
from pitstop.service.flows import StepInfo
from pitstop.service.runs import EventInfo, Output


def frames(**states: FrameState) -> list[FrameInfo]:
    """`main`, and frames that it opened."""
    return [FrameInfo(name, name, None if name == "main" else "main", state) for name, state in states.items()]


def stops(*names: str, occurrence: str = "", step: str = "") -> list[StopInfo]:
    return [
        StopInfo(id=number, frame=name, step=step, occurrence=occurrence, position="before", reasons=("step",))
        for number, name in enumerate(names, 1)
    ]


def test_the_selected_frame_stays_although_others_stop() -> None:
    known = frames(main="running", lint="paused", tests="paused")

    assert choose_frame("tests", known, stops("lint", "tests")) == "tests"


def test_a_frame_that_goes_on_stays_selected() -> None:
    known = frames(main="running", lint="running", tests="paused")

    assert choose_frame("lint", known, stops("tests")) == "lint"


def test_a_frame_that_is_gone_gives_way_to_one_that_is_stopped() -> None:
    assert choose_frame("lint", frames(main="running", lint="done", tests="paused"), stops("tests")) == "tests"


def test_a_frame_that_is_gone_gives_way_to_the_one_it_came_from() -> None:
    assert choose_frame("lint", frames(main="running", lint="done", tests="running"), []) == "main"


def test_a_frame_that_waits_gives_way_to_the_first_of_its_own_that_stops() -> None:
    assert choose_frame("main", frames(main="running", lint="running", tests="paused"), stops("tests")) == "tests"


def test_a_frame_does_not_give_way_to_one_beside_it() -> None:
    known = frames(main="running", server="paused")

    assert choose_frame("main", known, stops("server"), beside={"server"}) == "main"


def event(number: int, kind: str, **fields: Any) -> EventInfo:
    return EventInfo(number, kind, float(number), fields)


def test_the_call_stack_goes_across_frames() -> None:
    steps = {
        path: StepInfo(path, kind, path, file="ci.yaml", line=line)
        for path, kind, line in (("e2e", "matrix", 3), ("e2e.db", "group", 5), ("e2e.db.smoke", "run", 6))
    }
    trail = Trail(steps)
    trail.apply(event(1, "frame.opened", frame="main", name="shop", parent=None, step=""))
    trail.apply(event(2, "frame.opened", frame="e2e[1]", name="db=pg", parent="main", step="e2e"))
    known = [FrameInfo("main", "shop", None, "running"), FrameInfo("e2e[1]", "db=pg", "main", "paused")]
    (stop,) = stops("e2e[1]", occurrence="e2e[1].db#2.smoke", step="e2e.db.smoke")

    callers = trail.callers(stop, known)

    assert [(each.frame, each.occurrence, each.step and each.step.line) for each in callers] == [
        ("main", "e2e[1]", 3),
        ("e2e[1]", "e2e[1].db#2", 5),
        ("e2e[1]", "e2e[1].db#2.smoke", 6),
    ]


def test_a_step_is_found_by_its_id_at_its_last_attempt() -> None:
    trail = Trail({"checks.tests": StepInfo("checks.tests", "run", "tests", id="tests")})
    trail.apply(event(1, "step.started", frame="main", step="checks.tests", occurrence="checks.tests"))
    trail.apply(event(2, "step.started", frame="main", step="checks.tests", occurrence="checks.tests#2"))

    assert trail.occurrence_of("tests") == "checks.tests#2"
    assert trail.occurrence_of("checks.tests") == "checks.tests"
    assert trail.occurrence_of("deploy") is None


def test_what_is_written_has_a_short_name_that_tells_the_turns_of_a_loop_apart() -> None:
    assert label_of("checks.tests#2") == "tests"
    assert label_of("deps") == "deps"
    assert label_of("server.matrix[1].e2e#2") == "matrix[1].e2e"


def test_output_is_shown_in_whole_lines_with_progress_bars_folded() -> None:
    lines = OutputLines()

    assert lines.feed(Output("tests", "stdout", 0.0, b"one\ntw")) == ["one"]
    assert lines.feed(Output("tests", "stderr", 0.0, b"bad \xc3")) == []
    assert lines.feed(Output("tests", "stdout", 0.0, b"o\n10%\r50%\r100%\r\n\xff\n")) == ["two", "100%", "\ufffd"]
    assert lines.feed(Output("tests", "stderr", 0.0, b"\xa9")) == []
    assert lines.finish("tests") == ["bad é"]
    assert lines.finish("tests") == []
