"""The log of a run in the database: written here, or only read."""

import asyncio
from collections.abc import AsyncIterator, Sequence

from sqlalchemy import select

from pitstop.errors import StoreUnavailable, UnknownRun
from pitstop.events.types import AnyEvent, RunEnded
from pitstop.store.port import ENDED
from pitstop.store.sql.changes import Changes
from pitstop.store.sql.database import Database
from pitstop.store.sql.event_rows import PAGE, last_number, read_page
from pitstop.store.sql.news import POLL_SECONDS, News
from pitstop.store.sql.schema import runs


class SqlLog:
    """A RunLog. One that is written here is all in memory as well, for the engine reads it without waiting.

    Of another, `read` and `len` know what was there at the last `refresh`.
    """

    def __init__(
        self, database: Database, news: News, changes: Changes, carried_over: int, events: list[AnyEvent] | None
    ) -> None:
        self.carried_over = carried_over
        self._database = database
        self._news = news
        self._changes = changes
        self._run = changes.run
        self._is_written = changes.epoch is not None
        self.is_closed = False
        self._is_in_memory = events is not None
        self._events = events or []
        self._length = changes.last_event  # when they are not in memory

    def append(self, event: AnyEvent) -> None:
        if not self._is_written:
            raise RuntimeError(f"run {self._run!r} was opened read-only: claim it first")
        self._changes.append_event(event)
        self._events.append(event)

    def read(self, after: int = 0) -> Sequence[AnyEvent]:
        if not self._is_in_memory:
            raise RuntimeError(f"run {self._run!r} was opened without its events: ask for a page, or follow it")
        return self._events[after:]

    def __len__(self) -> int:
        return len(self._events) if self._is_in_memory else self._length

    async def settled(self) -> None:
        if self._is_written:
            await self._changes.settled()

    async def refresh(self) -> None:
        """Take what another server has added since."""
        if self._is_written:
            return
        async with self._database.read() as connection:
            if not self._is_in_memory:
                self._length = await last_number(connection, self._run)
                return
            while page := await read_page(connection, self._run, len(self._events)):
                self._events += [event for number, event in page if number > len(self._events)]

    async def page(self, after: int = 0, limit: int = PAGE) -> list[tuple[int, AnyEvent]]:
        if self._is_here():
            return list(enumerate(self._events[after : min(after + limit, self._changes.kept_events)], after + 1))
        async with self._database.read() as connection:
            return await read_page(connection, self._run, after, limit)

    async def follow(self, after: int = 0) -> AsyncIterator[tuple[int, AnyEvent]]:
        with self._news.awaited(self._run, is_written_here=True) as news:
            while self._is_here():
                news.clear()
                has_ended = self._changes.has_ended
                while after < self._changes.kept_events:
                    event = self._events[after]
                    after += 1
                    yield after, event
                    if self._is_end(after, event):
                        return
                if has_ended:
                    return
                await news.wait()
        with self._news.awaited(self._run) as news:
            while True:
                news.clear()
                try:
                    has_ended = await self._has_ended()  # asked first: nothing comes after the end
                    page = await self.page(after)
                except StoreUnavailable:  # a database that is restarted is no end
                    await asyncio.sleep(POLL_SECONDS)
                    continue
                except UnknownRun:
                    return
                for number, event in page:
                    after = number
                    yield number, event
                    if self._is_end(number, event):
                        return
                if not page:
                    if has_ended:
                        return
                    await news.wait()

    def _is_here(self) -> bool:
        """Whether the run goes on here; else it goes on elsewhere, if at all."""
        return self._is_written and not (self.is_closed or self._changes.is_lost)

    def _is_end(self, number: int, event: AnyEvent) -> bool:
        return isinstance(event, RunEnded) and number > self.carried_over

    async def _has_ended(self) -> bool:
        """Whether nothing is to come: it was deleted, perhaps."""
        rows = await self._database.rows(select(runs.c.status).where(runs.c.id == self._run))
        return not rows or rows[0].status in ENDED
