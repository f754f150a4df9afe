"""What of a comparison does not need a store: turns, flakiness, and limits."""

import pytest

from pitstop.runs import test_comparison as module
from pitstop.runs.step_reports import CaseResult, StepReport, reports_in
from pitstop.runs.test_comparison import EarlierReport, StepHistory, compare, count_turns, is_flaky
from pitstop.runs.test_results import ComparedRun
from pitstop.steps.junit import CaseStatus
from tests.platform.reports.logs import STARTED, reported

BASE = ComparedRun("before", "main", 1.0)


def case(status: CaseStatus, *, is_mixed: bool = False) -> CaseResult:
    return CaseResult("", "a", status, is_mixed=is_mixed)


def report(*, is_listed: bool = True, **cases: CaseStatus) -> StepReport:
    return reports_in([*STARTED, *reported(cases, is_listed=is_listed)])["test"]


def changes(own: StepReport, before: StepReport) -> dict[str, tuple[str, str]]:
    history = StepHistory(base=EarlierReport(run=BASE, sha=None, report=before))
    return {each.name: (each.status, each.change) for each in compare({"test": own}, {"test": history}).cases}


@pytest.mark.parametrize(("failed", "turns"), [([], 0), ([True], 0), ([True, False, False, True], 2)])
def test_turns_are_changes_from_one_run_to_the_next(failed: list[bool], turns: int) -> None:
    assert count_turns(failed) == turns


@pytest.mark.parametrize(
    ("own", "earlier", "same_commit", "flaky"),
    [
        ("passed", "pf", "", False),
        ("failed", "pf", "", True),
        ("failed", "psssf", "", True),  # a test that is skipped says nothing
        ("failed", "fffffffffffffffffffpf", "", False),  # too long ago
        ("failed", "", "p", True),
        ("failed", "", "fs", False),
        ("skipped", "", "pf", False),
    ],
)
def test_a_test_is_flaky_when_it_turns_or_differs_on_one_commit(
    own: CaseStatus, earlier: str, same_commit: str, flaky: bool
) -> None:
    statuses: dict[str, CaseStatus] = {"p": "passed", "f": "failed", "s": "skipped"}
    known = [[case(statuses[letter]) for letter in letters] for letters in (earlier, same_commit)]

    assert is_flaky(case(own), *known) is flaky
    assert is_flaky(case("passed", is_mixed=True), [], [])


def test_a_test_that_is_skipped_now_is_neither_fixed_nor_removed() -> None:
    assert changes(report(a="skipped"), report(a="failed")) == {}


def test_a_test_that_is_gone_is_removed_and_not_fixed() -> None:
    assert changes(report(b="passed"), report(a="failed", b="passed")) == {"a": ("removed", "removed")}


def test_a_report_that_lists_only_failures_removes_nothing() -> None:
    before = report(a="failed", b="passed")

    assert changes(report(b="passed", is_listed=False), before) == {"a": ("passed", "fixed")}


def test_a_comparison_that_is_too_long_says_how_much_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_CASES", 2)

    found = compare({"test": report(a="failed", b="error", c="failed")}, {})

    assert ([each.name for each in found.cases], found.left_out) == (["a", "b"], 1)
