"""Logs of runs with test reports, as steps write them."""

from collections.abc import Iterator, Mapping
from typing import Any

from pitstop.events.outcome import Outcome, Status
from pitstop.events.types import AnyEvent, FrameOpened, RunEnded, RunStarted, StepFinished, StepNoted
from pitstop.runs.step_reports import FAILING
from pitstop.steps.case_notes import NOTE, pages_of_cases
from pitstop.steps.junit import CaseStatus, ReportedCase, TestCounts

STARTED = (RunStarted(1.0, "ci", {}), FrameOpened(1.0, "main", "ci", None, ""))
ENDED = RunEnded(9.0, Outcome(Status.PASSED))
SUITE = "shop.prices"


def counts(cases: Mapping[str, CaseStatus], milliseconds: int = 5) -> TestCounts:
    """What a report with these cases says."""
    listed = [ReportedCase(SUITE, name, status, milliseconds) for name, status in cases.items()]
    return TestCounts(
        total=len(listed),
        failed=sum(case.status == "failed" for case in listed),
        errors=sum(case.status == "error" for case in listed),
        skipped=sum(case.status == "skipped" for case in listed),
        seconds=milliseconds * len(listed) / 1000,
        failing=[_failing(case) for case in listed if case.status in FAILING],
        cases=listed,
    )


def _failing(case: ReportedCase) -> dict[str, str]:
    kind = "failure" if case.status == "failed" else "error"
    return {"name": case.name, "classname": case.suite, "kind": kind, "message": f"{case.name} is wrong, 7 times"}


def reported(
    cases: Mapping[str, CaseStatus],
    *,
    step: str = "test",
    occurrence: str | None = None,
    frame: str = "main",
    milliseconds: int = 5,
    is_listed: bool = True,
) -> Iterator[AnyEvent]:
    """The events of a step that reports these cases; unless they are listed, as a version did that only counted."""
    found, occurrence = counts(cases, milliseconds), occurrence or step
    for page in pages_of_cases(found.cases, found.left_out) if is_listed else ():
        yield StepNoted(2.0, frame, occurrence, NOTE, page)
    yield finished({"tests": found.as_outputs(["a.xml"])}, step=step, occurrence=occurrence, frame=frame)


def finished(
    outputs: dict[str, Any], *, step: str = "test", occurrence: str = "test", frame: str = "main"
) -> StepFinished:
    return StepFinished(3.0, frame, step, occurrence, Outcome(Status.PASSED, outputs))
