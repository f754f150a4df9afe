"""Test reports in the database: what they say about a run, and about the tests of a repository."""

from collections.abc import Callable
from typing import TypeVar

from sqlalchemy import func, select

from pitstop.engine.threads import in_thread
from pitstop.platform.reports.packed_cases import Names
from pitstop.platform.reports.pages import HistoryPage, TestPage, TestTotals, cursor_of, read_cursor
from pitstop.platform.reports.summaries import StateFilter, TestSummary, order_of, summarize, wanted
from pitstop.platform.stored.test_report_rows import NEWEST_FIRST, PAGE, ReportReading, step_key, test_reports
from pitstop.store.sql.database import Database

MOST_NAMES = 32  # that are remembered, by their hash: to unpack them takes longer than all else of a question

T = TypeVar("T")


class StoredTestReports:
    """Answers from the reports of whole runs that have ended."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._names: dict[bytes, Names] = {}

    async def tests_of(
        self,
        repo: str,
        ref: str,
        *,
        flow: str | None = None,
        state: StateFilter = "all",
        cursor: str | None = None,
        limit: int = PAGE,
    ) -> TestPage:
        """A page of the tests in the newest report of each step on a branch. Raises BadCursor."""
        after = None if cursor is None else read_cursor(cursor, tuple[float, str, str, str])
        found = wanted(await self._summaries(repo, ref, flow), state)
        remaining = [each for each in found if after is None or order_of(each, state) > after]
        next_page = cursor_of(order_of(remaining[limit - 1], state)) if len(remaining) > limit else None
        return TestPage(tuple(remaining[:limit]), next_page)

    async def history(
        self,
        repo: str,
        flow: str,
        step: str,
        case: str,
        *,
        ref: str | None = None,
        cursor: str | None = None,
        limit: int = PAGE,
    ) -> HistoryPage:
        """A page of the results of one test, newest first, on one branch or on all. Raises BadCursor.

        If many runs do not have the test, a page has fewer results than `limit`, and a `next`.
        """
        after = None if cursor is None else read_cursor(cursor, tuple[float, str])
        columns = test_reports.c
        is_of_step = [columns.repo == repo, columns.flow == flow, columns.step == step_key(step)]
        if ref is not None:
            is_of_step.append(columns.ref == ref)
        return await self._read(lambda reading: reading.history(is_of_step, case, after, limit))

    async def trend(self, repo: str, ref: str, flow: str, limit: int = 50) -> tuple[TestTotals, ...]:
        """The totals of the last runs of a flow on a branch, newest first."""
        columns = test_reports.c
        of_run = (columns.run, columns.sha, columns.at)
        sums = [func.sum(column).label(column.name) for column in (columns.total, columns.skipped, columns.seconds)]
        found = select(*of_run, *sums, func.sum(columns.failed + columns.errors).label("failed"))
        found = found.where(columns.repo == repo, columns.ref == ref, columns.flow == flow)
        rows = await self._database.rows(found.group_by(*of_run).order_by(*NEWEST_FIRST).limit(limit))
        return tuple(
            TestTotals(
                run=row.run,
                sha=row.sha,
                at=row.at,
                total=int(row.total),
                failed=int(row.failed),
                skipped=int(row.skipped),
                seconds=float(row.seconds),
            )
            for row in rows
        )

    async def _summaries(self, repo: str, ref: str, flow: str | None) -> list[TestSummary]:
        found = await self._read(lambda reading: reading.last_reports(repo, ref, flow))
        return await in_thread(lambda: [each for of_step in found for each in summarize(*of_step)])

    async def _read(self, ask: Callable[[ReportReading], T]) -> T:
        names = dict(self._names)  # a copy, because visits may run concurrently in threads
        answer = await self._database.ask(lambda connection: ask(ReportReading(connection, names)))
        self._names = dict(list({**self._names, **names}.items())[-MOST_NAMES:])
        return answer
