"""The files of a run's workspace as they were at its points, for going back and for running again from a step."""

from collections.abc import Callable, Collection, Sequence
from contextlib import closing
from typing import Protocol

from pitstop.engine.executor import Placement
from pitstop.engine.workspace_files import PARTS_IN_SNAPSHOT, ChangedFile, NewScan, Part, WorkspaceSnapshots
from pitstop.errors import NoFiles, SnapshotTooLarge, Unavailable
from pitstop.events.types import AnyEvent, SnapshotTaken
from pitstop.plan.plan import Plan
from pitstop.runs.run_maker import PreparedRun
from pitstop.runs.workspace_progress import ProgressTelling
from pitstop.steps.workplace import Workplace
from pitstop.store.port import KeptRun


class SnapshotReading(Protocol):
    """Snapshots that were taken, to be looked at."""

    async def diff(self, before: str, after: str) -> Sequence[ChangedFile]: ...

    async def file(self, snapshot: str, path: str, *, offset: int = 0, size: int | None = None) -> bytes:
        """UnknownSnapshot when there is no such file in it."""
        ...

    def close(self) -> None: ...


class SnapshotKeeping(SnapshotReading, Protocol):
    """Where snapshots are kept, for as long as they have an owner."""

    async def owners(self) -> set[str]: ...

    async def disown(self, owners: Collection[str]) -> None: ...

    async def gc(self, *, unowned_before: float) -> int:
        """Delete the snapshots without an owner that were taken before, and return how many bytes that freed."""
        ...


NewSnapshots = Callable[[], SnapshotReading]


class RunSnapshots:
    """The engine's Snapshots, in the workspace of one run. For a run in the user's folder, only that folder counts."""

    def __init__(
        self,
        keeping: WorkspaceSnapshots,
        *,
        in_place: bool,
        owner: str,
        progress: ProgressTelling,
        new_scan: NewScan | None,
    ) -> None:
        self._keeping = keeping
        self._new_scan = new_scan
        self._progress = progress
        self._owner = owner
        self._parts: tuple[Part, ...] = ("repo",) if in_place else PARTS_IN_SNAPSHOT
        self._last: str | None = None
        self.problem: str | None = None  # why the files could not be kept, if that was so

    async def take(self, frame: str, occurrence: str) -> str:
        """SnapshotTooLarge, or Unavailable when the disk is full. The step runs all the same."""
        try:
            with self._progress.telling("keeping") as amount:
                self._last = await self._keeping.take(
                    self._last, parts=self._parts, owner=self._owner, amount=amount, new_scan=self._new_scan
                )
        except (SnapshotTooLarge, Unavailable) as error:
            self.problem = f"could not store the workspace files before {occurrence}: {error}"
            raise
        return self._last

    async def restore(self, snapshot: str) -> None:
        with self._progress.telling("putting_back") as amount:
            await self._keeping.restore(snapshot, parts=self._parts, amount=amount)
        self._last = snapshot


def snapshot_before(events: Sequence[AnyEvent], plan: Plan, step: str) -> str | None:
    """The first snapshot that was taken before the step, when the run came to it."""
    paths = plan.paths_named(step)
    for event in events:
        if isinstance(event, SnapshotTaken) and event.step in paths and event.position == "before":
            return event.snapshot
    return None


def snapshot_at(events: Sequence[AnyEvent], number: int | None) -> str:
    """The snapshot of this event, or the last one; NoFiles if there is none."""
    taken = {at: event.snapshot for at, event in enumerate(events, 1) if isinstance(event, SnapshotTaken)}
    if number is None and taken:
        number = max(taken)
    if number not in taken:
        raise NoFiles(f"event {number}")
    return taken[number]


def snapshots_in(events: Sequence[AnyEvent]) -> list[str]:
    """All that a log tells of."""
    return [event.snapshot for event in events if isinstance(event, SnapshotTaken)]


async def bring_files(
    keeping: WorkspaceSnapshots, workplace: Workplace, source: KeptRun, prepared: PreparedRun, progress: ProgressTelling
) -> None:
    """Make a new workspace what that of the source was before the step: as it was stored then, or as it is now.

    For another commit, the repository stays as it is.
    """
    old, commit = await source.record(), prepared.request.commit
    found = snapshot_before(source.log.read(), prepared.plan, prepared.record.from_step or "")
    executor = workplace.executor
    has_its_repo = commit is None or commit == old.request.get("commit")
    parts: tuple[Part, ...] = PARTS_IN_SNAPSHOT if has_its_repo else ("home", "artifacts")
    if found is None and old.workspace is not None and old.workspace in await executor.kept():
        place = await executor.acquire(Placement(workspace=old.workspace))
        with closing(executor.snapshots(place)) as snapshots:
            try:
                with progress.telling("keeping") as amount:
                    found = await snapshots.take(parts=parts, amount=amount, new_scan=workplace.new_scan)
            finally:
                await executor.release(place, keep=True)
    if found is not None:
        with progress.telling("putting_back") as amount:
            await keeping.restore(found, parts=parts, amount=amount)
