"""Snapshots of the files of a workspace, for going back: cheap to take, exact when put back, kept as long as one likes.

    <root>/catalog.db   the snapshots and their trees
           objects/     what is in the files, encrypted where a secret is in it
           lock         shared by all who use the store, held alone by `gc`

Contents, modes, times, links, hard links, holes, empty folders and fifos are part of a snapshot, and the owner is where
this process may set it. Sockets, devices, what may not be read and what has too long a path are left out, which is
told; extended attributes and access lists are not kept. Links are kept as they are and never followed. Only files
count: what a step did elsewhere cannot be put back.
"""

import contextlib
import fcntl
import marshal
import os
import secrets
import sqlite3
import stat
import threading
import time
import weakref
from collections.abc import Callable, Collection, Iterator, Mapping
from pathlib import Path
from typing import Any, TypeVar

from msgspec import Struct

from pitstop.engine.amount import Amount
from pitstop.engine.threads import in_thread
from pitstop.engine.workspace_files import FileChangeKind, NewScan
from pitstop.errors import Unavailable, UnknownSnapshot
from pitstop.executors.machine.snapshots.catalog import Catalog, IdleCatalogs
from pitstop.executors.machine.snapshots.diff import differences
from pitstop.executors.machine.snapshots.objects import SnapshotObjects
from pitstop.executors.machine.snapshots.restoring import restore
from pitstop.executors.machine.snapshots.sealed import Sealing
from pitstop.executors.machine.snapshots.taking import Limits, Reading, Taken, look_only, take
from pitstop.executors.machine.snapshots.tree import DETERMINISTIC, Entry

LIMIT_BYTES = 20 * 1024**3
LIMIT_FILES = 1_000_000
SNIFFED_BYTES = 8 * 1024
FEW_FILES = 200

Folders = Path | Mapping[str, Path]
T = TypeVar("T")


class SnapshotInfo(Struct, frozen=True, kw_only=True):
    """A snapshot. `bytes` is what the files have without their holes, `new_bytes` what the store had not had before.

    `left_out` says why a path is not in the snapshot; a restore leaves it alone. `torn` are files that changed each
    time that they were read, so that what is kept of them may never have been.
    """

    id: str
    parent: str | None
    taken_at: float
    files: int
    bytes: int
    new_bytes: int
    left_out: Mapping[str, str]
    torn: tuple[str, ...]


class FileChange(Struct, frozen=True):
    """What became of one path between two snapshots. `mode` is a change of the permissions only."""

    path: str
    kind: FileChangeKind
    is_text: bool


class SnapshotStore:
    """Snapshots in a folder, which several processes may use at the same time.

    What is taken is one folder, or several with names, which the paths in the snapshot then begin with; it is restored
    to the same names, here or elsewhere. `without` are folders in them that are left alone. No path may lead over a
    link: whoever asks at every step resolves them once. What may take long is done in a thread, which counts it up in
    the `amount`. Cancelling a `take` ends it soon; a `restore` that has begun is finished before it can be cancelled.
    """

    def __init__(
        self,
        root: Path,
        *,
        snapshot_limit_bytes: int = LIMIT_BYTES,
        snapshot_limit_files: int = LIMIT_FILES,
        new_sealing: Callable[[], Sealing] | None = None,
    ) -> None:
        self._root = root
        self._lock = root / "lock"
        self._database = root / "catalog.db"
        self._limits = Limits(snapshot_limit_bytes, snapshot_limit_files)
        self._objects = SnapshotObjects(root / "objects", new_sealing)
        self._catalogs = IdleCatalogs()
        weakref.finalize(self, self._catalogs.close)

    def close(self) -> None:
        """Let go of the catalog. It is opened again when it is needed, and closed with this object at the latest."""
        self._catalogs.close()

    async def take(
        self,
        folders: Folders,
        parent: str | None = None,
        *,
        without: Collection[Path] = (),
        owner: str | None = None,
        amount: Amount | None = None,
        new_scan: NewScan | None = None,
    ) -> SnapshotInfo:
        """What the folders are now; the parent itself, if that is what they were then. It is kept for the owner.

        Raises SnapshotTooLarge, and has kept nothing, if there is too much; Unavailable if the disk is full.
        """
        named, left_alone = _named(folders), _encoded(without)
        known = None if parent is None else self._unchanged(named, parent, left_alone)
        if known is not None:
            return known
        stop = threading.Event()
        reading = Reading(amount or Amount(), new_scan)
        return await in_thread(lambda: self._take(named, parent, left_alone, stop, owner, reading), stop)

    async def restore(
        self, folders: Folders, id: str, *, without: Collection[Path] = (), amount: Amount | None = None
    ) -> None:
        """Make the folders exactly what they were. Touches only what differs, and nothing before all is made ready.

        Raises Unavailable if that is not possible, and nothing was changed; RestoreIncomplete if something could then
        not be put into its place. A folder that the snapshot does not have is left alone.
        """
        await in_thread(lambda: self._restore(_named(folders), id, _encoded(without), amount or Amount()))

    async def diff(self, before: str, after: str) -> list[FileChange]:
        """What is different in `after`, by path. A file that has only another time is not."""
        return await self._ask(lambda catalog: self._diff(catalog, before, after))

    async def file(self, snapshot: str, path: str, *, offset: int = 0, size: int | None = None) -> bytes:
        """What is in a file of a snapshot; for a link, where it points to."""
        return await self._ask(lambda catalog: self._file(catalog, snapshot, path, offset, size))

    async def snapshots(self) -> list[SnapshotInfo]:
        """All of them, the oldest first."""
        return await self._ask(lambda catalog: [_info(row) for row in catalog.snapshots()])

    async def own(self, snapshots: Collection[str], owner: str) -> None:
        """Keep them for this owner too."""
        await self._ask(lambda catalog: catalog.add_owner(snapshots, owner), writes=True)

    async def owners(self) -> set[str]:
        """All those for whom a snapshot is kept."""
        return await self._ask(lambda catalog: catalog.owners())

    async def disown(self, owners: Collection[str]) -> None:
        """Forget the snapshots that are kept for them alone. The space comes back with the next `gc`."""
        await self._ask(lambda catalog: catalog.delete_owners(owners), writes=True)

    async def gc(self, *, unowned_before: float) -> int:
        """Forget the snapshots without an owner that were taken before a moment.

        What none of the others needs is removed; its bytes are returned.
        """
        return await in_thread(lambda: self._gc(unowned_before))

    async def _ask(self, work: Callable[[Catalog], T], *, writes: bool = False) -> T:
        """Do something with the catalog, in a thread."""

        def ask() -> T:
            with self._open() as catalog, catalog.writing() if writes else contextlib.nullcontext():
                return work(catalog)

        return await in_thread(ask)

    def _unchanged(self, folders: dict[bytes, bytes], parent: str, without: frozenset[bytes]) -> SnapshotInfo | None:
        """The parent, where few files are as they were: that is seen sooner than a thread would begin to look."""
        try:
            with self._open(at_once=True) as catalog:
                before = _row(catalog, parent)
                if before[7] > FEW_FILES:
                    return None
                found = look_only(folders, without, catalog=catalog, objects=self._objects)
                return _info(before) if found is not None and _packed(found) == before[3:7] else None
        except (Unavailable, BlockingIOError):
            return None

    # --- In a thread

    @contextlib.contextmanager
    def _open(self, *, alone: bool = False, at_once: bool = False) -> Iterator[Catalog]:
        """BlockingIOError if it is to be had `at_once`, and somebody else has it alone."""
        try:
            lock = self._open_lock()
        except OSError as error:
            raise Unavailable(f"cannot use the snapshots in {self._root}: {error}") from error
        try:
            how = fcntl.LOCK_EX if alone else fcntl.LOCK_SH
            fcntl.flock(lock, how | fcntl.LOCK_NB if at_once else how)
            with self._catalogs.lent(self._database) as catalog:
                yield catalog
        except sqlite3.Error as error:
            raise Unavailable(f"cannot use the snapshots in {self._root}: {error}") from error
        finally:
            os.close(lock)

    def _open_lock(self) -> int:
        """Its descriptor. Makes the folder only when opening fails, because each stop comes here."""
        flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC
        try:
            return os.open(self._lock, flags, 0o600)
        except FileNotFoundError:
            self._root.mkdir(parents=True, exist_ok=True)
            return os.open(self._lock, flags, 0o600)

    def _take(
        self,
        folders: dict[bytes, bytes],
        parent: str | None,
        without: frozenset[bytes],
        stop: threading.Event,
        owner: str | None,
        reading: Reading,
    ) -> SnapshotInfo:
        id = secrets.token_hex(8)
        taken_at = time.time()
        with self._open() as catalog:
            if parent is not None:
                _row(catalog, parent)

            def write_down(taken: Taken) -> None:
                packed = _packed(taken)
                catalog.add_snapshot((id, parent, taken_at, *packed, taken.files, taken.bytes, taken.new_bytes))
                if owner is not None:
                    catalog.add_owner([id], owner)

            take(
                folders,
                without,
                catalog=catalog,
                objects=self._objects,
                limits=self._limits,
                stop=stop,
                reading=reading,
                write_down=write_down,
            )
            return _info(_row(catalog, id))

    def _restore(self, folders: dict[bytes, bytes], id: str, without: frozenset[bytes], amount: Amount) -> None:
        with self._open() as catalog:
            row = _row(catalog, id)
            restore(
                folders,
                without,
                tops=_tops(row),
                links=marshal.loads(row[4]),
                catalog=catalog,
                objects=self._objects,
                amount=amount,
            )

    def _diff(self, catalog: Catalog, before: str, after: str) -> list[FileChange]:
        tops = _tops(_row(catalog, before)), _tops(_row(catalog, after))
        found = differences(*tops, catalog, self._objects)
        return [FileChange(os.fsdecode(path), kind, self._is_text(entry)) for path, kind, entry in sorted(found)]

    def _is_text(self, entry: Entry) -> bool:
        if not entry.is_file:
            return stat.S_ISLNK(entry.mode)
        return _looks_like_text(self._objects.read(entry.target, size=SNIFFED_BYTES))

    def _file(self, catalog: Catalog, id: str, path: str, offset: int, size: int | None) -> bytes:
        entry = _find(catalog, _tops(_row(catalog, id)), os.fsencode(path))
        if entry is not None and entry.is_file:
            return self._objects.read(entry.target, offset, size)
        if entry is not None and stat.S_ISLNK(entry.mode):
            return entry.target[offset:][:size]
        raise UnknownSnapshot(id, path)

    def _gc(self, unowned_before: float) -> int:
        with self._open(alone=True) as catalog:
            with catalog.writing():
                catalog.delete_unowned(unowned_before)
                tops = [top for row in catalog.snapshots() for top in _tops(row).values()]
                trees, objects = catalog.live(tops)
                catalog.keep_only(trees)
            return self._objects.sweep(objects)


def _named(folders: Folders) -> dict[bytes, bytes]:
    given = {"": folders} if isinstance(folders, Path) else folders
    return {os.fsencode(name): os.fsencode(path.absolute()) for name, path in given.items()}


def _encoded(paths: Collection[Path]) -> frozenset[bytes]:
    return frozenset(os.fsencode(path.absolute()) for path in paths)


def _row(catalog: Catalog, id: str) -> tuple[Any, ...]:
    row = catalog.snapshot(id)
    if row is None:
        raise UnknownSnapshot(id)
    return row


def _packed(taken: Taken) -> tuple[bytes, ...]:
    tops = [tuple(entry) for entry in taken.tops.values()]
    parts = (tops, taken.links, taken.left_out, taken.torn)
    return tuple(marshal.dumps(part, DETERMINISTIC) for part in parts)


def _tops(row: tuple[Any, ...]) -> dict[bytes, Entry]:
    return {fields[0]: Entry(*fields) for fields in marshal.loads(row[3])}


def _info(row: tuple[Any, ...]) -> SnapshotInfo:
    id, parent, taken_at, _, _, left_out, torn, files, size, new_bytes = row
    return SnapshotInfo(
        id=id,
        parent=parent,
        taken_at=taken_at,
        files=files,
        bytes=size,
        new_bytes=new_bytes,
        left_out={os.fsdecode(path): reason for path, reason in marshal.loads(left_out).items()},
        torn=tuple(os.fsdecode(path) for path in marshal.loads(torn)),
    )


def _find(catalog: Catalog, tops: Mapping[bytes, Entry], path: bytes) -> Entry | None:
    if b"" in tops:
        entry, parts = tops[b""], path.split(b"/")
    else:
        name, *parts = path.split(b"/")
        if name not in tops:
            return None
        entry = tops[name]
    for part in parts:
        if not entry.is_folder:
            return None
        found = [inner for inner in catalog.tree(entry.target) if inner.name == part]
        if not found:
            return None
        entry = found[0]
    return entry


def _looks_like_text(beginning: bytes) -> bool:
    if b"\0" in beginning:
        return False
    try:
        beginning.decode()
    except UnicodeDecodeError as error:
        return len(beginning) == SNIFFED_BYTES and error.start > SNIFFED_BYTES - 4  # its last character is cut
    return True
