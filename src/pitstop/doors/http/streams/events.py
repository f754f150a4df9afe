"""The events of a run for its feed. The log is the queue: a client that is behind the feed reads it from its number."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import aclosing, suppress

from pitstop.doors.http.answers import encode
from pitstop.doors.http.streams.feeds import Block, Encoded, Feed, block_of_events
from pitstop.doors.http.streams.streaming import frame
from pitstop.errors import PitstopError
from pitstop.service.runs import WORKSPACE_PROGRESS, ActiveRun, EventInfo, WorkspaceProgress

BLOCK_BYTES = 32 * 1024
SECONDS_PER_CLIENT = 0.0002  # between two blocks, so that writing them leaves time for what they tell of
LONGEST_WAIT_SECONDS = 0.04
ENDING_SECONDS = 30.0  # at most, between the last event of a run and its end


class EventFeed(Feed[Encoded]):
    """The newest events of one run."""

    kept_bytes = 2 * 1024 * 1024

    @staticmethod
    async def read_last(run: ActiveRun) -> int:
        return (await run.info()).last_event

    async def _follow_run(self) -> None:
        unhear = self._run.hear_progress(self._hear)
        try:
            async with aclosing(_events(self._run, self._last)) as events:
                async for event in events:
                    fresh = _encoded(event)
                    self._add(fresh, len(fresh.frame))
                    if self._fresh_bytes > BLOCK_BYTES:
                        self._keep_block()
        finally:
            unhear()

    def _hear(self, progress: WorkspaceProgress) -> None:
        json = encode(progress.as_json())
        told = Encoded(0, json, frame(json, event=WORKSPACE_PROGRESS))
        self._tell_between(told.frame, [told], is_passing=not progress.is_over)

    def _next_wake(self, now: float) -> float:
        """At once when it was quiet, else together with what comes in the meantime."""
        pause = min(self.clients * SECONDS_PER_CLIENT, LONGEST_WAIT_SECONDS)
        return max(self._woken_at + pause, now)

    def _block_of(self, items: Sequence[Encoded]) -> Block:
        return block_of_events(items)

    async def _missed(self, after: int) -> AsyncGenerator[Block, None]:
        """Blocks from the log, up to what the feed keeps."""
        events: list[Encoded] = []
        size = 0
        async with aclosing(_events(self._run, after)) as following:
            async for event in following:
                events.append(_encoded(event))
                size += len(events[-1].frame)
                is_there = event.number >= self._first - 1
                if size > BLOCK_BYTES or is_there:
                    yield block_of_events(events)
                    events, size = [], 0
                if is_there:
                    return
        if events:
            yield block_of_events(events)


def _encoded(event: EventInfo) -> Encoded:
    json = encode(event.as_json())
    return Encoded(event.number, json, frame(json, event=event.kind, id=event.number))


async def _events(run: ActiveRun, after: int) -> AsyncGenerator[EventInfo, None]:
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


async def _wait_ended(run: ActiveRun) -> None:
    """Wait until the end of the run is stored, because a client that learns of it reads or deletes the run next.

    The wait is limited: the process of the run may have died while it stored its files.
    """
    with suppress(TimeoutError, PitstopError):
        async with asyncio.timeout(ENDING_SECONDS):
            await run.wait()
