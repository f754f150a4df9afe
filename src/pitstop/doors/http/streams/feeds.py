"""What clients follow of a run, its events or its output: encoded once, sent to everybody in the same blocks.

A feed keeps the newest blocks; a client has a number and nothing else, and one that is behind them gets what it missed
in another way. So a slow or stalled client does not hold up the others. What is sent between the blocks has no number
and is not kept: a slow client gets only the newest of it.
"""

import asyncio
from abc import ABC, abstractmethod
from bisect import bisect_right
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import aclosing, asynccontextmanager
from itertools import chain
from typing import Any, Generic, TypeVar

from msgspec import Struct

from pitstop.doors.http.answers import LOGGER
from pitstop.doors.http.streams.streaming import END, HEARTBEAT
from pitstop.service.runs import ActiveRun

SENT_BYTES = 128 * 1024  # at once, to a client that is behind
LATE_SECONDS = 30.0  # how long a feed waits for a client that said it would come

T = TypeVar("T")
FeedT = TypeVar("FeedT", bound="Feed[Any]")


class Encoded(Struct, frozen=True):
    """An event as it is sent: its JSON, and that as a server-sent event."""

    number: int
    json: bytes
    frame: bytes


class Block(Struct, frozen=True):
    """All up to the number `last`, as server-sent events; `events` if they are events of the run."""

    last: int
    frames: bytes
    events: Sequence[Encoded] = ()


class Feed(ABC, Generic[T]):
    """The newest blocks of one run, of which it keeps `kept_bytes`, or twice that. `carry_on` is its task."""

    kept_bytes: int

    def __init__(self, run: ActiveRun, last: int, heartbeat_seconds: float) -> None:
        self.clients = 0
        self.known = last  # the highest number that is known to exist; what was read may be behind
        self._run = run
        self._heartbeat_seconds = heartbeat_seconds
        self._fresh: list[T] = []  # not in a block yet
        self._fresh_bytes = 0
        self._blocks: list[Block] = []
        self._lasts: list[int] = []  # the number that each block ends with
        self._kept_bytes = 0
        self._first = last + 1  # the number that the oldest block begins with
        self._last = last
        self._passing = Block(0, b"")  # what was told last between the blocks, by a number of its own
        self._is_passing = False
        self._is_over = False
        self._is_closed = False
        self._changed = asyncio.Event()
        self._wake_at: asyncio.TimerHandle | None = None
        self._woken_at = 0.0

    @staticmethod
    async def read_last(run: ActiveRun) -> int:
        """The number of the newest that the run has already."""
        return 0

    @abstractmethod
    async def _follow_run(self) -> None:
        """Add what comes, until the run has ended."""

    @abstractmethod
    def _next_wake(self, now: float) -> float:
        """When to wake the clients for what was just added."""

    @abstractmethod
    def _block_of(self, items: Sequence[T]) -> Block: ...

    @abstractmethod
    def _missed(self, after: int) -> AsyncGenerator[Block, None]:
        """What a client gets of that which is above a number but not kept any more."""

    # Its own side

    async def carry_on(self) -> None:
        try:
            await self._follow_run()
            self._is_over = True
        except Exception:
            LOGGER.exception("cannot follow run %s any longer", self._run.id)
        finally:
            self.close()

    def close(self) -> None:
        """Let everybody go; who is not told of an end comes again."""
        self._is_closed = True
        self._tell()

    def _add(self, item: T, size: int) -> None:
        self._fresh.append(item)
        self._fresh_bytes += size
        if self._wake_at is None:
            loop = asyncio.get_running_loop()
            self._wake_at = loop.call_at(self._next_wake(loop.time()), self._tell)

    def _keep_block(self) -> None:
        block = self._block_of(self._fresh)
        self._fresh, self._fresh_bytes = [], 0
        self._blocks.append(block)
        self._lasts.append(block.last)
        self._last = block.last
        self._kept_bytes += len(block.frames)
        if self._kept_bytes > 2 * self.kept_bytes:  # seldom, and then a good part: to cut a list costs its length
            while self._kept_bytes > self.kept_bytes and len(self._blocks) > 1:
                self._first = self._lasts.pop(0) + 1
                self._kept_bytes -= len(self._blocks.pop(0).frames)

    def _tell(self) -> None:
        if self._fresh:
            self._keep_block()
        if self._wake_at is not None:
            self._wake_at.cancel()
        self._wake_at, self._woken_at = None, asyncio.get_running_loop().time()
        changed, self._changed = self._changed, asyncio.Event()
        changed.set()

    def _tell_between(self, frame: bytes, events: Sequence[Encoded] = (), *, is_passing: bool = True) -> None:
        """Tell everybody, and those who come as long as `is_passing`."""
        self._passing = Block(self._passing.last + 1, frame, events)
        self._is_passing = is_passing
        self._tell()

    # The clients' side

    async def blocks(self, after: int | None) -> AsyncGenerator[bytes, None]:
        """Server-sent events above a number, in blocks; a comment when there was none for a while; an end."""
        async with aclosing(self.follow(after)) as following:
            async for block in following:
                yield HEARTBEAT if block is None else block.frames
        if self._is_over:
            yield END

    async def follow(self, after: int | None) -> AsyncGenerator[Block | None, None]:
        """Blocks above a number, or from now on, until the run has ended; None when there was none for a while.

        What is told between them is a block of its own.
        """
        after = self._last if after is None else min(after, max(self.known, self._last))
        passed = self._passing.last - self._is_passing  # who comes in the middle of it is told at once
        while True:
            changed = self._changed
            if after < self._first - 1:
                before = after
                async with aclosing(self._missed(after)) as blocks:
                    async for block in blocks:
                        after = block.last
                        yield block
                        await asyncio.sleep(0)  # a long log is not read at one stroke
                if after == before:
                    return
            elif after < self._last:
                block = self._newest(after)
                after = block.last
                yield block
            elif passed < self._passing.last:
                passed = self._passing.last
                yield self._passing
            elif self._is_closed:
                return
            else:
                try:
                    async with asyncio.timeout(self._heartbeat_seconds):
                        await changed.wait()
                except TimeoutError:
                    yield None

    def _newest(self, after: int) -> Block:
        """What is kept above a number: the next block, or some of them for a client that is behind."""
        index = bisect_right(self._lasts, after)
        block = self._blocks[index]
        if block.events and block.events[0].number <= after:  # it came in the middle of a block
            return block_of_events([event for event in block.events if event.number > after])
        size, end = len(block.frames), index + 1
        while end < len(self._blocks) and size + len(self._blocks[end].frames) <= SENT_BYTES:
            size += len(self._blocks[end].frames)
            end += 1
        if end == index + 1:
            return block
        joined = self._blocks[index:end]
        frames = b"".join([each.frames for each in joined])
        return Block(joined[-1].last, frames, list(chain(*(each.events for each in joined))))


def block_of_events(events: Sequence[Encoded]) -> Block:
    return Block(events[-1].number, b"".join([event.frame for event in events]), events)


class Feeds(Generic[FeedT]):
    """The feed of each run that is followed, or is about to be. `tasks` is the parent of what they do."""

    def __init__(self, kind: type[FeedT], tasks: asyncio.TaskGroup, heartbeat_seconds: float) -> None:
        self._kind = kind
        self._tasks = tasks
        self._heartbeat_seconds = heartbeat_seconds
        self._feeds: dict[str, tuple[FeedT, asyncio.Task[None]]] = {}
        self._is_closed = False

    @asynccontextmanager
    async def feed(self, run: ActiveRun) -> AsyncIterator[FeedT]:
        """The feed of the run, for as long as the context lasts."""
        feed = self._take(run, await self._kind.read_last(run))
        try:
            yield feed
        finally:
            self._leave(run.id)

    async def blocks(self, run: ActiveRun, after: int | None) -> AsyncGenerator[bytes, None]:
        """The stream of one client."""
        async with self.feed(run) as feed, aclosing(feed.blocks(after)) as blocks:
            async for block in blocks:
                yield block

    def await_listener(self, run: ActiveRun) -> None:
        """Keep what comes from now on, for a client that is about to follow."""
        self._take(run, 0)
        asyncio.get_running_loop().call_later(LATE_SECONDS, self._leave, run.id)

    def close(self) -> None:
        """Let everybody go, also who comes yet."""
        self._is_closed = True
        for feed, _ in self._feeds.values():
            feed.close()

    def end(self) -> None:
        for _, task in self._feeds.values():
            task.cancel()

    def _take(self, run: ActiveRun, last: int) -> FeedT:
        if run.id not in self._feeds:
            feed = self._kind(run, last, self._heartbeat_seconds)
            self._feeds[run.id] = (feed, self._tasks.create_task(feed.carry_on(), name=f"feed of {run.id}"))
        feed, _ = self._feeds[run.id]
        feed.known = max(feed.known, last)
        feed.clients += 1
        if self._is_closed:
            feed.close()
        return feed

    def _leave(self, run: str) -> None:
        """The last one to leave ends it."""
        feed, task = self._feeds[run]
        feed.clients -= 1
        if not feed.clients:
            del self._feeds[run]
            task.cancel()
