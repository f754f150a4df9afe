"""The files of a run's workspace as they were at its points, for going back and for running again from a step."""

from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from pitstop.engine.amount import Amount
from pitstop.engine.executor import Placement, WorkspaceRef
from pitstop.errors import SnapshotTooLarge, Unavailable
from pitstop.events.types import AnyEvent, SnapshotTaken
from pitstop.plan.plan import Plan
from pitstop.runs.run_request import DebugRequest
from pitstop.service.workspace_progress import ProgressTelling
from pitstop.steps.workplace import Workplace
from pitstop.store.port import RunRecord

if TYPE_CHECKING:  # what a run that nobody debugs need not pay for
    from pitstop.runs.file_changes import FileChangeKind


class TakenSnapshot(Protocol):
    """A snapshot that was taken."""

    @property
    def id(self) -> str: ...


class ChangedFile(Protocol):
    """What became of one path between two snapshots."""

    @property
    def path(self) -> str: ...

    @property
    def kind(self) -> "FileChangeKind": ...

    @property
    def is_text(self) -> bool: ...


class SnapshotKeeping(Protocol):
    """Where snapshots of folders are kept."""

    async def take(
        self,
        folders: Mapping[str, Path],
        parent: str | None = None,
        *,
        without: Collection[Path] = (),
        owner: str | None = None,
        amount: Amount | None = None,
    ) -> TakenSnapshot: ...

    async def restore(
        self,
        folders: Mapping[str, Path],
        id: str,
        *,
        without: Collection[Path] = (),
        amount: Amount | None = None,
    ) -> None: ...

    async def diff(self, before: str, after: str) -> Sequence[ChangedFile]: ...

    async def file(self, id: str, path: str, *, offset: int = 0, size: int | None = None) -> bytes:
        """UnknownSnapshot when there is no such file in it."""
        ...

    async def own(self, snapshots: Collection[str], owner: str) -> None: ...

    async def owners(self) -> set[str]: ...

    async def disown(self, owners: Collection[str]) -> None: ...

    async def gc(self, keep: Collection[str] | None = None, *, unowned_before: float | None = None) -> int:
        """Forget every snapshot that nobody owns, but the newest, and return how many bytes that gave back."""
        ...

    def close(self) -> None: ...


NewSnapshots = Callable[[], SnapshotKeeping]


class RunSnapshots:
    """The engine's Snapshots, in the workspace of one run. In a folder of somebody else only that folder counts."""

    def __init__(
        self,
        keeping: SnapshotKeeping,
        workspace: WorkspaceRef,
        *,
        in_place: bool,
        owner: str,
        progress: ProgressTelling,
    ) -> None:
        self._keeping = keeping
        self._progress = progress
        self._owner = owner
        folders = folders_of(workspace)
        self._folders = {"repo": folders["repo"]} if in_place else folders
        own_state = Path(workspace.control).parents[1].resolve()  # which may be in the folder of somebody else
        self._without = (own_state,) if in_place else ()
        self._last: str | None = None
        self.problem: str | None = None  # why the files could not be kept, if that was so

    async def take(self, frame: str, occurrence: str) -> str:
        """SnapshotTooLarge, or Unavailable when the disk is full. The step runs all the same."""
        try:
            with self._progress.telling("keeping") as amount:
                taken = await self._keeping.take(
                    self._folders, self._last, without=self._without, owner=self._owner, amount=amount
                )
        except (SnapshotTooLarge, Unavailable) as error:
            self.problem = f"the files of the workspace could not be kept before {occurrence}: {error}"
            raise
        self._last = taken.id
        return taken.id

    async def restore(self, snapshot: str) -> None:
        with self._progress.telling("putting_back") as amount:
            await self._keeping.restore(self._folders, snapshot, without=self._without, amount=amount)
        self._last = snapshot


def snapshot_before(events: Sequence[AnyEvent], plan: Plan, step: str) -> str | None:
    """The first snapshot that was taken before the step, when the run came to it."""
    paths = plan.paths_named(step)
    for event in events:
        if isinstance(event, SnapshotTaken) and event.step in paths and event.position == "before":
            return event.snapshot
    return None


def snapshots_in(events: Sequence[AnyEvent]) -> list[str]:
    """All that a log tells of."""
    return [event.snapshot for event in events if isinstance(event, SnapshotTaken)]


def folders_of(workspace: WorkspaceRef) -> dict[str, Path]:
    """Those parts of a workspace that steps write to, without links on the way to them."""
    parts = {"repo": workspace.repo, "home": workspace.home, "artifacts": workspace.artifacts}
    return {name: Path(part).resolve() for name, part in parts.items()}


async def bring_files(
    keeping: SnapshotKeeping,
    workplace: Workplace,
    old: RunRecord,
    events: Sequence[AnyEvent],
    plan: Plan,
    step: str,
    *,
    with_repo: bool = True,
    progress: ProgressTelling,
) -> None:
    """Make a fresh workspace what that of another run was before the step: as it was kept then, or as it was left.

    Without `with_repo` the repository stays as it is, for it is another commit's.
    """
    found = snapshot_before(events, plan, step)
    executor, target = workplace.executor, folders_of(workplace.workspace)
    if not with_repo:
        del target["repo"]
    if found is None and old.workspace is not None and old.workspace in await executor.kept():
        source = await executor.acquire(Placement(workspace=old.workspace))
        try:
            left = {name: folder for name, folder in folders_of(source).items() if name in target}
            with progress.telling("keeping") as amount:
                found = (await keeping.take(left, amount=amount)).id
        finally:
            await executor.release(source, keep=True)
    if found is not None:
        with progress.telling("putting_back") as amount:
            await keeping.restore(target, found, amount=amount)


def wants_snapshots(plan: Plan, debug: DebugRequest | None, folder: str | None) -> bool:
    """Whether anything will be kept: a step asks for it, or somebody debugs in a workspace of the run's own.

    In a folder of somebody else, going back would take away what they changed there meanwhile; a step can ask for it.
    """
    return any(step.snapshot for step in plan.steps.values()) or (debug is not None and folder is None)
