"""The consumer of the logs that stores the test reports of each run when it ends."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from msgspec import Struct
from sqlalchemy import delete, exists, func, insert, select
from sqlalchemy.ext.asyncio import AsyncConnection

from pitstop.engine.threads import in_thread
from pitstop.events.types import AnyEvent, RunEnded
from pitstop.platform.feed_values import REPORTED
from pitstop.platform.reports.fingerprint import fingerprint_of
from pitstop.platform.reports.packed_cases import PackedNames, pack_names, pack_results
from pitstop.platform.stored.feed import add_news
from pitstop.platform.stored.test_report_rows import (
    AnyRow,
    case_key,
    step_key,
    test_failures,
    test_names,
    test_reports,
)
from pitstop.runs.repositories import flow_address
from pitstop.runs.step_reports import StepReport, reports_in
from pitstop.store.sql.database import Database
from pitstop.store.sql.event_rows import read_log
from pitstop.store.sql.schema import events, runs

LONGEST_MESSAGE = 2_000
_NAMES_LOCK = 0x70697403  # an advisory lock; the number is arbitrary
_NOTED = "step.noted"
_RECORD = tuple(
    runs.c[name]
    for name in ("id", "file", "created_at", "carried_over", "is_partial", "intervened", "repo", "ref", "sha")
)


class ReportRows(Struct, frozen=True):
    """What is stored of the reports of one run."""

    names: tuple[PackedNames, ...]
    reports: tuple[dict[str, Any], ...]
    failures: tuple[dict[str, Any], ...]


class TestReportConsumer:
    """Stores the reports of whole runs when they end, because until then the debugger may still undo a step.

    Steps that a run took over from another are not stored again, and runs that were modified in the debugger never.
    """

    __test__ = False

    name = "tests"
    waits_for_end = True

    def __init__(self, database: Database) -> None:
        self._database = database

    async def consume(self, connection: AsyncConnection, run: str, page: Sequence[tuple[int, AnyEvent]]) -> None:
        if not any(isinstance(event, RunEnded) for _, event in page):
            return
        record = (await connection.execute(select(*_RECORD).where(runs.c.id == run))).first()
        if record is None or record.is_partial or record.intervened or not await _has_notes(connection, run):
            return
        log = await read_log(connection, run)
        await self._replace(connection, run, await in_thread(partial(rows_of, record, log)))
        if record.repo is not None:
            about = (f"repo:{record.repo}", REPORTED, {"run": run})
            await connection.run_sync(lambda told: add_news(self._database, told, *about))

    async def _replace(self, connection: AsyncConnection, run: str, rows: ReportRows) -> None:
        """A run that was resumed after its end ends again, and is stored again."""
        for table in (test_failures, test_reports):
            await connection.execute(delete(table).where(table.c.run == run))
        if not rows.reports:
            return
        await self._store_names(connection, rows.names)
        await connection.execute(insert(test_reports), rows.reports)
        if rows.failures:
            await connection.execute(insert(test_failures), rows.failures)

    async def _store_names(self, connection: AsyncConnection, names: Sequence[PackedNames]) -> None:
        """Store names that are new, and then also remove those whose last run was deleted."""
        if not self._database.is_sqlite:  # where another server may remove names that this one is about to use
            await connection.execute(select(func.pg_advisory_xact_lock(_NAMES_LOCK)))
        stored = select(test_names.c.hash).where(test_names.c.hash.in_([each.hash for each in names]))
        known = set((await connection.execute(stored)).scalars())
        new = {each.hash: {"hash": each.hash, "body": each.body} for each in names if each.hash not in known}
        if new:
            is_unused = ~exists().where(test_reports.c.names == test_names.c.hash)
            await connection.execute(delete(test_names).where(is_unused, test_names.c.hash.not_in(known)))
            await connection.execute(insert(test_names), list(new.values()))


def rows_of(record: AnyRow, log: Sequence[AnyEvent]) -> ReportRows:
    """The rows of the reports that a run made itself."""
    reports = reports_in(log, after=record.carried_over)
    names = {step: pack_names(report.cases) for step, report in reports.items()}
    return ReportRows(
        tuple(names.values()),
        tuple(_report_row(record, report, names[step].hash) for step, report in reports.items()),
        tuple(row for report in reports.values() for row in _failure_rows(record.id, report)),
    )


def _report_row(record: AnyRow, report: StepReport, names: bytes) -> dict[str, Any]:
    return {
        "run": record.id,
        "step": step_key(report.step),
        "repo": record.repo,
        "ref": record.ref,
        "flow": record.file if record.repo is None else record.file.removeprefix(flow_address(record.repo, "")),
        "sha": record.sha,
        "at": record.created_at,
        "total": report.total,
        "failed": report.failed,
        "errors": report.errors,
        "skipped": report.skipped,
        "seconds": report.seconds,
        "is_complete": report.is_complete,
        "names": names,
        "results": pack_results(report.cases),
    }


def _failure_rows(run: str, report: StepReport) -> list[dict[str, Any]]:
    rows: Mapping[str, dict[str, Any]] = {
        case_key(key): {
            "run": run,
            "step": step_key(report.step),
            "case": case_key(key),
            "suite": case.suite,
            "name": case.name,
            "status": case.status,
            "message": case.message[:LONGEST_MESSAGE],
            "fingerprint": fingerprint_of(case.message),
        }
        for key, case in report.cases.items()
        if case.is_failing or (case.is_mixed and case.message)
    }
    return list(rows.values())


async def _has_notes(connection: AsyncConnection, run: str) -> bool:
    found = select(events.c.number).where(events.c.run == run, events.c.kind == _NOTED).limit(1)
    return (await connection.execute(found)).first() is not None
