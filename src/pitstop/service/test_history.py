"""The desk for the tests of repositories: what fails, what is flaky or slow, and the history of each test."""

from typing import Protocol

from pitstop.platform.reports.pages import HistoryPage, TestPage, TestResult, TestTotals
from pitstop.platform.reports.summaries import StateFilter, TestSummary
from pitstop.service.caller import Caller

__all__ = ["HistoryPage", "StateFilter", "TestHistory", "TestPage", "TestResult", "TestSummary", "TestTotals"]


class TestHistory(Protocol):
    """Tests in the reports of whole runs. Anyone may read them; UnknownRepo, BadCursor."""

    async def tests(
        self,
        caller: Caller,
        repo: str,
        *,
        ref: str | None = None,
        flow: str | None = None,
        state: StateFilter = "all",
        cursor: str | None = None,
        limit: int = 100,
    ) -> TestPage:
        """The tests of a branch, or of the default branch."""
        ...

    async def history(
        self,
        caller: Caller,
        repo: str,
        flow: str,
        step: str,
        case: str,
        *,
        ref: str | None = None,
        cursor: str | None = None,
        limit: int = 100,
    ) -> HistoryPage:
        """The results of one test, the newest first, on one branch or on all."""
        ...

    async def trend(
        self, caller: Caller, repo: str, flow: str, *, ref: str | None = None, limit: int = 50
    ) -> tuple[TestTotals, ...]:
        """The totals of the last runs of a flow, the newest first."""
        ...
