"""Forgetting runs, and giving the room back."""

from collections.abc import Sequence
from typing import Any

from msgspec import Struct
from sqlalchemy import Table, delete, func, or_, select, text

from pitstop.errors import UnknownRun
from pitstop.store.port import ENDED
from pitstop.store.sql.blobs import forget_blobs_of
from pitstop.store.sql.columns import to_column
from pitstop.store.sql.database import Database
from pitstop.store.sql.news import News
from pitstop.store.sql.schema import blob_uses, deleted_runs, runs, stored_tables

_SHRINK = "PRAGMA incremental_vacuum; PRAGMA wal_checkpoint(TRUNCATE); PRAGMA optimize;"
_ROWS_AT_ONCE = 10_000  # no transaction is long: others want to write


class Collected(Struct, frozen=True):
    """What was forgotten: the runs, and how many bytes the database has given back."""

    runs: tuple[str, ...]
    freed_bytes: int


class Retention:
    """The part of a store that forgets."""

    database: Database
    news: News
    _run_tables: Sequence[Table] = ()

    async def delete(self, run: str) -> None:
        if not await self._hide(run):
            raise UnknownRun(run)
        await self._remove(run)

    async def gc(self, older_than_seconds: float, keep_last: int = 0) -> Collected:
        """Delete the runs that ended that long ago, but the `keep_last` newest of all, and give the room back.

        Pinned ones stay, and those that are to be kept for longer. Blobs go with the last run that refers to them.
        """
        for hidden in await self.database.rows(select(deleted_runs.c.run)):
            await self._remove(hidden.run)
        forgotten = []
        for run in await self._expired(older_than_seconds, keep_last):
            if await self._hide(run, only_ended=True):
                await self._remove(run)
                forgotten.append(run)
        before = await self._size()
        await self._vacuum()
        return Collected(tuple(forgotten), max(0, before - await self._size()))

    async def _expired(self, older_than_seconds: float, keep_last: int) -> list[str]:
        ended = runs.c.status.in_(ENDED)
        newest = select(runs.c.id).where(ended).order_by(runs.c.created_at.desc(), runs.c.id.desc()).limit(keep_last)
        now = await self.database.read_clock()
        is_old = func.coalesce(runs.c.ended_at, runs.c.created_at) <= now - older_than_seconds
        may_go = or_(runs.c.kept_until.is_(None), runs.c.kept_until <= now)
        wanted = select(runs.c.id).where(ended, is_old, may_go, runs.c.is_pinned.is_(False), runs.c.id.not_in(newest))
        return [row.id for row in await self.database.rows(wanted.order_by(runs.c.created_at))]

    async def _hide(self, run: str, *, only_ended: bool = False) -> bool:
        """Take the run out of the list; what is left of it goes by and by, also after a crash."""
        statement = delete(runs).where(runs.c.id == run)
        if only_ended:
            statement = statement.where(runs.c.status.in_(ENDED), runs.c.is_pinned.is_(False))
        async with self.database.write() as connection:
            if not (await connection.execute(statement)).rowcount:
                return False
            await connection.execute(self.database.insert(deleted_runs).values(run=run).on_conflict_do_nothing())
        self.news.tell(run)
        return True

    async def _remove(self, run: str) -> None:
        for table in await self._tables_of_runs():
            while await self._remove_some(table, run):
                pass
        async with self.database.write() as connection:
            await forget_blobs_of(self.database, connection, run)
            await connection.execute(delete(deleted_runs).where(deleted_runs.c.run == run))

    async def _tables_of_runs(self) -> Sequence[Table]:
        """Those with `run` in their primary key, of any room: their rows are deleted with the run."""
        if not self._run_tables:
            tables = await self.database.ask(stored_tables)
            of_runs = [each for each in reversed(tables) if "run" in each.primary_key.columns]
            self._run_tables = [each for each in of_runs if each.name not in (blob_uses.name, deleted_runs.name)]
        return self._run_tables

    async def _remove_some(self, table: Table, run: str) -> bool:
        """Delete some rows of the run; whether there may be more."""
        is_of_run = table.c.run == to_column(run)
        number = table.primary_key.columns.get("number")
        async with self.database.write() as connection:
            if number is None:
                await connection.execute(delete(table).where(is_of_run))
                return False
            first = (await connection.execute(select(func.min(number)).where(is_of_run))).scalar_one()
            if first is None:
                return False
            some = delete(table).where(is_of_run, number < first + _ROWS_AT_ONCE)
            return (await connection.execute(some)).rowcount >= _ROWS_AT_ONCE

    async def _vacuum(self) -> None:
        async with self.database.outside_transactions() as connection:
            if self.database.is_sqlite:
                driver: Any = (await connection.get_raw_connection()).driver_connection
                await driver.executescript(_SHRINK)  # which runs each to its end: one execution frees one page
            else:
                await connection.execute(text("VACUUM (ANALYZE)"))

    async def _size(self) -> int:
        of_sqlite = "SELECT page_count * page_size FROM pragma_page_count(), pragma_page_size()"
        size = text(of_sqlite if self.database.is_sqlite else "SELECT pg_database_size(current_database())")
        return await self.database.ask(lambda connection: int(connection.execute(size).scalar_one()))
