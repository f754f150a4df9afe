"""Feeds of runs that are there for as long as somebody follows them, one for each run."""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Generic, Protocol, TypeVar

from pitstop.doors.http.answers import LOGGER


class RunFeed(Protocol):
    """Something of one run that `clients` follow. `carry_on` is its task; `close` lets everybody go."""

    clients: int

    async def carry_on(self) -> None: ...

    def close(self) -> None: ...


FeedT = TypeVar("FeedT", bound=RunFeed)


class Followed(Generic[FeedT]):
    """The feed of each run that somebody follows, or is about to. `tasks` is the parent of what they do."""

    def __init__(self, tasks: asyncio.TaskGroup) -> None:
        self._tasks = tasks
        self._feeds: dict[str, tuple[FeedT, asyncio.Task[None]]] = {}
        self._is_closed = False

    @contextmanager
    def following(self, run: str, make: Callable[[], FeedT]) -> Iterator[FeedT]:
        """The feed of the run, for as long as the context lasts."""
        feed = self.take(run, make)
        try:
            yield feed
        finally:
            self.leave(run)

    def take(self, run: str, make: Callable[[], FeedT]) -> FeedT:
        """The feed of the run, until `leave`."""
        if run not in self._feeds:
            feed = make()
            self._feeds[run] = (feed, self._tasks.create_task(_carry_on(feed, run), name=f"feed of {run}"))
        feed, _ = self._feeds[run]
        feed.clients += 1
        if self._is_closed:
            feed.close()
        return feed

    def leave(self, run: str) -> None:
        """The last one to leave ends it."""
        feed, task = self._feeds[run]
        feed.clients -= 1
        if not feed.clients:
            del self._feeds[run]
            task.cancel()

    def close(self) -> None:
        """Let everybody go, also who comes yet."""
        self._is_closed = True
        for feed, _ in self._feeds.values():
            feed.close()

    def end(self) -> None:
        for _, task in self._feeds.values():
            task.cancel()


async def _carry_on(feed: RunFeed, run: str) -> None:
    try:
        await feed.carry_on()
    except Exception:
        LOGGER.exception("cannot follow run %s any longer", run)
