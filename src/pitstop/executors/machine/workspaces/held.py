"""The workspaces that one executor has in a folder which others may use too, and the epoch in which it has them."""

import asyncio
import contextlib
import time
from pathlib import Path

from pitstop.engine.executor import Placement
from pitstop.engine.threads import in_thread
from pitstop.errors import Unavailable
from pitstop.executors.machine.workspaces.epoch import SUFFIX, Epoch, begin_epoch
from pitstop.executors.machine.workspaces.leftovers import sweep_epochs
from pitstop.executors.machine.workspaces.workspace import (
    LOCK_SUFFIX,
    Workspace,
    WorkspaceBusy,
    clean_orphans,
    find_workspaces,
    open_workspace,
    remove_workspace,
    takes_long,
)

SOON_OVER_SECONDS = 60.0  # what is left of a dead executor ends its commands in this time, and who stands still goes on
LOOK_AGAIN_SECONDS = 0.01


class Workspaces:
    """For any executor whose workspaces are folders of this machine.

    Who uses one is known by its epoch: `epoch.py` tells how. An executor that finds its epoch over has lost them all.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._epoch: Epoch | None = None
        self._cleaned = False
        self._closed = False

    @property
    def epoch(self) -> Epoch:
        """The epoch that lasts, which is a new one if there was none."""
        if self._closed:
            raise Unavailable("this executor is closed")
        if self._epoch is None:
            try:
                self.folder.mkdir(parents=True, exist_ok=True)
                self._epoch = begin_epoch(str(self.folder.resolve()))
            except OSError as error:
                raise Unavailable(f"could not create a workspace in {self.folder}: {error}") from error
        return self._epoch

    def close(self) -> None:
        """Begin no epoch any more. Who still waits for a workspace does not get it."""
        self._closed = True
        self._end_epoch()

    def _end_epoch(self) -> None:
        """Give everything up: what is still in use can be taken up by others."""
        if self._epoch is not None:
            self._epoch.end()
            self._epoch = None

    def notice_lapse(self) -> None:
        """Give the epoch up if the keeper has ended it."""
        if self._epoch is not None and self._epoch.is_over():
            self._end_epoch()

    def is_in(self, epoch: str) -> bool:
        """Is that the name of the epoch that lasts?"""
        return self._epoch is not None and self._epoch.name == epoch

    async def acquire(self, placement: Placement) -> Workspace:
        """A new one, or the one that the placement names. One that is in use is waited for until the deadline.

        If the epoch ended while it was opened, because this process stood still, it may be another's already.
        """
        await self._clean_once()
        folder = None if placement.folder is None else Path(placement.folder)
        wait_until = time.monotonic() + placement.deadline_seconds
        wait_shortly_until = max(wait_until, time.monotonic() + SOON_OVER_SECONDS)
        while True:
            try:
                workspace = await self._open(placement.workspace, folder)
                if self.is_in(workspace.epoch):
                    return workspace
                if self._closed:
                    workspace.keep()
            except WorkspaceBusy as busy:
                if time.monotonic() >= (wait_shortly_until if busy.soon_over else wait_until):
                    raise
            await asyncio.sleep(LOOK_AGAIN_SECONDS)

    async def _open(self, id: str | None, folder: Path | None) -> Workspace:
        """In a thread only where it has to be: one that waits for the loop again and again takes ten times as long."""
        epoch = self.epoch.name
        workspaces = Path(self.epoch.path).parent
        if id is None or not takes_long(workspaces, id):
            return open_workspace(workspaces, epoch, id, folder)
        loop = asyncio.get_running_loop()
        opening = loop.run_in_executor(None, open_workspace, workspaces, epoch, id, folder)
        try:
            return await asyncio.shield(opening)
        except asyncio.CancelledError:
            await asyncio.wait([opening])
            if opening.exception() is None:
                opening.result().keep()  # nobody has it, so nobody would give it up
            raise

    async def orphans(self) -> list[str]:
        """The ids of the named ones whose users died."""
        await self._clean_once()
        return await asyncio.to_thread(find_workspaces, self.folder, kept=False)

    async def kept(self) -> list[str]:
        """The ids of those that were released to be kept."""
        await self._clean_once()
        return await asyncio.to_thread(find_workspaces, self.folder, kept=True)

    async def remove(self, workspace: str) -> None:
        """Remove one that nobody uses, if there is one. Raises WorkspaceBusy if it is in use."""
        await in_thread(lambda: remove_workspace(self.folder, workspace))

    async def _clean_once(self) -> None:
        if not self._cleaned:
            self._cleaned = True
            if self._has_others():
                await asyncio.to_thread(self._clean)

    def _has_others(self) -> bool:
        """Whether other executors use or used this folder: cleaning up after them may take long."""
        with contextlib.suppress(OSError):
            return any(path.name.endswith((SUFFIX, LOCK_SUFFIX)) for path in self.folder.iterdir())
        return False

    def _clean(self) -> None:
        with contextlib.suppress(OSError):  # who cannot clean up can still try to work
            sweep_epochs(self.folder)
            clean_orphans(self.folder)
