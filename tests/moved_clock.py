"""A clock that passes only when a test moves it, for servers and for the databases that they share."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

from sqlalchemy import ColumnElement, Double, bindparam


class MovedClock:
    """A Clock whose sleeps and timeouts end when `move` reaches them. `in_database` is the same time in SQL."""

    def __init__(self) -> None:
        self._now = time.time()
        self._limits: dict[asyncio.Timeout, float] = {}
        self.in_database: ColumnElement[float] = bindparam(None, callable_=self.now, type_=Double())

    def now(self) -> float:
        return self._now

    async def sleep(self, seconds: float) -> None:
        with suppress(TimeoutError):
            async with self.timeout(seconds):
                await asyncio.get_running_loop().create_future()

    @asynccontextmanager
    async def timeout(self, seconds: float) -> AsyncIterator[None]:
        async with asyncio.timeout(None if seconds > 0 else 0) as limit:
            if seconds > 0:
                self._limits[limit] = self._now + seconds
            try:
                yield
            finally:
                self._limits.pop(limit, None)

    @property
    def waiting(self) -> int:
        """How many sleeps and timeouts there are that `move` could end."""
        return len(self._limits)

    def move(self, seconds: float) -> None:
        """Let this time pass at once."""
        self._now += seconds
        for limit in [limit for limit, ends_at in self._limits.items() if ends_at <= self._now]:
            del self._limits[limit]
            limit.reschedule(0)
