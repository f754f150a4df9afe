"""The trail of deeds: nobody is answered before it is kept who did what."""

import asyncio
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from typing import Any

from pitstop.doors.http.answers import LOGGER
from pitstop.doors.http.gate.access import Identity
from pitstop.doors.http.gate.ports import Audit, Deed

RETRY_SECONDS = 1.0
PATIENCE_SECONDS = 5.0  # what was done is done, and whoever did it is to hear of it even while nothing can be kept


class Trail:
    """Deeds on their way to the audit. What cannot be kept now is tried again while `open` lasts."""

    def __init__(self, audit: Audit) -> None:
        self._audit = audit
        self._tasks = asyncio.TaskGroup()
        self._is_open = False

    @asynccontextmanager
    async def open(self) -> AsyncIterator[None]:
        async with self._tasks:
            self._is_open = True
            try:
                yield
            finally:
                self._is_open = False

    async def tell(self, who: Identity, action: str, run: str | None, detail: Mapping[str, Any]) -> None:
        """Wait until it is kept, but not for ever: it may be that nothing can be kept now."""
        keeping = self._tasks.create_task(self._keep(Deed(time.time(), who.name, action, run, detail)))
        with suppress(TimeoutError):
            async with asyncio.timeout(PATIENCE_SECONDS):
                await asyncio.shield(keeping)  # a client that leaves takes nothing of it back

    async def _keep(self, deed: Deed) -> None:
        while True:
            try:
                await self._audit.record([deed])
            except Exception:
                LOGGER.exception("cannot write the audit log: %s", deed)
                if not self._is_open:
                    return
                await asyncio.sleep(RETRY_SECONDS)
            else:
                return
