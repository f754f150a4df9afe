"""Reports are read from the log of a run: the last attempt counts, and what was undone does not."""

import pytest
from msgspec.structs import replace

from pitstop.events.outcome import Outcome, Status
from pitstop.events.types import AnyEvent, OutcomeForced, StepFinished, StepNoted
from pitstop.runs.step_reports import CaseResult, StepReport, reports_in, step_of
from pitstop.runs.telling import masked_event
from pitstop.steps.case_notes import NOTE
from tests.platform.reports.logs import STARTED, SUITE, finished, reported


def read(*events: AnyEvent) -> StepReport:
    (report,) = reports_in([*STARTED, *events]).values()
    return report


def results(report: StepReport) -> dict[str, tuple[str, bool]]:
    return {case.name: (case.status, case.is_mixed) for case in report.cases.values()}


def test_a_report_has_every_case_with_its_time_and_the_message_of_its_failure() -> None:
    report = read(*reported({"tax": "failed", "sum": "passed"}, milliseconds=40))

    assert list(report.cases.values()) == [
        CaseResult(SUITE, "tax", "failed", 40, "tax is wrong, 7 times"),
        CaseResult(SUITE, "sum", "passed", 40),
    ]
    assert (report.total, report.failed, report.is_complete) == (2, 1, True)


def test_a_log_of_an_earlier_version_has_only_the_failures() -> None:
    report = read(*reported({"tax": "error", "sum": "passed"}, is_listed=False))

    assert results(report) == {"tax": ("error", False)}
    assert not report.is_complete


@pytest.mark.parametrize("is_listed", [True, False])
def test_a_test_that_failed_and_then_passed_is_mixed(is_listed: bool) -> None:
    first = reported({"tax": "failed", "sum": "failed"}, is_listed=is_listed)
    second = reported({"tax": "failed", "sum": "passed"}, occurrence="test#2", is_listed=is_listed)

    assert results(read(*first, *second)) == {"tax": ("failed", False), "sum": ("passed", True)}


def test_a_test_that_was_skipped_in_one_attempt_is_not_mixed() -> None:
    attempts = [*reported({"tax": "skipped"}), *reported({"tax": "failed"}, occurrence="test#2")]

    assert results(read(*attempts)) == {"tax": ("failed", False)}


def test_a_report_that_is_noted_twice_counts_once() -> None:
    *pages, end = reported({"tax": "passed"})

    assert len(read(*pages, *pages, end).cases) == 1


def test_a_report_with_a_damaged_page_is_read_as_far_as_the_outputs_go() -> None:
    page, end = reported({"tax": "failed", "sum": "passed"})
    assert isinstance(page, StepNoted)
    broken = replace(page, data={**page.data, "suites": [["s", ["one"], "pp", "1 2"]]})

    assert results(read(broken, end)) == {"tax": ("failed", False)}
    assert results(read(replace(page, data={**page.data, "page": 2}), end)) == {"tax": ("failed", False)}


def test_a_number_that_was_masked_is_zero() -> None:
    page, end = reported({"tax": "passed"})
    assert isinstance(page, StepNoted)

    report = read(replace(page, data={**page.data, "suites": [["s", ["tax"], "p", "***"]]}), end)

    assert [case.milliseconds for case in report.cases.values()] == [0]


def test_a_secret_in_the_name_of_a_test_is_masked_and_the_failure_keeps_its_message() -> None:
    def mask(text: str) -> str:
        return text.replace("hush", "***")

    events = [masked_event(event, mask) for event in reported({"pays hush": "failed", "sum": "passed"})]

    assert list(read(*events).cases.values()) == [
        CaseResult(SUITE, "pays ***", "failed", 5, "pays *** is wrong, 7 times"),
        CaseResult(SUITE, "sum", "passed", 5),
    ]


def test_two_cases_with_one_name_are_one_which_ends_as_the_worse() -> None:
    note = {"page": 1, "pages": 1, "left_out": 0, "suites": [["s", ["tax", "tax"], "fp", "3 4"]]}
    events = [StepNoted(2.0, "main", "test", NOTE, note), *reported({}, is_listed=False)]

    assert list(read(*events).cases.values()) == [CaseResult("s", "tax", "failed", 7)]


def test_the_result_of_a_command_on_a_terminal_counts() -> None:
    *pages, end = reported({"tax": "passed"})
    assert isinstance(end, StepFinished)
    forced = OutcomeForced(3.0, 1, "main", "test", "test", "force", end.outcome)

    assert results(read(*pages, forced)) == {"tax": ("passed", False)}


def test_a_step_whose_reports_were_not_found_has_none() -> None:
    lost = finished({"tests": {"total": 0, "failing": [], "files": []}})

    assert reports_in([*STARTED, lost, finished({"exit_code": 0})]) == {}


@pytest.mark.parametrize(
    ("frame", "occurrence", "step"),
    [
        ("main", "loop[2].test#3", "loop.test"),
        ("m[1]", "m[1].test#2", "m[1].test"),
        ("m#2[1]", "m#2[1].loop[4].test", "m[1].loop.test"),
        ("m[1].p.a", "m[1].p.a", "m[1].p.a"),
        ("m[1]", "elsewhere.test", "loop.test"),
    ],
)
def test_iterations_of_a_loop_are_one_step_and_combinations_of_a_matrix_several(
    frame: str, occurrence: str, step: str
) -> None:
    event = StepFinished(1.0, frame, "loop.test", occurrence, Outcome(Status.PASSED))

    assert step_of(event) == step
