"""Forgetting runs, and giving the room back."""

from dataclasses import dataclass
from typing import Any

from sqlalchemy import Table, delete, func, or_, select, text

from pitstop.errors import UnknownRun
from pitstop.store.port import ENDED
from pitstop.store.sql.blobs import forget_blobs_of
from pitstop.store.sql.database import Database
from pitstop.store.sql.news import News
from pitstop.store.sql.schema import artifacts, consumers, deleted_runs, events, idempotency, output, runs

ANSWERS_KEPT_SECONDS = 86_400.0  # whoever asks again does so sooner
_SHRINK = "PRAGMA incremental_vacuum; PRAGMA wal_checkpoint(TRUNCATE); PRAGMA optimize;"
_ROWS_AT_ONCE = 10_000  # no transaction is long: others want to write


@dataclass(frozen=True, slots=True)
class Collected:
    """What was forgotten: the runs, and how many bytes the database has given back."""

    runs: tuple[str, ...]
    freed_bytes: int


class Retention:
    """The part of a store that forgets."""

    database: Database
    news: News

    async def delete(self, run: str) -> None:
        """Forget the run and all that is kept of it. UnknownRun."""
        if not await self._hide(run):
            raise UnknownRun(run)
        await self._remove(run)

    async def gc(self, older_than_seconds: float, keep_last: int = 0) -> Collected:
        """Delete the runs that ended that long ago, but the `keep_last` newest of all, and give the room back.

        Pinned ones stay, and those that are to be kept for longer. Blobs go with the last run that refers to them. What
        was answered goes after a day.
        """
        async with self.database.write() as connection:
            old = idempotency.c.created_at < self.database.now - ANSWERS_KEPT_SECONDS
            await connection.execute(delete(idempotency).where(old))
        for run in await self._hidden():
            await self._remove(run)
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
        async with self.database.read() as connection:
            return list((await connection.execute(wanted.order_by(runs.c.created_at))).scalars())

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

    async def _hidden(self) -> list[str]:
        async with self.database.read() as connection:
            return list((await connection.execute(select(deleted_runs.c.run))).scalars())

    async def _remove(self, run: str) -> None:
        for table, place in ((events, events.c.number), (output, None), (artifacts, None), (consumers, None)):
            is_more = True
            while is_more:
                is_more = await self._remove_some(table, place, run)
        async with self.database.write() as connection:
            await forget_blobs_of(self.database, connection, run)
            await connection.execute(delete(deleted_runs).where(deleted_runs.c.run == run))

    async def _remove_some(self, table: Table, place: Any, run: str) -> bool:
        """Delete some rows of the run; whether there were as many as are deleted at once."""
        wanted = delete(table).where(table.c.run == run)
        async with self.database.write() as connection:
            if place is not None:
                first = (await connection.execute(select(func.min(place)).where(table.c.run == run))).scalar_one()
                if first is None:
                    return False
                wanted = wanted.where(place < first + _ROWS_AT_ONCE)
            return (await connection.execute(wanted)).rowcount >= _ROWS_AT_ONCE and place is not None

    async def _vacuum(self) -> None:
        async with self.database.outside_transactions() as connection:
            if self.database.is_sqlite:
                driver: Any = (await connection.get_raw_connection()).driver_connection
                await driver.executescript(_SHRINK)  # which runs each to its end: one execution frees one page
            else:
                await connection.execute(text("VACUUM (ANALYZE)"))

    async def _size(self) -> int:
        async with self.database.read() as connection:
            if not self.database.is_sqlite:
                return int((await connection.execute(text("SELECT pg_database_size(current_database())"))).scalar_one())
            pages = (await connection.execute(text("PRAGMA page_count"))).scalar_one()
            return int(pages * (await connection.execute(text("PRAGMA page_size"))).scalar_one())
