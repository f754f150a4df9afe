"""The snapshots of a workspace whose folders are on this machine."""

from collections.abc import Callable, Collection
from pathlib import Path

from pitstop.engine.amount import Amount
from pitstop.engine.executor import WorkspaceRef
from pitstop.engine.workspace_files import PARTS_IN_SNAPSHOT, NewScan, Part
from pitstop.executors.machine.snapshots.store import SnapshotStore


class LocalSnapshots:
    """Snapshots in a store of this machine. `without` are folders that are in the workspace, and no part of it."""

    def __init__(
        self,
        store: SnapshotStore,
        workspace: WorkspaceRef,
        check_held: Callable[[], None],
        without: Collection[Path] = (),
    ) -> None:
        self._store = store
        self._folders: dict[Part, Path] = {part: Path(getattr(workspace, part)).resolve() for part in PARTS_IN_SNAPSHOT}
        self._check_held = check_held
        self._without = without
        self.diff = store.diff
        self.file = store.file
        self.own = store.own
        self.close = store.close

    async def take(
        self,
        parent: str | None = None,
        *,
        parts: Collection[Part] = PARTS_IN_SNAPSHOT,
        owner: str | None = None,
        amount: Amount | None = None,
        new_scan: NewScan | None = None,
    ) -> str:
        folders = self._folders_of(parts)
        taken = await self._store.take(
            folders, parent, without=self._without, owner=owner, amount=amount, new_scan=new_scan
        )
        return taken.id

    async def restore(
        self, snapshot: str, *, parts: Collection[Part] = PARTS_IN_SNAPSHOT, amount: Amount | None = None
    ) -> None:
        await self._store.restore(self._folders_of(parts), snapshot, without=self._without, amount=amount)

    def _folders_of(self, parts: Collection[Part]) -> dict[str, Path]:
        self._check_held()
        return {part: folder for part, folder in self._folders.items() if part in parts}
