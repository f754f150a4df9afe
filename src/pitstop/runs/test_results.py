"""The test results of a run, compared with those of earlier runs."""

from typing import Literal

from pitstop.lazy_dataclass import dataclass
from pitstop.runs.run_info import RunStatus


@dataclass(frozen=True, slots=True)
class TestCase:
    """One test of a report: passed, failed, error or skipped. `change` compares it with the previous run."""

    __test__ = False  # pytest is not to take it for a test

    step: str
    suite: str
    name: str
    status: str
    seconds: float = 0.0
    message: str = ""
    change: Literal["new", "fixed", "still_failing", "flaky", ""] = ""


@dataclass(frozen=True, slots=True)
class FailingTest:
    """A failed test, by the names that are stable across runs."""

    step: str
    suite: str
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TestedRun:
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
