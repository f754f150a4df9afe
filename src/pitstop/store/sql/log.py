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


class ReadLog:
    """A log that this process does not write: `read` and `len` know what was there at the last `refresh`."""

    def __init__(
        self, database: Database, news: News, run: str, carried_over: int, events: list[AnyEvent] | None, length: int
    ) -> None:
        self._database = database
        self._news = news
        self._run = run
        self._carried_over = carried_over
        self._events = events
        self._length = length

    @property
    def carried_over(self) -> int:
        return self._carried_over

    def append(self, event: AnyEvent) -> None:
        raise RuntimeError(f"run {self._run!r} was opened read-only: claim it, and open it with its epoch")

    def read(self, after: int = 0) -> Sequence[AnyEvent]:
        if self._events is None:
            raise RuntimeError(f"run {self._run!r} was opened without its events: ask for a page, or follow it")
        return self._events[after:]

    def __len__(self) -> int:
        return self._length

    async def settled(self) -> None:
        """Nothing is on its way."""

    async def refresh(self) -> None:
        """Take what was kept since."""
        async with self._database.read() as connection:
            if self._events is None:
                self._length = await last_number(connection, self._run)
                return
            while page := await read_page(connection, self._run, self._length):
                self._events += [event for number, event in page if number > len(self._events)]
                self._length = len(self._events)

    async def page(self, after: int = 0, limit: int = PAGE) -> list[tuple[int, AnyEvent]]:
        """Events above `after` with their numbers, as they are kept by now."""
        async with self._database.read() as connection:
            return await read_page(connection, self._run, after, limit)

    async def follow(self, after: int = 0) -> AsyncIterator[tuple[int, AnyEvent]]:
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
                    if isinstance(event, RunEnded) and number > self._carried_over:
                        return
                if not page:
                    if has_ended:
                        return
                    await news.wait()

    async def _has_ended(self) -> bool:
        """Whether nothing is to come: it was deleted, perhaps."""
        async with self._database.read() as connection:
            status = (
                await connection.execute(select(runs.c.status).where(runs.c.id == self._run))
            ).scalar_one_or_none()
        return status is None or status in ENDED


class WrittenLog(ReadLog):
    """The log of a run that goes on here. All of it is in memory as well, for the engine reads it without waiting."""

    def __init__(
        self, database: Database, news: News, changes: Changes, carried_over: int, events: list[AnyEvent]
    ) -> None:
        super().__init__(database, news, changes.run, carried_over, events, len(events))
        self._changes = changes
        self._all = events
        self.is_closed = False

    def append(self, event: AnyEvent) -> None:
        self._changes.append_event(event)
        self._all.append(event)

    def read(self, after: int = 0) -> Sequence[AnyEvent]:
        return self._all[after:]

    def __len__(self) -> int:
        return len(self._all)

    async def settled(self) -> None:
        await self._changes.settled()

    async def refresh(self) -> None:
        """Nobody else writes it."""

    async def page(self, after: int = 0, limit: int = PAGE) -> list[tuple[int, AnyEvent]]:
        if self.is_closed or self._changes.is_lost:  # it goes on elsewhere, if at all
            return await super().page(after, limit)
        return list(enumerate(self._all[after : min(after + limit, self._changes.kept_events)], after + 1))

    async def follow(self, after: int = 0) -> AsyncIterator[tuple[int, AnyEvent]]:
        with self._news.awaited(self._run, is_written_here=True) as news:
            while not (self.is_closed or self._changes.is_lost):
                news.clear()
                has_ended = self._changes.has_ended
                while after < self._changes.kept_events:
                    after += 1
                    event = self._all[after - 1]
                    yield after, event
                    if isinstance(event, RunEnded) and after > self._carried_over:
                        return
                if has_ended:
                    return
                await news.wait()
        async for number, event in super().follow(after):  # it goes on elsewhere, if at all
            yield number, event
