"""How a server with a database is doing."""

import asyncio
import os
from pathlib import Path

from pitstop.errors import PitstopError
from pitstop.runs.server_runs import ServerRuns
from pitstop.service.operations import Figures
from pitstop.store.sql.store import SqlStore

ANSWER_SECONDS = 5.0  # that the database may take
FULL_BYTES = 16 * 1024 * 1024  # with less space than this, a disk counts as full


class ServerOperations:
    """The Operations of a server, whose files are in `home`."""

    def __init__(self, runs: ServerRuns, store: SqlStore, home: Path) -> None:
        self._runs = runs
        self._store = store
        self._home = home

    async def figures(self) -> Figures:
        runs = self._runs
        return Figures(
            runs=await self._store.count_runs(),
            waiting=runs.slots.waiting,
            slots=runs.slots.slots,
            slots_taken=runs.slots.working,
            stops=runs.waiting_stops,
            events=runs.events_appended,
        )

    async def trouble(self) -> str | None:
        if not self._runs.is_ready:
            return "the server is starting or shutting down"
        return await self._store_trouble() or await self._disk_trouble() or await self._executor_trouble()

    async def _store_trouble(self) -> str | None:
        """Reading is tried now; writing was tried when the leases were renewed, a few seconds ago."""
        try:
            async with asyncio.timeout(ANSWER_SECONDS):
                await self._store.servers()
        except TimeoutError:
            return f"the database did not answer within {ANSWER_SECONDS:g} s"
        except PitstopError as error:
            return f"the database does not answer: {error}"
        trouble = self._runs.store_trouble
        return None if trouble is None else f"the database cannot be written: {trouble}"

    async def _disk_trouble(self) -> str | None:
        try:
            disk = await asyncio.to_thread(os.statvfs, self._home)
        except OSError as error:
            return f"cannot use {self._home}: {error.strerror}"
        is_full = disk.f_bavail * disk.f_frsize < FULL_BYTES or (disk.f_files and not disk.f_favail)
        return f"no space left on device: {self._home}" if is_full else None

    async def _executor_trouble(self) -> str | None:
        runners = await self._runs.runners()
        if any(runner.state in ("ready", "busy") for runner in runners):
            return None
        return "commands cannot be started: the process keeper has died and cannot be started again"
