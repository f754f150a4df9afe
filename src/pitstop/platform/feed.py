"""Following the feed: one query finds out for all followers whether there is something new."""

import asyncio
from collections.abc import AsyncIterator, Collection

from pitstop.engine.ports import Clock
from pitstop.errors import StoreProblem
from pitstop.platform.feed_values import News
from pitstop.platform.stored.feed import StoredFeed

LOOK_SECONDS = 0.2
QUIET_SECONDS = 1.0
PAGE = 500


class Feed:
    """Looks every 200 ms whether there is something new, as long as there are followers."""

    def __init__(self, stored: StoredFeed, clock: Clock) -> None:
        self._stored = stored
        self._clock = clock
        self._followers: set[asyncio.Event] = set()
        self._is_followed = asyncio.Event()
        self._last = 0

    async def follow(self, topics: Collection[str], after: int | None = None) -> AsyncIterator[News | None]:
        """All that is told of some topics: above a number, or from now on. It never ends; None is a quiet second."""
        position = await self._stored.last() if after is None else after
        changed = asyncio.Event()
        self._followers.add(changed)
        self._is_followed.set()
        try:
            while True:
                changed.clear()
                page = await self._stored.page(list(topics), position, PAGE)
                for news in page:
                    position = news.id
                    if news.is_of(topics):
                        yield news
                if len(page) < PAGE and not await _is_set_within(changed, QUIET_SECONDS):
                    yield None
        finally:
            self._followers.discard(changed)

    async def look_for_ever(self) -> None:
        """Wake the followers when there is something new."""
        while True:
            if not self._followers:
                self._is_followed.clear()
                await self._is_followed.wait()
            try:
                last = await self._stored.last()
            except StoreProblem:  # the followers find out by themselves
                last = self._last
            if last != self._last:
                self._last = last
                for follower in self._followers:
                    follower.set()
            await self._clock.sleep(LOOK_SECONDS)


async def _is_set_within(event: asyncio.Event, seconds: float) -> bool:
    try:
        async with asyncio.timeout(seconds):
            return await event.wait()
    except TimeoutError:
        return False
