import asyncio
from collections.abc import AsyncIterator
from types import SimpleNamespace
from typing import Any

from pitstop.doors.http.feeds import Feeds
from pitstop.service.api import EventInfo
from tests.doors.http.bench import PATIENCE_SECONDS


class SlowlyReadRun:
    """A run whose log can be read only from `readable` on, whatever it has by then."""

    id = "slow"

    def __init__(self, last: int) -> None:
        self.last = last
        self.readable = asyncio.Event()

    async def info(self) -> Any:
        return SimpleNamespace(last_event=self.last)

    async def events(self, after: int = 0) -> AsyncIterator[EventInfo]:
        await self.readable.wait()
        for number in range(after + 1, self.last + 1):
            yield EventInfo(number, "step.started", 1.0, {})


async def test_who_is_further_than_the_feed_is_told_nothing_twice() -> None:
    run: Any = SlowlyReadRun(last=2)
    async with asyncio.timeout(PATIENCE_SECONDS), asyncio.TaskGroup() as tasks:
        feeds = Feeds(tasks, heartbeat_seconds=PATIENCE_SECONDS)
        async with feeds.feed(run):
            run.last = 5
            async with feeds.feed(run) as feed:
                run.last = 7
                run.readable.set()
                told = [event.number async for block in feed.follow(5) if block is not None for event in block.events]
    assert told == [6, 7]
