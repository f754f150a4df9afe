"""Taking a snapshot: look at every name, read only the files that are not as they were when they were last read."""

# Names of files are bytes here, which pathlib does not take.
# ruff: noqa: PTH112, PTH115, PTH116

import errno
import os
import stat
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Mapping

from msgspec import Struct, field

from pitstop.engine.amount import Amount
from pitstop.engine.workspace_files import NewScan
from pitstop.errors import SnapshotTooLarge, Unavailable
from pitstop.executors.machine.snapshots.catalog import Catalog, Seen
from pitstop.executors.machine.snapshots.objects import BLOCK_BYTES, SnapshotObjects, Stored
from pitstop.executors.machine.snapshots.tree import (
    UNREAD,
    UNREADABLE,
    Entry,
    Key,
    Listing,
    entry_of,
    join,
    key_of,
    list_tree,
    packed,
    parent_of,
    why_left_out,
)

UNCERTAIN_NS = 20_000_000  # a clock tick of the kernel, and more: within one, two changes can look like one
MAY_HAVE_HOLES_BYTES = 1024 * 1024  # smaller ones are counted whole
UNTRUSTED_NS = 2**63 - 1  # as a ctime: later than any, so it is not trusted
NEVER_SEEN: tuple[tuple[Key, ...], bytes] = ((), b"")  # which is no listing, not even of an empty folder


class Stopped(Exception):
    """Nobody wants the snapshot any more."""


BYTES_SETTING, FILES_SETTING = "$PITSTOP_SNAPSHOT_LIMIT_BYTES", "$PITSTOP_SNAPSHOT_LIMIT_FILES"


class Limits(Struct, frozen=True):
    """How much may be in a snapshot. The refusal tells the setting."""

    snapshot_limit_bytes: int
    snapshot_limit_files: int

    def check(self, files: int, size: int) -> None:
        if size > self.snapshot_limit_bytes:
            raise SnapshotTooLarge(f"{size:,} bytes", f"{self.snapshot_limit_bytes:,}", BYTES_SETTING)
        if files > self.snapshot_limit_files:
            raise SnapshotTooLarge(f"{files:,} files", f"{self.snapshot_limit_files:,}", FILES_SETTING)


class Reading(Struct, frozen=True):
    """How files are read: what counts them up, and what looks for secrets in them."""

    amount: Amount
    new_scan: NewScan | None = None


class Taken(Struct):
    """What was found. Paths begin with the name of their folder."""

    tops: dict[bytes, Entry] = field(default_factory=dict)
    links: list[list[bytes]] = field(default_factory=list)
    left_out: dict[bytes, str] = field(default_factory=dict)
    torn: list[bytes] = field(default_factory=list)
    files: int = 0
    bytes: int = 0
    new_bytes: int = 0


def take(
    folders: Mapping[bytes, bytes],
    without: frozenset[bytes],
    *,
    catalog: Catalog,
    objects: SnapshotObjects,
    limits: Limits,
    stop: threading.Event,
    reading: Reading,
    write_down: Callable[[Taken], None],
) -> Taken:
    """Put the folders into the store; `write_down` is called in the transaction that makes it a snapshot.

    The amount of the reading is of what is in the folders that are not as they were.
    """
    taken = Taken()
    linked: dict[tuple[int, int], list[bytes]] = defaultdict(list)
    takings = [
        _Taking(name, root, without, catalog, objects, taken, reading)
        for name, root in folders.items()
        if os.path.isdir(root)
    ]
    for taking in takings:
        taking.look(linked)
    limits.check(taken.files, taken.bytes)
    taken.links = sorted(sorted(paths) for paths in linked.values() if len(paths) > 1)
    changed = [taking.weigh_changed() for taking in takings]
    reading.amount.expect(sum(files for files, _ in changed), sum(size for _, size in changed))
    stored: dict[tuple[int, int, int], Stored] = {}
    for taking in takings:
        taking.read(stored, stop)
    with catalog.writing():
        for taking in takings:
            taking.write_trees()
        write_down(taken)
    return taken


def look_only(
    folders: Mapping[bytes, bytes], without: frozenset[bytes], *, catalog: Catalog, objects: SnapshotObjects
) -> Taken | None:
    """What `take` would find, if nothing is new to the catalog; None if something has to be read."""
    taken = Taken()
    linked: dict[tuple[int, int], list[bytes]] = defaultdict(list)
    for name, root in folders.items():
        if os.path.isdir(root):
            taking = _Taking(name, root, without, catalog, objects, taken, Reading(Amount()))
            taking.look(linked)
            if not taking.is_as_seen:
                return None
            taking.note_top()
    taken.links = sorted(sorted(paths) for paths in linked.values() if len(paths) > 1)
    return taken


class _Taking:
    """One of the folders."""

    def __init__(
        self,
        name: bytes,
        root: bytes,
        without: frozenset[bytes],
        catalog: Catalog,
        objects: SnapshotObjects,
        taken: Taken,
        reading: Reading,
    ) -> None:
        self._name = name
        self._root = root
        self._without = without
        self._catalog = catalog
        self._objects = objects
        self._taken = taken
        self._reading = reading
        self._amount = reading.amount
        self._began_ns = time.time_ns()
        self._seen: Seen = {}
        self._listings: dict[bytes, Listing | None] = {}
        self._weights: dict[bytes, tuple[int, int]] = {}  # how many files are in each folder, and their bytes
        self._changed: list[tuple[bytes, Listing]] = []  # the folders that are not as they were
        self._entries: dict[bytes, dict[bytes, Entry]] = {}  # of those

    def look(self, linked: dict[tuple[int, int], list[bytes]]) -> None:
        """List everything, and add up."""
        self._seen = self._catalog.seen(self._root)
        self._listings = list_tree(self._root, self._without)
        for folder, listing in self._listings.items():
            files, folder_bytes = self._taken.files, self._taken.bytes
            for name, mode, inode, size, _, _, device in listing or ():
                kind = mode & 0o170000
                if kind == stat.S_IFREG:
                    self._taken.bytes += size if size < MAY_HAVE_HOLES_BYTES else self._size_of(folder, name, size)
                    if device:
                        linked[device, inode].append(self._path(folder, name))
                elif kind == stat.S_IFDIR:
                    continue
                elif (reason := why_left_out(mode)) is not None:
                    self._taken.left_out[self._path(folder, name)] = reason
                self._taken.files += 1
            self._weights[folder] = self._taken.files - files, self._taken.bytes - folder_bytes

    def weigh_changed(self) -> tuple[int, int]:
        """How many files are in the folders that are not as they were, and how many bytes."""
        self._changed = [
            (folder, listing)
            for folder, listing in self._listings.items()
            if listing is not None and self._seen.get(folder, NEVER_SEEN)[0] != listing
        ]
        weights = [self._weights[folder] for folder, _ in self._changed]
        return sum(files for files, _ in weights), sum(size for _, size in weights)

    def _size_of(self, folder: bytes, name: bytes, size: int) -> int:
        """How large a file is without its holes."""
        try:
            return min(size, os.lstat(join(self._root, join(folder, name))).st_blocks * BLOCK_BYTES)
        except FileNotFoundError:
            return size

    def read(self, stored: dict[tuple[int, int, int], Stored], stop: threading.Event) -> None:
        """Read what is not as it was. Names of one file are read once."""
        for folder, listing in self._changed:
            if stop.is_set():
                raise Stopped
            seen, tree = self._seen.get(folder, NEVER_SEEN)
            files, size = self._amount.files, self._amount.bytes
            before = {entry.name: entry for entry in self._catalog.tree(tree)} if tree else {}
            same = {key[0]: key for key in seen}
            entries = self._entries[folder] = {}
            for position, key in enumerate(listing):
                name = key[0]
                if same.get(name) == key:
                    entries[name] = before[name]
                    continue
                found = self._read_one(folder, key, stored)
                self._amount.files += not stat.S_ISDIR(key[1])
                if found is not None:
                    entries[name], listing[position] = found
            more_files, more_bytes = self._weights[folder]  # with what need not be read
            self._amount.files, self._amount.bytes = files + more_files, size + more_bytes
            if len(entries) < len(listing):
                self._listings[folder] = [key for key in listing if key[0] in entries]

    def _read_one(
        self, folder: bytes, key: Key, stored: dict[tuple[int, int, int], Stored]
    ) -> tuple[Entry, Key] | None:
        """The entry, and the key by which it will be known again; None if it has vanished."""
        name = key[0]
        path = join(self._root, join(folder, name))
        try:
            status = os.lstat(path)
            if stat.S_ISREG(status.st_mode):
                return self._read_file(folder, name, path, status, stored)
            if stat.S_ISLNK(status.st_mode):
                return entry_of(name, status, os.readlink(path)), key_of(name, status)
            if stat.S_ISDIR(status.st_mode) and self._listings.get(join(folder, name), ()) is None:
                is_open = os.access(path, os.R_OK | os.X_OK)  # then the paths in it are too long
                raise OSError(errno.ENAMETOOLONG if is_open else errno.EACCES, "")
            return entry_of(name, status, b""), key_of(name, status)
        except FileNotFoundError:
            return None
        except OSError as error:
            if error.errno not in UNREADABLE:
                raise
            self._taken.left_out[self._path(folder, name)] = UNREADABLE[error.errno]
            return Entry(name, key[1], key[4], 0, 0, 0, UNREAD), (name, key[1], 0, 0, 0, UNTRUSTED_NS, 0)

    def _read_file(
        self,
        folder: bytes,
        name: bytes,
        path: bytes,
        status: os.stat_result,
        stored: dict[tuple[int, int, int], Stored],
    ) -> tuple[Entry, Key]:
        identity = status.st_dev, status.st_ino, status.st_ctime_ns
        known = stored.get(identity) if status.st_nlink > 1 else None
        if known is None:
            try:
                known = self._objects.add(path, self._amount, self._reading.new_scan)
            except (FileNotFoundError, PermissionError):
                raise
            except OSError as error:
                raise Unavailable(f"could not add {os.fsdecode(path)} to the snapshot: {error}") from error
            if status.st_nlink > 1:
                stored[identity] = known
            self._taken.new_bytes += known.new_bytes
        if known.torn:
            self._taken.torn.append(self._path(folder, name))
        return entry_of(name, known.status, known.id), key_of(name, known.status)

    def write_trees(self) -> None:
        """From the leaves up: a folder whose tree is a new one makes a new one of the folder around it."""
        trees: dict[bytes, bytes] = {}
        ids: dict[bytes, bytes] = {}
        rows: list[tuple[bytes, Listing, bytes]] = []
        around_new: set[bytes] = set()
        for folder, listing in reversed(self._listings.items()):
            if listing is None:
                continue
            _, before = self._seen.get(folder, ((), b""))
            if folder not in self._entries and folder not in around_new:
                ids[folder] = before
                continue
            changed = self._entries.get(folder)
            entries = self._catalog.tree(before) if changed is None else [changed[name] for name in sorted(changed)]
            id, tree = packed(self._with_tree(folder, entry, ids) for entry in entries)
            trees[id] = tree
            ids[folder] = id
            rows.append((folder, listing, id))
            if id != before and folder:
                around_new.add(parent_of(folder))
        self._catalog.add_trees(trees)
        self._catalog.set_seen(self._root, rows, trusted_before_ns=self._began_ns - UNCERTAIN_NS)
        self._catalog.forget_seen(self._root, self._seen.keys() - self._listings.keys())
        self.note_top(ids.get(b"", UNREAD))

    @property
    def is_as_seen(self) -> bool:
        """Whether every folder is as it was when it was last looked at, and may be trusted to be."""
        return {folder: listing for folder, (listing, _) in self._seen.items()} == self._listings

    def note_top(self, target: bytes | None = None) -> None:
        """The folder itself, with the tree that it was seen with, if no other is given."""
        tree = self._seen[b""][1] if target is None else target
        self._taken.tops[self._name] = entry_of(self._name, os.stat(self._root), tree)

    def _with_tree(self, folder: bytes, entry: Entry, ids: Mapping[bytes, bytes]) -> Entry:
        if not stat.S_ISDIR(entry.mode) or entry.target == UNREAD:
            return entry
        return entry._replace(target=ids.get(join(folder, entry.name), UNREAD))

    def _path(self, folder: bytes, name: bytes) -> bytes:
        return join(self._name, join(folder, name))
