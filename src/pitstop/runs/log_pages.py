"""A log page by page: however long it is, whoever reads it holds little of it at once, and holds up nobody."""

import asyncio
from collections.abc import AsyncIterator, Sequence

from pitstop.events.log import EventLog
from pitstop.events.types import AnyEvent
from pitstop.store.port import RunLog

PAGE = 1000

Page = Sequence[tuple[int, AnyEvent]]


async def pages_of(log: RunLog, after: int = 0) -> AsyncIterator[Page]:
    """Events above `after` with their numbers, as they are kept by now."""
    while page := await log.page(after, PAGE):
        yield page
        after = page[-1][0]


async def pages_in_memory(log: EventLog, after: int = 0) -> AsyncIterator[Page]:
    """The same of a log that is written here, with what is not kept yet. At its end nothing has happened meanwhile."""
    while events := log.read(after):
        for first in range(0, len(events), PAGE):
            if first:
                await asyncio.sleep(0)
            yield list(enumerate(events[first : first + PAGE], after + first + 1))
        after += len(events)


async def events_of(log: RunLog) -> list[AnyEvent]:
    """All of them, for what cannot be told from a part."""
    return [event async for page in pages_of(log) for _, event in page]
