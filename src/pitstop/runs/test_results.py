"""The test results of a run, compared with those of earlier runs."""

from typing import Literal

from msgspec import Struct

from pitstop.runs.run_info import RunStatus


class TestCase(Struct, frozen=True):
    """One test of a report: passed, failed, error or skipped. `change` compares it with the previous run."""

    __test__ = False  # pytest is not to take it for a test

    step: str
    suite: str
    name: str
    status: str
    seconds: float = 0.0
    message: str = ""
    change: Literal["new", "fixed", "still_failing", "flaky", ""] = ""


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
