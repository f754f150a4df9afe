"""Follows what agents are doing, in the logs of their runs as they are written."""

import logging
from collections.abc import Awaitable, Callable, Collection
from typing import Protocol

from msgspec import Struct

from pitstop.engine.ports import Clock
from pitstop.errors import PitstopError
from pitstop.platform.live_state import Live, with_event
from pitstop.platform.stored.run_logs import RunLogs

PAUSE_SECONDS = 0.25  # between two looks

log = logging.getLogger(__name__)


class Followed(Protocol):
    """What is done by runs, and shows what they are doing."""

    async def running(self, home: str) -> set[str]:
        """The runs that are to be followed, in the repositories of this home."""
        ...

    async def note_progress(self, run: str, live: Live, status: str) -> None:
        """Store what a run is doing, and tell of it."""
        ...


class _Read(Struct):
    """How far the log of a run was read, and what was told of it."""

    live: Live = Live()
    status: str = ""
    number: int = 0


class RunProgress:
    """Follows the runs of attempts or trials for as long as they last."""

    def __init__(self, logs: RunLogs, followed: Followed) -> None:
        self._logs = logs
        self._followed = followed
        self._read: dict[str, _Read] = {}

    async def look(self, home: str, changed: Collection[str]) -> None:
        """Look at the runs that have changed, and at those that are new here."""
        running = await self._followed.running(home)
        new = running - self._read.keys()
        self._read = {run: self._read.get(run) or _Read() for run in running}
        for run in (*new, *(run for run in changed if run in running - new)):
            await self._look_at(run, self._read[run])

    async def _look_at(self, run: str, read: _Read) -> None:
        """Store and tell what has changed since the last look."""
        status, page = await self._logs.after(run, read.number)
        live = read.live
        for number, event in page:
            read.number, live = number, with_event(live, event)
        if live != read.live or status != read.status:
            read.live, read.status = live, status
            await self._followed.note_progress(run, live, read.status)


async def follow_runs(logs: RunLogs, clock: Clock, look: Callable[[Collection[str]], Awaitable[None]]) -> None:
    """Look at the runs that have changed, again and again; never returns."""
    async for changed in logs.changes():
        try:
            await look(changed)
        except (PitstopError, OSError) as error:
            log.warning("cannot follow runs now: %s", error)
        await clock.sleep(PAUSE_SECONDS)
