"""The tree of a run as a fold over its events."""

from typing import Any

from pitstop.doors.cli.live_tree import rows_that_fit
from pitstop.doors.cli.progress import Progress, base_of, shown_lines
from pitstop.service.flows import FlowInfo, StepInfo
from pitstop.service.runs import EventInfo, Output

FLOW = FlowInfo(
    "shop",
    "flow.yaml",
    (
        StepInfo("build", "run", "build", id="build"),
        StepInfo("mx", "matrix", "mx", id="mx"),
        StepInfo("mx.e2e", "run", "e2e", id="e2e", parent="mx"),
    ),
)


def started(step: str, occurrence: str, at: float = 1.0) -> EventInfo:
    return EventInfo(1, "step.started", at, {"frame": "main", "step": step, "occurrence": occurrence})


def finished(step: str, occurrence: str, status: str = "passed", at: float = 2.0, **outcome: Any) -> EventInfo:
    fields = {"frame": "main", "step": step, "occurrence": occurrence, "outcome": {"status": status, **outcome}}
    return EventInfo(1, "step.finished", at, fields)


def shown(progress: Progress) -> list[str]:
    return [f"{node.address} {node.shown_state}" for node in progress.root.walk()][1:]


def test_steps_are_there_before_they_run() -> None:
    assert shown(Progress(FLOW)) == ["build pending", "mx pending", "mx.e2e pending"]


def test_a_step_has_a_state_a_time_and_its_last_line() -> None:
    progress = Progress(FLOW)
    progress.apply(started("build", "build", at=10.0))
    progress.hear(Output("build", "stdout", 0.0, b"one\ntwo\n\n"))
    progress.apply(finished("build", "build", "failed", at=12.5, error={"type": "E", "message": "exit code 2\n  log"}))

    (build, *_) = progress.root.children.values()
    assert (build.state, build.seconds(99.0), build.last_line, build.reason) == ("failed", 2.5, "two", "exit code 2")


def test_what_runs_at_the_same_time_stands_where_it_is_written_whichever_began_first() -> None:
    progress = Progress(FLOW)
    for occurrence in ("mx[10].e2e", "mx[1].e2e", "mx[0].e2e"):
        progress.apply(started("mx.e2e", occurrence))

    assert [node.address for node in progress.running()] == ["mx[0].e2e", "mx[1].e2e", "mx[10].e2e"]

    flow = FlowInfo("shop", "flow.yaml", (*FLOW.steps, StepInfo("mx.unit", "run", "unit", id="unit", parent="mx")))
    progress = Progress(flow)
    for step in ("unit", "e2e"):
        progress.apply(started(f"mx.{step}", f"mx[0].{step}"))

    assert [node.address for node in progress.running()] == ["mx[0].e2e", "mx[0].unit"]


def test_the_combinations_of_a_matrix_take_the_place_of_what_is_written() -> None:
    progress = Progress(FLOW)
    progress.apply(started("mx", "mx"))
    progress.apply(EventInfo(1, "frame.opened", 1.0, {"frame": "mx[0]", "name": "db=sqlite"}))
    progress.apply(started("mx.e2e", "mx[0].e2e"))
    progress.apply(started("mx.e2e", "mx[1].e2e"))
    progress.apply(finished("mx.e2e", "mx[0].e2e"))

    assert shown(progress)[1:] == [
        "mx running",
        "mx[0] passed",
        "mx[0].e2e passed",
        "mx[1] running",
        "mx[1].e2e running",
    ]
    assert [node.title for node in progress.root.walk()][3] == "db=sqlite"


def test_another_attempt_is_the_same_step() -> None:
    progress = Progress(FLOW)
    progress.apply(started("build", "build"))
    progress.apply(finished("build", "build", "failed"))
    progress.apply(started("build", "build#2"))

    assert shown(progress)[0] == "build running"
    assert progress.root.children["build"].attempt == 2
    assert base_of("a#3.b#2") == ("a.b", 2)


def test_lines_are_shown_without_what_is_not_to_be_seen() -> None:
    assert shown_lines(b"\x1b[31mred\x1b[0m\n10%\r20%\nbell\x07\n") == ["red", "20%", "bell"]


def test_a_tree_that_does_not_fit_folds_what_is_over_and_follows_what_runs() -> None:
    steps = tuple(StepInfo(f"s{number}", "run", f"s{number}") for number in range(100))
    progress = Progress(FlowInfo("long", "flow.yaml", steps))
    for number in range(50):
        progress.apply(started(f"s{number}", f"s{number}"))
        progress.apply(finished(f"s{number}", f"s{number}"))
    progress.apply(started("s50", "s50"))

    rows = rows_that_fit(progress.root, 10)

    assert len(rows) <= 10
    assert rows[0] == "… 48 above"
    assert "s50" in [row[1].address for row in rows if not isinstance(row, str)]
