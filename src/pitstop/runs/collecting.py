"""Removing the files of runs that are not to be kept any more: their workspaces, and snapshots of them."""

from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from pitstop.engine.executor import Executor
from pitstop.errors import Unavailable, UnknownRun
from pitstop.runs.run_info import ENDED
from pitstop.steps.workplace import FRESH
from pitstop.store.port import RunStore

if TYPE_CHECKING:  # what looks for workspaces need not load it
    from pitstop.runs.run_snapshots import SnapshotKeeping

YOUNG_SECONDS = 3600.0  # a snapshot without an owner may be about to get one

IsDoneWith = Callable[[str], Awaitable[bool]]


async def is_done_with(run: str, store: RunStore, local_runs: Path, now: float) -> bool:
    """Whether nobody needs the files of a run: it is gone, or has ended and was kept for as long as it was to be.

    Runs without a server are in folders of their own, and share the place where snapshots are.
    """
    try:
        record = await (await store.open(run, events=False)).record()
    except UnknownRun:
        return not (local_runs / run).exists()
    is_over = record.status in ENDED and record.kept_until is not None and record.kept_until < now
    return is_over and not record.is_pinned


async def workspaces_of(executor: Executor, run: str) -> list[str]:
    """Those that a run has left: its own, and those of steps that had their own."""
    found = (*await executor.kept(), *await executor.orphans())
    return [workspace for workspace in found if workspace.partition(FRESH)[0] == run]


async def remove_old_workspaces(executor: Executor, is_done: IsDoneWith) -> int:
    """How many there were. Those of steps that had their own are removed with the run's."""
    removed = 0
    left = [workspace for workspace in await executor.orphans() if FRESH in workspace]
    for workspace in (*await executor.kept(), *left):
        if await is_done(workspace.partition(FRESH)[0]):
            with suppress(Unavailable):  # another server on this machine has taken it up
                await executor.remove_workspace(workspace)
                removed += 1
    return removed


async def remove_old_snapshots(keeping: "SnapshotKeeping", is_done: IsDoneWith, now: float) -> int:
    """How many bytes that gave back. Where no run is done with, nothing is looked through."""
    try:
        done = [owner for owner in await keeping.owners() if await is_done(owner)]
        if not done:
            return 0
        await keeping.disown(done)
        return await keeping.gc(unowned_before=now - YOUNG_SECONDS)
    finally:
        keeping.close()
