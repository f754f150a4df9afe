"""Consumers of the logs: each acts on every event exactly once, whatever crashes in between."""

import asyncio
import logging
from collections.abc import Collection, Iterable, Sequence
from typing import Protocol

from sqlalchemy import ColumnElement, exists, func, or_, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from pitstop.errors import PitstopError, StoreProblem
from pitstop.events.types import AnyEvent
from pitstop.store.port import ENDED
from pitstop.store.sql.database import Database
from pitstop.store.sql.event_rows import PAGE, read_page
from pitstop.store.sql.news import Changed, News
from pitstop.store.sql.schema import consumers, events, runs

SCAN_SECONDS = 10.0  # how often to look for events that other servers have written
RECENT_SECONDS = 600.0  # a run that ended longer ago was read by an earlier scan

log = logging.getLogger(__name__)


class Consumer(Protocol):
    """Acts on the events of all runs. Its name is stored with its positions, and so never changes.

    With `waits_for_end`, it gets the events of a run when the run has ended.
    """

    name: str
    waits_for_end: bool

    async def consume(self, connection: AsyncConnection, run: str, events: Sequence[tuple[int, AnyEvent]]) -> None:
        """Act on the next events of a run, each with its number.

        What is written with the connection is stored together with the position, or not at all. A PitstopError
        leaves the position where it was: the same events come again.
        """
        ...


class Consumers:
    """Feeds consumers with what they have not read yet. Several servers may do so at once."""

    def __init__(self, database: Database, news: News, consumers: Iterable[Consumer]) -> None:
        self._database = database
        self._news = news
        self._consumers = tuple(consumers)
        self._changed: Changed | None = None
        self._is_stopping = False

    async def follow(self) -> None:
        """Catch up, then feed each event as it is stored; never returns. A store that is unavailable is waited for.

        Cancelling it waits for the transaction that is under way: on SQLite, one that is left keeps its lock.
        """
        async with asyncio.TaskGroup() as group:
            feeding = group.create_task(self._follow())
            try:
                await asyncio.shield(feeding)
            finally:
                self._stop()
                await asyncio.wait([feeding])

    async def _follow(self) -> None:
        clock = asyncio.get_running_loop().time
        behind: set[str] = set()
        is_first, next_scan = True, clock()
        with self._news.of_all() as changed:
            self._changed = changed
            while not self._is_stopping:
                written = changed.take()
                try:
                    if clock() >= next_scan:
                        next_scan = clock() + SCAN_SECONDS
                        written |= behind | await self._unread(recent_only=not is_first)
                        is_first, behind = False, set()
                    behind |= await self._feed_all(written)
                except StoreProblem as error:
                    log.warning("cannot feed the consumers of the logs now: %s", error)
                    behind |= written
                await changed.wait(max(0.0, next_scan - clock()))

    def _stop(self) -> None:
        """Let `_follow` return when what it does now is stored."""
        self._is_stopping = True
        if self._changed is not None:
            self._changed.wake()

    async def catch_up(self) -> set[str]:
        """Feed everything that is unread now; the runs that a consumer could not take."""
        return await self._feed_all(await self._unread())

    async def _feed_all(self, names: Collection[str]) -> set[str]:
        failed: set[str] = set()
        ended = await self._ended(names)
        for run in names:
            for consumer in self._consumers:
                if self._is_stopping:
                    return failed
                if consumer.waits_for_end and run not in ended:
                    continue
                try:
                    while await self._feed(consumer, run):
                        pass
                except PitstopError as error:
                    log.warning("consumer %s cannot take the events of run %s now: %s", consumer.name, run, error)
                    failed.add(run)
        return failed

    async def _ended(self, names: Collection[str]) -> set[str]:
        """Those of the runs that have ended."""
        if not names or not any(consumer.waits_for_end for consumer in self._consumers):
            return set()
        found = select(runs.c.id).where(runs.c.id.in_(names), runs.c.status.in_(ENDED))
        return {row.id for row in await self._database.rows(found)}

    async def _feed(self, consumer: Consumer, run: str) -> bool:
        """Feed the next page of a run's events; False when there was none."""
        async with self._database.write() as connection:
            position = await self._lock_position(connection, consumer.name, run)
            if position is None:
                return False
            page = await read_page(connection, run, position, PAGE)
            if not page:
                return False
            await consumer.consume(connection, run, page)
            row = (consumers.c.name == consumer.name, consumers.c.run == run)
            await connection.execute(update(consumers).where(*row).values(number=page[-1][0]))
        return True

    async def _lock_position(self, connection: AsyncConnection, name: str, run: str) -> int | None:
        """The last event that was read, held against other servers; None when the run is deleted.

        A run that began with the events of another begins after those.
        """
        found = (await connection.execute(select(runs.c.carried_over).where(runs.c.id == run))).scalar_one_or_none()
        if found is None:
            return None
        first = self._database.insert(consumers).values(name=name, run=run, number=found)
        await connection.execute(first.on_conflict_do_nothing(index_elements=["name", "run"]))
        row = select(consumers.c.number).where(consumers.c.name == name, consumers.c.run == run)
        return int((await connection.execute(self._database.locked(row))).scalar_one())

    async def _unread(self, *, recent_only: bool = False) -> set[str]:
        """The runs with events that some consumer has not read."""
        wanted = select(runs.c.id).where(or_(*(_is_behind(consumer.name) for consumer in self._consumers)))
        if recent_only:
            is_recent = runs.c.ended_at > self._database.now - RECENT_SECONDS
            wanted = wanted.where(or_(runs.c.status.not_in(ENDED), is_recent))
        return {row.id for row in await self._database.rows(wanted)}


def _is_behind(name: str) -> ColumnElement[bool]:
    position = select(consumers.c.number).where(consumers.c.name == name, consumers.c.run == runs.c.id)
    read = func.coalesce(position.correlate(runs).scalar_subquery(), runs.c.carried_over)
    return exists().where(events.c.run == runs.c.id, events.c.number > read).correlate(runs)
