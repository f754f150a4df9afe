"""The tables of test reports, and what is read from them in one visit to the database."""

from collections.abc import Iterator, Sequence
from typing import Any

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    ColumnElement,
    Connection,
    Double,
    ForeignKey,
    Index,
    LargeBinary,
    Row,
    Select,
    Table,
    and_,
    select,
    tuple_,
)

from pitstop.platform.reports.packed_cases import Names, result_at
from pitstop.platform.reports.pages import HistoryPage, TestResult, cursor_of
from pitstop.platform.reports.summaries import ReportRow
from pitstop.runs.test_comparison import LOOKED_AT_RUNS
from pitstop.steps.junit import short_name
from pitstop.store.sql.columns import AnyText
from pitstop.store.sql.schema import metadata

PAGE = 100
MOST_SEARCHED = 1_000  # reports for one page of a history: a client that wants more asks again
LONGEST_STEP, LONGEST_CASE = 200, 400  # characters in a key: PostgreSQL has room for 2,700 bytes in an index

AnyRow = Row[Any, *tuple[Any, ...]]

test_names = Table(  # of the cases of a report, once for all reports with the same cases
    "test_names",
    metadata,
    Column("hash", LargeBinary, primary_key=True),
    Column("body", LargeBinary, nullable=False),
)

test_reports = Table(  # of whole runs that have ended
    "test_reports",
    metadata,
    Column("run", AnyText, primary_key=True),
    Column("step", AnyText, primary_key=True),
    Column("repo", AnyText),
    Column("ref", AnyText),
    Column("flow", AnyText, nullable=False),  # its name in the repository; without one, the file of the flow
    Column("sha", AnyText),
    Column("at", Double, nullable=False),  # when the run was created
    Column("total", BigInteger, nullable=False),
    Column("failed", BigInteger, nullable=False),
    Column("errors", BigInteger, nullable=False),
    Column("skipped", BigInteger, nullable=False),
    Column("seconds", Double, nullable=False),
    Column("is_complete", Boolean, nullable=False),
    Column("names", LargeBinary, ForeignKey("test_names.hash"), nullable=False),
    Column("results", LargeBinary, nullable=False),  # in the order of the names
    Index("test_reports_by_step", "repo", "flow", "step", "at", "run"),
    Index("test_reports_by_ref", "repo", "ref", "flow", "step", "at", "run"),
    Index("test_reports_by_names", "names"),
)

test_failures = Table(
    "test_failures",
    metadata,
    Column("run", AnyText, primary_key=True),
    Column("step", AnyText, primary_key=True),
    Column("case", AnyText, primary_key=True),
    Column("suite", AnyText, nullable=False),
    Column("name", AnyText, nullable=False),
    Column("status", AnyText, nullable=False),
    Column("message", AnyText, nullable=False),
    Column("fingerprint", AnyText),
    Index("test_failures_by_fingerprint", "fingerprint"),
)

_reports = test_reports.c
_SHOWN = (_reports.run, _reports.sha, _reports.ref, _reports.at, _reports.names, _reports.results)
NEWEST_FIRST = (_reports.at.desc(), _reports.run.desc())


def step_key(step: str) -> str:
    return short_name(step, LONGEST_STEP)


def case_key(case: str) -> str:
    return short_name(case, LONGEST_CASE)


class ReportReading:
    """Questions in one visit to the database: names that many reports share are read once.

    `names` has those that are known from earlier visits; what is read is added.
    """

    def __init__(self, connection: Connection, names: dict[bytes, Names] | None = None) -> None:
        self._connection = connection
        self._names = {} if names is None else names

    def last_reports(self, repo: str, ref: str, flow: str | None) -> list[tuple[str, str, list[ReportRow]]]:
        """The last reports of each step on a branch, newest first."""
        is_on_branch = [_reports.repo == repo, _reports.ref == ref]
        if flow is not None:
            is_on_branch.append(_reports.flow == flow)
        steps = select(_reports.flow, _reports.step).where(*is_on_branch).distinct()
        found = []
        for each in self._connection.execute(steps.order_by(_reports.flow, _reports.step)).all():
            newest = select(test_reports).where(*is_on_branch, _reports.flow == each.flow, _reports.step == each.step)
            rows = self._rows(newest.order_by(*NEWEST_FIRST).limit(LOOKED_AT_RUNS))
            reports = [ReportRow(row.run, row.sha, row.at, self._names[row.names], row.results) for row in rows]
            found.append((each.flow, each.step, reports))
        return found

    def history(
        self, is_of_step: Sequence[ColumnElement[bool]], case: str, after: tuple[float, str] | None, limit: int
    ) -> HistoryPage:
        """The results of one test in the reports that meet the conditions, newest first."""
        results: list[TestResult] = []
        for count, row in enumerate(self._newest(is_of_step, case, after)):
            if len(results) == limit or count == MOST_SEARCHED:
                return HistoryPage(tuple(results), None if after is None else cursor_of(after))
            after = (row.at, row.run)
            if (place := self._names[row.names].find(case)) is not None:
                results.append(_result(row, place))
        return HistoryPage(tuple(results))

    def _newest(
        self, is_of_step: Sequence[ColumnElement[bool]], case: str, after: tuple[float, str] | None
    ) -> Iterator[AnyRow]:
        """Reports with what the test said if it failed, in pages of one more than is shown: is there a next one?"""
        failures = test_failures.c
        is_failure = and_(failures.run == _reports.run, failures.step == _reports.step, failures.case == case_key(case))
        shown = select(*_SHOWN, failures.message, failures.fingerprint)
        wanted = shown.join_from(test_reports, test_failures, is_failure, isouter=True).where(*is_of_step)
        wanted = wanted.order_by(*NEWEST_FIRST).limit(PAGE + 1)
        while True:
            rows = self._rows(wanted if after is None else wanted.where(tuple_(_reports.at, _reports.run) < after))
            yield from rows
            if len(rows) <= PAGE:
                return
            after = (rows[-1].at, rows[-1].run)

    def _rows(self, wanted: Select[Any]) -> Sequence[AnyRow]:
        """Reports, of which the names are known then."""
        rows = self._connection.execute(wanted).all()
        unknown = {row.names for row in rows} - self._names.keys()
        if unknown:
            found = select(test_names).where(test_names.c.hash.in_(list(unknown)))
            self._names.update({row.hash: Names(row.body) for row in self._connection.execute(found)})
        return rows


def _result(row: AnyRow, place: int) -> TestResult:
    result = result_at(row.results, place)
    return TestResult(
        run=row.run,
        sha=row.sha,
        ref=row.ref,
        at=row.at,
        status=result.status,
        milliseconds=result.milliseconds,
        is_flaky=result.is_mixed,
        message=row.message or "",
        fingerprint=row.fingerprint,
    )
