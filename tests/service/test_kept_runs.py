"""Runs as they are kept on disk, and what is never kept."""

import json
from pathlib import Path

from pitstop.events.outcome import Outcome, Status
from pitstop.events.types import RunStarted, StepFinished
from pitstop.service.kept_log import KeptLog, masked, tell_event
from pitstop.service.run_folder import KEPT_RUNS, RunFolder, create_run_folder, forget_old_runs, kept_runs


def hide(text: str) -> str:
    return text.replace("hunter2", "***").replace("4711", "***")


def test_secrets_are_taken_out_of_texts_keys_and_numbers() -> None:
    assert masked({"hunter2": ["is hunter2", 14711, True, None, 1.5]}, hide) == {
        "***": ["is ***", "1***", True, None, 1.5]
    }


def test_the_secrets_of_a_run_are_never_told_however_short() -> None:
    told = tell_event(1, RunStarted(0.0, "shop", {"secrets": {"PIN": "7"}, "inputs": {}}), None)

    assert told.fields["inputs"] == {"secrets": {"PIN": "***"}, "inputs": {}}


async def test_events_are_written_as_the_lines_that_doors_are_told(tmp_path: Path) -> None:
    folder = create_run_folder(tmp_path / "runs")
    log = KeptLog(folder, hide)

    log.append(RunStarted(1.0, "shop", {}))
    log.append(StepFinished(2.0, "main", "a", "a", Outcome(Status.PASSED, {"token": "hunter2", "odd": "\udc80"})))
    log.write()
    folder.close()

    lines = [json.loads(line) for line in folder.events_file.read_text().splitlines()]
    assert [(line["schema"], line["number"], line["kind"]) for line in lines] == [
        (1, 1, "run.started"),
        (1, 2, "step.finished"),
    ]
    assert lines[1]["outcome"]["outputs"]["token"] == "***"
    assert folder.read_events() == lines


def test_the_last_line_of_a_run_that_was_killed_may_be_cut(tmp_path: Path) -> None:
    folder = create_run_folder(tmp_path)
    folder.append_events(b'{"kind":"run.started"}\n{"kind":"step')
    folder.close()

    assert folder.read_events() == [{"kind": "run.started"}]


def test_the_log_of_any_occurrence_has_a_file(tmp_path: Path) -> None:
    folder = create_run_folder(tmp_path)
    names = ["a", "mx[0].e2e#2", "../up", "x" * 500, "x" * 499 + "y"]

    for name in names:
        folder.append_log(name, name.encode())

    assert [folder.read_log_end(name, 10_000).decode() for name in names] == names
    assert folder.problem is None
    assert all(path.parent == folder.path / "logs" for path in folder.path.rglob("*.log"))


def test_what_cannot_be_written_is_a_problem_and_no_failure(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path / "missing")

    folder.append_events(b"{}\n")
    folder.append_log("a", b"text")

    assert folder.problem is not None
    assert "No such file or directory" in folder.problem
    assert create_run_folder(Path("/proc/nowhere")).problem is not None


def test_old_runs_are_forgotten_but_not_those_that_have_not_ended(tmp_path: Path) -> None:
    for number in range(KEPT_RUNS + 5):
        folder = RunFolder(tmp_path / f"20260101-{number:06}-aaa")
        folder.path.mkdir()
        folder.write_description(flow="flow.yaml", status=None if number == 0 else "passed")

    forget_old_runs(tmp_path)

    kept = [run.id for run in kept_runs(tmp_path)]
    assert len(kept) == KEPT_RUNS + 1
    assert kept[-1] == "20260101-000000-aaa"
