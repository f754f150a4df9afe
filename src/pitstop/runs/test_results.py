"""The test results of a run, compared with those of earlier runs."""

from typing import Literal

from msgspec import Struct

from pitstop.runs.run_info import RunStatus

Change = Literal["new", "fixed", "still_failing", "flaky", "removed", ""]


class TestCase(Struct, frozen=True):
    """One test of a report: passed, failed, error or skipped. `change` compares it with the run before.

    A test that was removed has the status `removed`.
    """

    __test__ = False  # pytest is not to take it for a test

    step: str
    suite: str
    name: str
    status: str
    seconds: float = 0.0
    message: str = ""
    change: Change = ""


class ComparedRun(Struct, frozen=True):
    """The run that tests were compared with; `ref` is its branch or tag in the repository, if it is of one."""

    run: str
    ref: str | None
    created_at: float


class TestedStep(Struct, frozen=True, kw_only=True):
    """The totals of one step, and the last whole run before it that reported tests of the same step."""

    __test__ = False

    step: str
    total: int = 0
    failed: int = 0
    skipped: int = 0
    seconds: float = 0.0
    compared_with: ComparedRun | None = None


class TestComparison(Struct, frozen=True, kw_only=True):
    """The tests of a run that failed or changed, with the newest run that they were compared with.

    `left_out` is how many more there are.
    """

    __test__ = False

    cases: tuple[TestCase, ...] = ()
    compared_with: ComparedRun | None = None
    steps: tuple[TestedStep, ...] = ()
    left_out: int = 0


class FailingTest(Struct, frozen=True):
    """A failed test, by the names that are stable across runs."""

    step: str
    suite: str
    name: str


class TestedRun(Struct, frozen=True, kw_only=True):
    """The test results of one run: how many tests there were, and which failed."""

    __test__ = False

    run: str
    created_at: float
    status: RunStatus
    total: int = 0
    failed: int = 0
    skipped: int = 0
    seconds: float = 0.0
    failing: tuple[FailingTest, ...] = ()
