import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import aclosing
from types import SimpleNamespace
from typing import Any

from pitstop.doors.http.streams.events import EventFeed
from pitstop.doors.http.streams.feeds import Feeds
from pitstop.service.runs import EventInfo, WorkspaceProgress
from tests.patience import PATIENCE_SECONDS


class SlowlyReadRun:
    """A run whose log can be read only from `readable` on, whatever it has by then."""

    id = "slow"

    def __init__(self, last: int) -> None:
        self.last = last
        self.readable = asyncio.Event()
        self.listening: asyncio.Future[Callable[[WorkspaceProgress], None]] = asyncio.Future()

    async def info(self) -> Any:
        return SimpleNamespace(last_event=self.last)

    def hear_progress(self, listener: Callable[[WorkspaceProgress], None]) -> Callable[[], None]:
        self.listening.set_result(listener)
        return lambda: None

    async def events(self, after: int = 0) -> AsyncIterator[EventInfo]:
        await self.readable.wait()
        for number in range(after + 1, self.last + 1):
            yield EventInfo(number, "step.started", 1.0, {})


async def test_who_is_further_than_the_feed_is_told_nothing_twice() -> None:
    run: Any = SlowlyReadRun(last=2)
    async with asyncio.timeout(PATIENCE_SECONDS), asyncio.TaskGroup() as tasks:
        feeds = Feeds(EventFeed, tasks, heartbeat_seconds=PATIENCE_SECONDS)
        async with feeds.feed(run):
            run.last = 5
            async with feeds.feed(run) as feed:
                run.last = 7
                run.readable.set()
                told = [event.number async for block in feed.follow(5) if block is not None for event in block.events]
    assert told == [6, 7]


async def test_who_follows_is_told_the_newest_between_the_events_and_who_comes_after_it_nothing() -> None:
    run: Any = SlowlyReadRun(last=0)
    async with asyncio.timeout(PATIENCE_SECONDS), asyncio.TaskGroup() as tasks:
        feeds = Feeds(EventFeed, tasks, heartbeat_seconds=PATIENCE_SECONDS)
        async with feeds.feed(run) as feed, aclosing(feed.blocks(0)) as early, aclosing(feed.blocks(0)) as late:
            tell = await run.listening
            tell(progress(files=1))
            tell(progress(files=2))
            told = [await anext(early)]
            tell(progress(files=3))
            told.append(await anext(early))
            tell(progress(files=4, is_over=True))
            told.append(await anext(early))
            run.last = 1
            run.readable.set()
            told.append(await anext(early))
            first_of_late = await anext(late)

    assert [json.loads(block.partition(b"data: ")[2]).get("files") for block in told] == [2, 3, 4, None]
    assert all(block.startswith(b"event: workspace.progress\ndata: ") for block in told[:3])  # without an id
    assert first_of_late == told[-1]


def progress(files: int, *, is_over: bool = False) -> WorkspaceProgress:
    return WorkspaceProgress(
        at=float(files),
        doing="keeping",
        files=files,
        bytes=files,
        of_files=4,
        of_bytes=4,
        text=f"keeping {files}",
        is_over=is_over,
    )
