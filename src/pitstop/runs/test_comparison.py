"""How the tests of a run compare with earlier runs: what is new, fixed, still failing, flaky or removed."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from msgspec import Struct

from pitstop.runs.step_reports import FAILING, CaseResult, StepReport
from pitstop.runs.test_results import Change, ComparedRun, TestCase, TestComparison, TestedStep

LOOKED_AT_RUNS = 20  # that turns are counted in
FLAKY_TURNS = 2
MOST_CASES = 2_000  # in one comparison

_ORDER: tuple[Change, ...] = ("new", "", "still_failing", "flaky", "fixed", "removed")


class EarlierReport(Struct, frozen=True, kw_only=True):
    """What an earlier run said of the same step; `sha` is its commit, if it is of a repository."""

    run: ComparedRun
    sha: str | None
    report: StepReport


class StepHistory(Struct, frozen=True, kw_only=True):
    """What a report is compared with: `base`, and the reports that tell whether a test is flaky.

    `earlier` are those of the same branch, newest first; `same_commit` are those of the same commit.
    """

    base: EarlierReport | None = None
    earlier: Sequence[StepReport] = ()
    same_commit: Sequence[StepReport] = ()


def count_turns(failed: Iterable[bool]) -> int:
    """How often a test went from passing to failing, or back."""
    turns, before = 0, None
    for now in failed:
        turns += before is not None and now != before
        before = now
    return turns


def is_flaky(own: CaseResult, earlier: Sequence[CaseResult], same_commit: Iterable[CaseResult]) -> bool:
    """Whether a test passed and failed on one commit, or turned often in the last runs of its branch."""
    if own.is_mixed:
        return True
    if own.status != "skipped" and any(case.is_failing != own.is_failing for case in _that_ran(same_commit)):
        return True
    series = [case.is_failing for case in _that_ran((own, *earlier[: LOOKED_AT_RUNS - 1]))]
    return count_turns(series) >= FLAKY_TURNS


def compare(reports: Mapping[str, StepReport], history: Mapping[str, StepHistory]) -> TestComparison:
    """The reports of a run compared with the history of each step; failures come first, and new ones before others."""
    cases: list[TestCase] = []
    steps: list[TestedStep] = []
    for step, report in sorted(reports.items()):
        known = history.get(step, StepHistory())
        cases += _compare_step(report, known)
        steps.append(_tested_step(report, known))
    cases.sort(key=_order_of)
    bases = [step.compared_with for step in steps if step.compared_with is not None]
    return TestComparison(
        cases=tuple(cases[:MOST_CASES]),
        compared_with=max(bases, key=lambda base: base.created_at, default=None),
        steps=tuple(steps),
        left_out=max(0, len(cases) - MOST_CASES),
    )


def _order_of(case: TestCase) -> tuple[bool, int, str, str, str]:
    return case.status not in FAILING, _ORDER.index(case.change), case.step, case.suite, case.name


def _tested_step(report: StepReport, history: StepHistory) -> TestedStep:
    return TestedStep(
        step=report.step,
        total=report.total,
        failed=report.failed + report.errors,
        skipped=report.skipped,
        seconds=report.seconds,
        compared_with=None if history.base is None else history.base.run,
    )


def _compare_step(report: StepReport, history: StepHistory) -> Iterator[TestCase]:
    base = None if history.base is None else history.base.report
    for key, case in report.cases.items():
        earlier = [each.cases[key] for each in history.earlier if key in each.cases]
        same_commit = (each.cases[key] for each in history.same_commit if key in each.cases)
        change = _change(case, None if base is None else base.cases.get(key), is_first=base is None)
        if is_flaky(case, earlier, same_commit):
            change = "flaky"
        if change or case.is_failing:
            yield _told(report.step, case, case.status, change)
    for key, case in ({} if base is None else base.cases).items():
        if key not in report.cases and report.is_complete:
            yield _told(report.step, case, "removed", "removed")
        elif key not in report.cases and case.is_failing:  # a report that lists only failures
            yield _told(report.step, case, "passed", "fixed")


def _change(case: CaseResult, before: CaseResult | None, *, is_first: bool) -> Change:
    if is_first:
        return ""
    had_failed = before is not None and before.is_failing
    if case.is_failing:
        return "still_failing" if had_failed else "new"
    return "fixed" if had_failed and case.status == "passed" else ""


def _told(step: str, case: CaseResult, status: str, change: Change) -> TestCase:
    is_own = change not in ("fixed", "removed")
    seconds = case.milliseconds / 1000 if status != "removed" else 0.0
    return TestCase(step, case.suite, case.name, status, seconds, case.message if is_own else "", change)


def _that_ran(cases: Iterable[CaseResult]) -> Iterator[CaseResult]:
    return (case for case in cases if case.status != "skipped")
