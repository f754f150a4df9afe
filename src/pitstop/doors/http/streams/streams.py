"""All that streams have in common: the feeds that they read from, how many there may be, and when they end."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager

from pitstop.doors.http.gate.limits import Limits, Places
from pitstop.doors.http.metrics import Metrics
from pitstop.doors.http.streams.events import EventFeed
from pitstop.doors.http.streams.feeds import Feeds
from pitstop.doors.http.streams.outputs import OutputFeed
from pitstop.doors.http.streams.streaming import EventStream
from pitstop.service.caller import Caller


class Streams:
    """They can be used while `open` lasts; `close` lets every client go, so that a server can end."""

    events: Feeds[EventFeed]
    output: Feeds[OutputFeed]
    tasks: asyncio.TaskGroup

    def __init__(self, limits: Limits, metrics: Metrics) -> None:
        self._limits = limits
        self._places = Places(limits.streams, limits.streams_of_one, "streams")
        self.closing = asyncio.Event()
        metrics.streams.set_function(lambda: self._places.taken)

    @asynccontextmanager
    async def open(self) -> AsyncIterator[None]:
        async with asyncio.TaskGroup() as tasks:
            self.closing.clear()
            self.tasks = tasks
            self.events = Feeds(EventFeed, tasks, self._limits.heartbeat_seconds)
            self.output = Feeds(OutputFeed, tasks, self._limits.heartbeat_seconds)
            try:
                yield
            finally:
                self.close()
                self.events.end()
                self.output.end()

    def close(self) -> None:
        self.closing.set()
        self.events.close()
        self.output.close()

    def send(self, caller: Caller, blocks: AsyncGenerator[bytes, None]) -> EventStream:
        """The stream of one client; ServerBusy or TooMany when there are as many as there may be."""
        return EventStream(blocks, self._places, caller.name, self._limits)
