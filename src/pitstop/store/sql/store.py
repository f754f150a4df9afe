"""Runs in a database: the store of a server."""

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from msgspec.structs import replace
from sqlalchemy import ColumnElement, Connection, Double, Table, bindparam, func, insert, select
from sqlalchemy.exc import IntegrityError

from pitstop.errors import RunExists, StoreUnavailable, UnknownRun
from pitstop.events.types import AnyEvent
from pitstop.store.port import ENDED, Claim, RunFilter, RunRecord
from pitstop.store.sql.backup import restore_backup
from pitstop.store.sql.batch import OnStatus
from pitstop.store.sql.changes import AddedRow, Changes
from pitstop.store.sql.database import Database
from pitstop.store.sql.event_rows import last_number, read_log, read_logs
from pitstop.store.sql.log import SqlLog
from pitstop.store.sql.news import News
from pitstop.store.sql.ownership import Ownership
from pitstop.store.sql.records import RECORD, matching, to_record, to_row
from pitstop.store.sql.retention import Retention
from pitstop.store.sql.revision import bring_to
from pitstop.store.sql.run import SqlRun
from pitstop.store.sql.schema import flow_settings, runs
from pitstop.store.sql.writer import Writer

CLOSE_SECONDS = 10.0  # how long what is on its way may take when the store is closed


class SqlStore(Ownership, Retention):
    """A RunStore, and what several servers need beside it. `open_sql_store` makes one."""

    def __init__(self, database: Database, on_status: OnStatus | None = None) -> None:
        self.database = database
        self.news = News(database)
        self._writer = Writer(database, self.news, on_status)
        # Made once, for making it takes longer than the database does
        self._new_run = insert(runs).values(lease_until=database.now + bindparam("lease_seconds", type_=Double))
        loop = asyncio.get_running_loop()
        self._tasks = [  # their parent is the store: `close` ends them and waits
            loop.create_task(self._writer.write_for_ever(), name="writer"),
            loop.create_task(self.news.look(), name="look for news"),
        ]
        if database.is_sqlite:
            self._tasks.append(loop.create_task(self._writer.carry_over_log(), name="checkpoints"))

    async def create(
        self, record: RunRecord, events: Sequence[AnyEvent] = (), *, owner: str | None = None, lease_seconds: float = 0
    ) -> SqlRun:
        epoch = 0 if owner is None else 1
        record = replace(record, carried_over=len(events))
        row = to_row(record) | {
            "owner": owner,
            "epoch": epoch,
            "lease_seconds": None if owner is None else lease_seconds,
        }
        changes = Changes(record.id, epoch, 0, self._writer.wake)
        taken = changes.begin_with(events)
        await self._writer.write_first(taken, record.status, lambda connection: self._insert(connection, row))
        changes.keep(taken)
        return self._opened(changes, record, list(events))

    async def open(self, run: str, *, events: bool = True) -> SqlRun:
        async with self.database.read() as connection:
            row = (await connection.execute(select(*RECORD).where(runs.c.id == run))).one_or_none()
            if row is None:
                raise UnknownRun(run)
            read = await read_log(connection, run) if events else None
            length = await last_number(connection, run) if read is None else len(read)
        changes = Changes(run, None, length, self._writer.wake, is_new=False)
        return self._opened(changes, to_record(row), read)

    async def open_claimed(self, claims: Sequence[Claim]) -> list[SqlRun]:
        async with self.database.read() as connection:
            read = await read_logs(connection, [claim.record.id for claim in claims])
        opened: list[SqlRun] = []
        for claim in claims:
            events = read[claim.record.id]
            changes = Changes(claim.record.id, claim.epoch, len(events), self._writer.wake, is_new=False)
            opened.append(self._opened(changes, claim.record, events))
        return opened

    async def find(self, filter: RunFilter) -> tuple[RunRecord, ...]:
        return tuple(to_record(row) for row in await self.database.rows(matching(filter)))

    async def add_row(self, table: Table, row: Mapping[str, Any], *, same: Sequence[str]) -> None:
        """Insert a row of another room with the next changes of runs. A row with the `same` values is this one."""
        await self._writer.add(AddedRow(table, row, same))

    async def read_flow_setting(self, flow: str, name: str) -> Any:
        is_it = (flow_settings.c.flow == flow, flow_settings.c.name == name)
        rows = await self.database.rows(select(flow_settings.c.value).where(*is_it))
        return rows[0].value if rows else None

    async def write_flow_setting(self, flow: str, name: str, value: Any) -> None:
        await self.database.put(flow_settings, {"flow": flow, "name": name, "value": value})

    async def count_runs(self) -> dict[str, int]:
        """How many runs there are, by status."""
        counted = select(runs.c.status, func.count()).group_by(runs.c.status)
        return {row[0]: row[1] for row in await self.database.rows(counted)}

    async def close(self) -> None:
        """Keep what is on its way. StoreUnavailable when the database does not take it."""
        try:
            async with asyncio.timeout(CLOSE_SECONDS):
                await self._writer.wait_idle()
        except TimeoutError as error:
            raise StoreUnavailable("it was closed before everything was stored") from error
        finally:
            for task in self._tasks:
                task.cancel()
            for task in self._tasks:
                with suppress(asyncio.CancelledError):
                    await task
            await self.database.close()

    def _insert(self, connection: Connection, row: dict[str, Any]) -> None:
        try:
            connection.execute(self._new_run, row)
        except IntegrityError as error:
            raise RunExists(row["id"]) from error

    def _opened(self, changes: Changes, record: RunRecord, events: list[AnyEvent] | None) -> SqlRun:
        changes.has_ended = record.status in ENDED
        log = SqlLog(self.database, self.news, changes, record.carried_over, events)
        return SqlRun(self.database, self.news, changes, log)


async def open_sql_store(
    url: str, now: ColumnElement[float] | None = None, on_status: OnStatus | None = None
) -> SqlStore:
    """The store at this URL, its tables brought up to date: `sqlite:///PATH`, or `postgresql://USER@HOST/NAME`.

    BadStore when it is of a later version of Pitstop, or has other tables; StoreUnavailable when it does not answer.
    """
    database = Database(url, now)
    try:
        await bring_to(database)
    except BaseException:
        await database.close()
        raise
    return SqlStore(database, on_status)


async def restore_sql_store(url: str, backup: Path) -> None:
    """Fill an empty database with a backup."""
    database = Database(url)
    try:
        await restore_backup(database, backup)
    finally:
        await database.close()
