"""The trail of deeds: whoever acts does not wait until it is kept who did what, and nothing of it is left out."""

import asyncio
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from typing import Any

from pitstop.doors.http.access import Identity
from pitstop.doors.http.answers import LOGGER
from pitstop.doors.http.ports import Audit, Deed

GATHER_SECONDS = 0.05  # deeds that come together are kept together, and the run that was acted upon goes first
MOST_WAITING = 1000
RETRY_SECONDS = 1.0
PATIENCE_SECONDS = 5.0


class Trail:
    """Deeds on their way to the audit. While `open` lasts they are kept as they come; leaving it keeps the rest."""

    def __init__(self, audit: Audit) -> None:
        self._audit = audit
        self._waiting: list[Deed] = []
        self._told = asyncio.Event()
        self._in_a_hurry = asyncio.Event()
        self._kept = asyncio.Condition()

    @asynccontextmanager
    async def open(self) -> AsyncIterator[None]:
        async with asyncio.TaskGroup() as group:
            keeping = group.create_task(self._keep_for_ever())
            try:
                yield
            finally:
                keeping.cancel()
                await asyncio.wait([keeping])
                await self._keep()

    async def tell(self, who: Identity, action: str, run: str | None, detail: Mapping[str, Any]) -> None:
        """It will be kept in a moment. Waits when very many are on their way."""
        if len(self._waiting) >= MOST_WAITING:
            await self.settle()
        self._waiting.append(Deed(time.time(), who.name, action, run, detail))
        self._told.set()

    async def settle(self) -> None:
        """Wait until all that was told is kept, but not for ever: it may be that nothing can be kept now."""
        self._in_a_hurry.set()
        with suppress(TimeoutError):
            async with asyncio.timeout(PATIENCE_SECONDS), self._kept:
                await self._kept.wait_for(lambda: not self._waiting)

    async def _keep_for_ever(self) -> None:
        while True:
            await self._told.wait()
            self._told.clear()
            with suppress(TimeoutError):
                async with asyncio.timeout(GATHER_SECONDS):
                    await self._in_a_hurry.wait()
            self._in_a_hurry.clear()
            try:
                await self._keep()
            except Exception:
                LOGGER.exception("who did what cannot be kept now: it is tried again")
                self._told.set()
                await asyncio.sleep(RETRY_SECONDS)

    async def _keep(self) -> None:
        deeds = self._waiting[:]
        if deeds:
            await self._audit.record(deeds)
            del self._waiting[: len(deeds)]
        async with self._kept:
            self._kept.notify_all()
