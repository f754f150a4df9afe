"""The events of a run for everybody who follows it: read from its log once, encoded once, sent in blocks.

The log is the queue. A feed keeps the newest events, encoded; a client has a number and nothing else, and one that is
behind what the feed keeps reads the log from its number on. So a client that is slow, or stalled, costs nobody else.
What is told between the events has no number and is not kept: whoever is slow is told the newest of it.
"""

import asyncio
from bisect import bisect_right
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import aclosing, asynccontextmanager, suppress
from dataclasses import dataclass
from itertools import chain

from pitstop.doors.http.answers import encode
from pitstop.doors.http.streams.followed import Followed
from pitstop.doors.http.streams.streaming import END, HEARTBEAT, frame
from pitstop.errors import PitstopError
from pitstop.service.api import WORKSPACE_PROGRESS, ActiveRun, EventInfo, WorkspaceProgress

BLOCK_BYTES = 32 * 1024
SENT_BYTES = 128 * 1024  # at once, to a client that is behind
KEPT_BYTES = 2 * 1024 * 1024
SECONDS_PER_CLIENT = 0.0002  # between two blocks, so that writing them leaves time for what they tell of
LONGEST_WAIT_SECONDS = 0.04
ENDING_SECONDS = 30.0  # at most, between the last event of a run and its end


@dataclass(frozen=True, slots=True)
class Encoded:
    """An event as it is sent: its JSON, and that as a server-sent event."""

    number: int
    json: bytes
    frame: bytes


@dataclass(frozen=True, slots=True)
class Block:
    """Some events that follow each other, and all of them as server-sent events. Everybody is sent the same bytes."""

    events: Sequence[Encoded]
    frames: bytes

    @property
    def last(self) -> int:
        return self.events[-1].number


def encoded(event: EventInfo) -> Encoded:
    json = encode(event.as_json())
    return Encoded(event.number, json, frame(json, event=event.kind, id=event.number))


def block_of(events: Sequence[Encoded]) -> Block:
    return Block(events, b"".join([event.frame for event in events]))


class Feed:
    """The newest events of one run, in blocks. `carry_on` is its task."""

    def __init__(self, run: ActiveRun, last: int, heartbeat_seconds: float) -> None:
        self.known = last  # the highest number that the log is known to have; what is read of it may be behind
        self._run = run
        self._heartbeat_seconds = heartbeat_seconds
        self._fresh: list[Encoded] = []  # not told yet
        self._fresh_bytes = 0
        self._blocks: list[Block] = []
        self._lasts: list[int] = []  # the number that each block ends with
        self._kept_bytes = 0
        self._first = last + 1  # the number that the oldest block begins with
        self._last = last
        self._passing = Encoded(0, b"", b"")  # what was told last between the events, by a number of its own
        self._is_passing = False
        self._is_over = False
        self._is_closed = False
        self._changed = asyncio.Event()
        self._wake_at: asyncio.TimerHandle | None = None
        self._woken_at = 0.0
        self.clients = 0

    # Its own side

    async def carry_on(self) -> None:
        unhear = self._run.hear_progress(self._hear)
        try:
            async with aclosing(_events(self._run, self._last)) as events:
                async for event in events:
                    self._take(encoded(event))
            self._is_over = True
        finally:
            unhear()
            self.close()

    def close(self) -> None:
        """Let everybody go; who is not told of an end comes again."""
        self._is_closed = True
        self._tell()

    def _hear(self, progress: WorkspaceProgress) -> None:
        json = encode(progress.as_json())
        self._passing = Encoded(self._passing.number + 1, json, frame(json, event=WORKSPACE_PROGRESS))
        self._is_passing = not progress.is_over
        self._tell()

    def _take(self, event: Encoded) -> None:
        """Wake those who wait: at once when it was quiet, else together with what comes in the meantime."""
        self._fresh.append(event)
        self._fresh_bytes += len(event.frame)
        if self._fresh_bytes > BLOCK_BYTES:
            self._keep_block()
        if self._wake_at is None:
            pause = min(self.clients * SECONDS_PER_CLIENT, LONGEST_WAIT_SECONDS)
            loop = asyncio.get_running_loop()
            self._wake_at = loop.call_at(max(self._woken_at + pause, loop.time()), self._tell)

    def _keep_block(self) -> None:
        block = block_of(self._fresh)
        self._fresh, self._fresh_bytes = [], 0
        self._blocks.append(block)
        self._lasts.append(block.last)
        self._last = block.last
        self._kept_bytes += len(block.frames)
        if self._kept_bytes > 2 * KEPT_BYTES:  # seldom, and then a good part: to cut a list costs its length
            while self._kept_bytes > KEPT_BYTES and len(self._blocks) > 1:
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

    # The clients' side

    async def blocks(self, after: int) -> AsyncGenerator[bytes, None]:
        """Server-sent events above a number, in blocks; a comment when there was none for a while; an end."""
        async with aclosing(self.follow(after)) as following:
            async for block in following:
                yield HEARTBEAT if block is None else block.frames
        if self._is_over:
            yield END

    async def follow(self, after: int) -> AsyncGenerator[Block | None, None]:
        """Events above a number, in blocks, until the run has ended; None when there was none for a while.

        What is told between them is a block of its own.
        """
        after = min(after, max(self.known, self._last))
        passed = self._passing.number - self._is_passing  # who comes in the middle of it is told at once
        while True:
            changed = self._changed
            if after < self._first - 1:
                before = after
                async with aclosing(self._read_log(after)) as blocks:
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
            elif passed < self._passing.number:
                passed = self._passing.number
                yield block_of([self._passing])
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
        if block.events[0].number <= after:  # it came in the middle of a block
            return block_of([event for event in block.events if event.number > after])
        size, end = len(block.frames), index + 1
        while end < len(self._blocks) and size + len(self._blocks[end].frames) <= SENT_BYTES:
            size += len(self._blocks[end].frames)
            end += 1
        if end == index + 1:
            return block
        joined = self._blocks[index:end]
        return Block(list(chain(*(each.events for each in joined))), b"".join([each.frames for each in joined]))

    async def _read_log(self, after: int) -> AsyncGenerator[Block, None]:
        """Blocks from the log, up to what the feed keeps."""
        events: list[Encoded] = []
        size = 0
        async with aclosing(_events(self._run, after)) as following:
            async for event in following:
                events.append(encoded(event))
                size += len(events[-1].frame)
                is_there = event.number >= self._first - 1
                if size > BLOCK_BYTES or is_there:
                    yield block_of(events)
                    events, size = [], 0
                if is_there:
                    return
        if events:
            yield block_of(events)


def _events(run: ActiveRun, after: int) -> AsyncGenerator[EventInfo, None]:
    async def events() -> AsyncGenerator[EventInfo, None]:
        following: AsyncIterator[EventInfo] = run.events(after)
        try:
            async for event in following:
                if event.kind == "run.ended" and event.number > run.carried_over:
                    await _wait_ended(run)
                yield event
        finally:
            close = getattr(following, "aclose", None)
            if close is not None:
                await close()

    return events()


async def _wait_ended(run: ActiveRun) -> None:
    """Until the run itself tells that it has ended: whoever hears of the end looks at it next, or deletes it.

    Its files are kept meanwhile. Not for ever: its process may have died over that.
    """
    with suppress(TimeoutError, PitstopError):
        async with asyncio.timeout(ENDING_SECONDS):
            await run.wait()


class Feeds(Followed[Feed]):
    """The events of each run that somebody follows."""

    def __init__(self, tasks: asyncio.TaskGroup, heartbeat_seconds: float) -> None:
        super().__init__(tasks)
        self._heartbeat_seconds = heartbeat_seconds

    @asynccontextmanager
    async def feed(self, run: ActiveRun) -> AsyncIterator[Feed]:
        """The feed of the run, for as long as the context lasts."""
        last = (await run.info()).last_event
        with self.following(run.id, lambda: Feed(run, last, self._heartbeat_seconds)) as feed:
            feed.known = max(feed.known, last)
            yield feed

    async def blocks(self, run: ActiveRun, after: int) -> AsyncGenerator[bytes, None]:
        """The stream of one client."""
        async with self.feed(run) as feed, aclosing(feed.blocks(after)) as blocks:
            async for block in blocks:
                yield block
