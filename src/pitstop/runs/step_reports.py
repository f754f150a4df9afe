"""The test reports of the steps of a run, read from its log: the last attempt of a step counts."""

import re
from collections.abc import Iterable, Mapping
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from pitstop.events.counting import events_that_count
from pitstop.events.types import AnyEvent, OutcomeForced, StepFinished, StepNoted
from pitstop.steps.case_notes import NOTE, ReportedCases, add_page
from pitstop.steps.junit import CaseStatus

FAILING = ("failed", "error")
_WORST_FIRST = ("error", "failed", "passed", "skipped")
_ATTEMPT = r"#\d+"
_TURN = r"\[\d+\]"


class CaseResult(Struct, frozen=True, gc=False):
    """How one test ended. It is mixed if it both passed and failed in the attempts of its step."""

    suite: str
    name: str
    status: CaseStatus
    milliseconds: int = 0
    message: str = ""
    is_mixed: bool = False

    @property
    def is_failing(self) -> bool:
        return self.status in FAILING


class StepReport(Struct, frozen=True, kw_only=True):
    """What one step said of its tests. Unless it is complete, `cases` may lack some that did not fail."""

    step: str
    total: int
    failed: int
    errors: int
    skipped: int
    seconds: float
    cases: Mapping[str, CaseResult]  # by `case_id`
    is_complete: bool


def case_id(suite: str, name: str) -> str:
    """What a test is known by within its step."""
    return f"{suite}::{name}" if suite else name


def reports_in(events: Iterable[AnyEvent], after: int = 0) -> dict[str, StepReport]:
    """The reports of a run by step, from the events above `after`. What was undone by going back does not count."""
    reading = _Reading()
    for number, event in events_that_count(events):
        if number > after:
            reading.take(event)
    return reading.reports


def step_of(event: StepFinished | OutcomeForced) -> str:
    """The step that a report is of: each combination of a matrix is one of its own.

    Iterations of a loop are attempts of the same step.
    """
    if "[" not in event.frame:
        return event.step
    leg, occurrence = (re.sub(_ATTEMPT, "", text) for text in (event.frame, event.occurrence))
    if not occurrence.startswith(leg):
        return event.step
    return leg + re.sub(_TURN, "", occurrence[len(leg) :])


class _Reading:
    def __init__(self) -> None:
        self.reports: dict[str, StepReport] = {}
        self._pages: dict[str, ReportedCases | None] = {}  # by occurrence

    def take(self, event: AnyEvent) -> None:
        if isinstance(event, StepNoted) and event.note == NOTE:
            self._pages[event.occurrence] = add_page(self._pages.get(event.occurrence), event.data)
        elif isinstance(event, StepFinished | OutcomeForced):
            listed = self._pages.pop(event.occurrence, None)
            if (tests := _tests_in(event)) is not None:
                self._add(step_of(event), tests, listed)

    def _add(self, step: str, tests: Mapping[str, Any], listed: ReportedCases | None) -> None:
        cases = _cases_of(tests, listed)
        before = self.reports.get(step)
        if before is not None:
            cases = {key: _after(case, before.cases.get(key)) for key, case in cases.items()}
        if before is not None and listed is None:
            cases |= _passed_since(before, cases)
        self.reports[step] = StepReport(
            step=step,
            total=int(_number(tests, "total")),
            failed=int(_number(tests, "failed")),
            errors=int(_number(tests, "errors")),
            skipped=int(_number(tests, "skipped")),
            seconds=_number(tests, "seconds"),
            cases=cases,
            is_complete=listed is not None and listed.is_whole and not listed.left_out,
        )


def _after(case: CaseResult, before: CaseResult | None) -> CaseResult:
    """The case, with what an earlier attempt says of it."""
    if before is None:
        return case
    ended = {before.status in FAILING, case.is_failing} if "skipped" not in (before.status, case.status) else set()
    if not before.is_mixed and len(ended) < 2:
        return case
    return replace(case, is_mixed=True, message=case.message or before.message)


def _passed_since(before: StepReport, cases: Mapping[str, CaseResult]) -> dict[str, CaseResult]:
    """Those that failed in an earlier attempt, and are not among the failures of one that lists nothing else."""
    return {
        key: replace(case, status="passed", is_mixed=True)
        for key, case in before.cases.items()
        if (case.is_failing or case.is_mixed) and key not in cases
    }


def _cases_of(tests: Mapping[str, Any], listed: ReportedCases | None) -> dict[str, CaseResult]:
    """The listed cases, with the messages of those that failed; without a list, those that failed."""
    cases: dict[str, CaseResult] = {}
    for each in () if listed is None else listed.cases:
        key = case_id(each.suite, each.name)
        case = CaseResult(each.suite, each.name, each.status, each.milliseconds)
        cases[key] = case if key not in cases else _worst(cases[key], case)
    for failing in tests["failing"]:
        if isinstance(failing, Mapping):
            suite, name = str(failing.get("classname", "")), str(failing.get("name", ""))
            status: CaseStatus = "error" if failing.get("kind") == "error" else "failed"
            own = cases.get(case_id(suite, name)) or CaseResult(suite, name, status)
            message = str(failing.get("message") or failing.get("text") or "")
            cases[case_id(suite, name)] = replace(own, message=message)
    return cases


def _worst(one: CaseResult, other: CaseResult) -> CaseResult:
    """Two cases with the same name are one, which took as long as both."""
    worst = min(one, other, key=lambda case: _WORST_FIRST.index(case.status))
    return replace(worst, milliseconds=one.milliseconds + other.milliseconds)


def _tests_in(event: StepFinished | OutcomeForced) -> Mapping[str, Any] | None:
    """Its counts; None for a step without reports, and for one whose reports were not found."""
    outputs = event.outcome.outputs
    tests = outputs.get("tests") if isinstance(outputs, Mapping) else None
    if not isinstance(tests, Mapping) or not isinstance(tests.get("failing"), list):
        return None
    return None if tests.get("files") == [] else tests


def _number(tests: Mapping[str, Any], name: str) -> float:
    """Zero for what is not a number: any step may have an output of this name, and a number may have been masked."""
    value = tests.get(name)
    return value if isinstance(value, int | float) else 0
