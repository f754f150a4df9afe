"""The one writer of a store: it takes all that has come, of all runs, and writes it in one transaction."""

import asyncio
from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import partial

from sqlalchemy import Connection
from sqlalchemy.exc import DBAPIError
from sqlalchemy.exc import TimeoutError as AllInUse
from sqlalchemy.ext.asyncio import AsyncConnection

from pitstop.errors import StoreUnavailable
from pitstop.store.sql.batch import BatchWriter, OnStatus
from pitstop.store.sql.changes import AddedRow, Changes, Taken
from pitstop.store.sql.database import DRIVER_ERRORS, Database, reason_of, telling_problems
from pitstop.store.sql.event_codec import without_large_values
from pitstop.store.sql.news import News

FIRST_DELAY_SECONDS = 0.02
LONGEST_DELAY_SECONDS = 2.0
CHECKPOINT_SECONDS = 1.0
ADDED_SECONDS = 0.005  # how long an added row waits for a commit to join: its own would delay what it belongs to
_CLOSED = "it is closed"

WriteBatch = Callable[[Connection], list[Taken]]


class Writer:
    """Group commit. Whoever waits is told after the commit, never before.

    What the database cannot do now (locked, restarting, full, read-only) is tried again for as long as it takes, and
    `problem` of each run tells why. What it will never take of one run is that run's problem alone.
    """

    def __init__(self, database: Database, news: News, on_status: OnStatus | None = None) -> None:
        self._database = database
        self._news = news
        self._changed: list[Changes] = []
        self._added: list[AddedRow] = []
        self._wake = asyncio.Event()
        self._is_idle = asyncio.Event()
        self._is_idle.set()
        self._is_closed = False
        self._has_committed = asyncio.Event()
        self._batches = BatchWriter(database, on_status)
        self._postgres = None if database.is_sqlite else _PostgresWriter(database)

    def wake(self, changes: Changes) -> None:
        """There is something to write of this run; told once until it is taken."""
        if self._is_closed:
            changes.refuse(StoreUnavailable(_CLOSED))
            return
        self._changed.append(changes)
        self._wake.set()
        self._is_idle.clear()

    async def add(self, added: AddedRow) -> None:
        """Store a row with the next commit, most often that of the action that it is about."""
        if self._is_closed:
            raise StoreUnavailable(_CLOSED)
        self._added.append(added)
        self._is_idle.clear()
        asyncio.get_running_loop().call_later(ADDED_SECONDS, self._wake.set)
        await added.stored

    async def wait_idle(self) -> None:
        await self._is_idle.wait()

    async def write_for_ever(self) -> None:
        changed: list[Changes] = []
        added: list[AddedRow] = []
        try:
            while True:
                if not self._changed and not self._added:
                    self._is_idle.set()
                await self._wake.wait()
                self._wake.clear()
                await asyncio.sleep(0)  # whoever was set going by the same thing has its say: one commit for both
                changed, self._changed = self._changed, []
                added, self._added = self._added, []
                if changed or added:  # else the row was written before its time
                    await self._write_until_kept([changes.take() for changes in changed], added)
                changed, added = [], []
        finally:
            self._is_closed = True
            for changes in (*changed, *self._changed):
                changes.refuse(StoreUnavailable(_CLOSED))
            for each in (*added, *self._added):
                each.refuse(StoreUnavailable(_CLOSED))
            if self._postgres is not None:
                await self._postgres.close()

    async def carry_over_log(self) -> None:
        """Carry SQLite's log over into the database beside the commits, so that none of them waits for the disk.

        A commit does it by itself only when this does not keep up.
        """
        while True:
            await self._has_committed.wait()
            await asyncio.sleep(CHECKPOINT_SECONDS)
            self._has_committed.clear()
            with suppress(StoreUnavailable):  # the disk is full, perhaps: tried again after the next commit
                await self._database.ask(_carry_over_log)

    async def write_first(self, taken: Taken, status: str, make: Callable[[Connection], None]) -> None:
        """Write what a run begins with, in the transaction that makes it."""

        def work(connection: Connection) -> None:
            make(connection)
            self._batches.write_rows(connection, [taken])
            self._batches.tell_statuses(connection, {taken.changes.run: status})

        await _move_large_values([taken])
        with telling_problems():
            await self._database.transact(work)

    async def _write_until_kept(self, batch: list[Taken], added: list[AddedRow], is_doubtful: bool = False) -> None:
        delay = FIRST_DELAY_SECONDS
        lost: list[Taken] | None = None
        while lost is None:
            try:
                await _move_large_values(batch)
                write = partial(self._batches.write, batch=batch, added=added, is_doubtful=is_doubtful)
                if self._postgres is None:
                    lost = await self._database.transact(write)
                else:
                    lost = await self._postgres.transact(write)
                self._has_committed.set()
            except Exception as error:  # noqa: BLE001 - whatever it is, those who wait are told
                if not may_pass(error):
                    await self._write_one_by_one(batch, added, is_doubtful, error)
                    return
                is_doubtful = True  # it may have been kept, and the answer lost
                for taken in batch:
                    taken.changes.problem = f"cannot store events: {reason_of(error)}"
                await asyncio.sleep(delay)
                delay = min(2 * delay, LONGEST_DELAY_SECONDS)
        for taken in batch:
            if taken in lost:
                taken.changes.lose()
            else:
                taken.changes.keep(taken)
            self._news.tell(taken.changes.run)
        for each in added:
            each.confirm()

    async def _write_one_by_one(
        self, batch: list[Taken], added: list[AddedRow], is_doubtful: bool, error: Exception
    ) -> None:
        """Something of one run cannot be written: it is not to harm the others."""
        if len(batch) + len(added) == 1:
            for taken in batch:
                taken.changes.refuse(StoreUnavailable(f"run {taken.changes.run!r}: {reason_of(error)}"))
            for each in added:
                each.refuse(StoreUnavailable(reason_of(error)))
            return
        for taken in batch:
            await self._write_until_kept([taken], [], is_doubtful)
        for each in added:
            await self._write_until_kept([], [each], is_doubtful)


class _PostgresWriter:
    """A connection to PostgreSQL that is kept until there is an error."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._connection: AsyncConnection | None = None

    async def transact(self, write_batch: WriteBatch) -> list[Taken]:
        if self._connection is None:
            self._connection = await self._database.engine.connect()
        try:
            async with self._connection.begin():
                return await self._connection.run_sync(write_batch)
        except Exception:
            await self.close()
            raise

    async def close(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            with suppress(*DRIVER_ERRORS):  # it was of no use any more
                await connection.invalidate()
                await connection.close()


def _carry_over_log(connection: Connection) -> None:
    connection.exec_driver_sql("PRAGMA wal_checkpoint(PASSIVE)").close()


async def _move_large_values(batch: Iterable[Taken]) -> None:
    for taken in batch:
        for place in taken.large:
            run, number, kind, at, body = taken.events[place]
            body, found = await asyncio.to_thread(without_large_values, body)
            taken.events[place] = (run, number, kind, at, body)
            taken.blobs |= found
        taken.large = []


def may_pass(error: BaseException) -> bool:
    """Whether what was refused now may be taken later: nothing is wrong with it."""
    if isinstance(error, StoreUnavailable | OSError | AllInUse):
        return True
    if not isinstance(error, DRIVER_ERRORS):
        return False
    said = error.orig if isinstance(error, DBAPIError) else error
    if isinstance(error, DBAPIError) and error.connection_invalidated:
        return True
    state = getattr(said, "sqlstate", None)
    if state is not None:
        return str(state)[:2] in _PASSING_CLASSES
    return any(each in str(said).lower() for each in _PASSING_TEXTS)


# Of PostgreSQL: connection, read-only, serialization, resources, not in this state, operator, system, internal
_PASSING_CLASSES = ("08", "25", "40", "53", "55", "57", "58", "XX")
_PASSING_TEXTS = ("locked", "busy", "full", "readonly", "disk i/o", "unable to open", "closed", "no active connection")
