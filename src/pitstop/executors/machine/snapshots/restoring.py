"""Putting a snapshot back: find what differs, prepare all of it aside, and only then touch the workspace."""

# Names of files are bytes here, which pathlib does not take.

import contextlib
import errno
import os
import secrets
import stat
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping

from pitstop.engine.amount import Amount
from pitstop.errors import RestoreIncomplete, SealBroken, Unavailable
from pitstop.executors.machine.snapshots.catalog import Catalog
from pitstop.executors.machine.snapshots.objects import SnapshotObjects
from pitstop.executors.machine.snapshots.open_tree import (
    FOLDER,
    OpenTree,
    dress,
    is_dressed,
    list_names,
    open_tree,
    remove,
)
from pitstop.executors.machine.snapshots.relinking import relink
from pitstop.executors.machine.snapshots.restore_plan import Plan
from pitstop.executors.machine.snapshots.taking import UNCERTAIN_NS
from pitstop.executors.machine.snapshots.tree import (
    STAGING,
    UNREAD,
    Entry,
    Key,
    Listing,
    entry_of,
    join,
    list_folder,
    parent_of,
)


def restore(
    folders: Mapping[bytes, bytes],
    without: frozenset[bytes],
    *,
    tops: Mapping[bytes, Entry],
    links: list[list[bytes]],
    catalog: Catalog,
    objects: SnapshotObjects,
    amount: Amount,
) -> None:
    """Make the folders what they were. Raises Unavailable, and has changed nothing, if not all can be made ready.

    Raises RestoreIncomplete if after that something could not be put into its place. The `amount` is of the files that
    are written anew.
    """
    linked: dict[tuple[int, int], list[bytes]] = defaultdict(list)
    with contextlib.ExitStack() as opened:
        restorings = [
            _Restoring(name, root, opened.enter_context(open_tree(root)), without, catalog, objects, linked)
            for name, root in folders.items()
            if name in tops
        ]
        _restore(restorings, tops, links, linked, catalog, amount)


def _restore(
    restorings: "list[_Restoring]",
    tops: Mapping[bytes, Entry],
    links: list[list[bytes]],
    linked: Mapping[tuple[int, int], list[bytes]],
    catalog: Catalog,
    amount: Amount,
) -> None:
    for restoring in restorings:
        restoring.compare(tops[restoring.name])
    relink({restoring.name: restoring for restoring in restorings}, linked, links)
    written = [entry.size for restoring in restorings for entry in restoring.plan.written.values()]
    amount.expect(len(written), sum(written))
    try:
        for restoring in restorings:
            restoring.prepare(amount)
    except (OSError, Unavailable, SealBroken) as error:
        for restoring in restorings:
            restoring.clean_up()
        full = isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT)
        hint = f" ({sum(written):,} bytes are needed)" if full else ""
        raise Unavailable(f"could not prepare the snapshot, so nothing was changed: {error}{hint}") from error
    for restoring in restorings:
        restoring.apply()
    for restoring in restorings:  # a file may have names in two folders
        restoring.apply_links()
    for restoring in restorings:
        restoring.clean_up()
        restoring.dress_folders()
    with catalog.writing():
        for restoring in restorings:
            restoring.remember()
    missing = [failure for restoring in restorings for failure in restoring.missing]
    if missing:
        raise RestoreIncomplete((os.fsdecode(path), reason) for path, reason in missing)


class _Restoring:
    """One of the folders."""

    def __init__(
        self,
        name: bytes,
        root: bytes,
        tree: OpenTree,
        without: frozenset[bytes],
        catalog: Catalog,
        objects: SnapshotObjects,
        linked: dict[tuple[int, int], list[bytes]],
    ) -> None:
        self.name = name
        self.root = root
        self.tree = tree
        self.plan = Plan()
        self.missing: list[tuple[bytes, str]] = []
        self._without = without
        self._catalog = catalog
        self._objects = objects
        self._linked = linked
        self._folders: dict[bytes, Entry] = {}  # every folder that is wanted
        self._touched: set[bytes] = set()  # the folders that have to be dressed at the end
        self._looked_into: set[bytes] = set()
        self._gone: set[bytes] = set()  # of those that were seen
        self._files: dict[bytes, dict[bytes, Entry]] = {}  # those that are wanted in a folder, where it was asked
        self._staging = b""
        self._root_before: os.stat_result | None = None

    # --- What differs

    def compare(self, top: Entry) -> None:
        """Find out what is to be done."""
        seen = self._catalog.seen(self.root)
        listings, opened = self.tree.list_opened(self._without)
        self._touched |= opened
        for folder, listing in listings.items():
            for key in listing:
                if key[6]:
                    self._linked[key[6], key[2]].append(self.path(join(folder, key[0])))
        self._folders[b""] = top
        if not is_dressed(top, os.fstat(self.tree.fd)):
            self._touched.add(b"")
        waiting = [(b"", top.target)]
        while waiting:
            folder, tree = waiting.pop()
            listing = listings.get(folder, [])
            before, tree_before = seen.get(folder, ([], b""))
            if listing == before and tree == tree_before:
                if any(stat.S_ISDIR(key[1]) for key in listing):
                    waiting += self._add_folders(folder, self._catalog.tree(tree))
                continue
            wanted = self._catalog.tree(tree)
            known = self._known(listing, before, tree_before)
            self._looked_into.add(folder)
            self._compare_folder(folder, wanted, {key[0]: key for key in listing}, known)
            waiting += self._add_folders(folder, wanted)
        self._gone = seen.keys() - self._folders.keys()

    def _add_folders(self, folder: bytes, entries: list[Entry]) -> list[tuple[bytes, bytes]]:
        inner = [(join(folder, entry.name), entry) for entry in entries if entry.is_folder]
        self._folders.update(inner)
        return [(path, entry.target) for path, entry in inner]

    def _known(self, listing: Listing, before: list[Key], tree_before: bytes) -> dict[bytes, Entry]:
        """What is in the files of a folder that are as they were when they were last seen."""
        same = {key[0]: key for key in before}
        names = {key[0] for key in listing if same.get(key[0]) == key}
        return {entry.name: entry for entry in self._catalog.tree(tree_before) if entry.name in names} if names else {}

    def _compare_folder(
        self, folder: bytes, wanted: list[Entry], here: dict[bytes, Key], known: dict[bytes, Entry]
    ) -> None:
        names = {entry.name for entry in wanted}
        for name in here.keys() - names:
            self._remove(join(folder, name))
        for entry in wanted:
            path = join(folder, entry.name)
            if entry.is_left_out:
                continue
            key = here.get(entry.name)
            if key is not None and stat.S_IFMT(key[1]) != stat.S_IFMT(entry.mode):
                self._remove(path)
                key = None
            if key is None:
                self._make(path, entry)
            elif known.get(entry.name) != entry:
                self._compare_one(path, entry, known.get(entry.name))

    def _compare_one(self, path: bytes, wanted: Entry, known: Entry | None) -> None:
        """What is there is of the kind that is wanted; is it the same?"""
        if wanted.is_file:
            same = wanted.target == known.target if known is not None else self._has_content(path, wanted)
        elif stat.S_ISLNK(wanted.mode):
            same = self.tree.target(path) == wanted.target
        else:
            same = True
        if not same:
            if not wanted.is_file:
                self._remove(path)
            self._make(path, wanted)
            return
        status = self.tree.status(path)
        if is_dressed(wanted, status):
            return
        if wanted.is_folder:
            self._touched.add(path)
        elif wanted.is_file and status.st_nlink > 1:  # another name of it may be outside
            self._make(path, wanted)
        else:
            self.plan.dressed[path] = wanted

    def _has_content(self, path: bytes, wanted: Entry) -> bool:
        try:
            folder, name = self.tree.place(path)
            same_size = os.lstat(name, dir_fd=folder).st_size == wanted.size
            return same_size and self._objects.is_in(wanted.target, name, folder)
        except OSError:  # it may not be read, but it may be replaced
            return False

    def _make(self, path: bytes, entry: Entry) -> None:
        self._touched.add(parent_of(path))
        if entry.is_folder:
            self.plan.made_folders.append(path)
            self._touched.add(path)
        elif entry.is_file:
            self.write(path, entry)
        else:
            self.plan.made[path] = entry

    def _remove(self, path: bytes) -> None:
        whole = join(self.root, path) + b"/"
        if not any(left_alone.startswith(whole) for left_alone in self._without):
            self.plan.removed[path] = None
            self._touched.add(parent_of(path))

    def write(self, path: bytes, entry: Entry) -> None:
        """Make the file anew: never in place, because others may be linked to it."""
        self._touched.add(parent_of(path))
        self._looked_into.add(parent_of(path))
        self.plan.written[path] = entry
        self.plan.dressed.pop(path, None)

    def link(self, path: bytes, to: tuple[OpenTree, bytes]) -> None:
        """Make it another name of a file, which may be in another folder."""
        self.plan.written.pop(path, None)
        self.plan.dressed.pop(path, None)
        self._touched.add(parent_of(path))
        self._looked_into.add(parent_of(path))
        self.plan.linked[path] = to

    def file(self, path: bytes) -> Entry | None:
        """The file that is wanted there, if one is."""
        folder, _, name = path.rpartition(b"/")
        if folder not in self._folders:
            return None
        if folder not in self._files:
            entries = self._catalog.tree(self._folders[folder].target)
            self._files[folder] = {entry.name: entry for entry in entries if entry.is_file}
        return self._files[folder].get(name)

    def path(self, relative: bytes) -> bytes:
        return join(self.name, relative)

    # --- Making it so

    def prepare(self, amount: Amount) -> None:
        """Write every file that is needed into a folder aside, so that a full disk is noticed before anything else."""
        if not self.plan.written:
            return
        self._touched.add(b"")
        self._root_before = os.fstat(self.tree.fd)
        self.tree.open_up(b"")
        self._staging = STAGING + secrets.token_hex(8).encode()
        self.tree.make_folder(self._staging)
        staging = self.tree.folder(self._staging)
        for number, entry in enumerate(self.plan.written.values()):
            done_bytes = amount.bytes
            self._objects.put_out(entry.target, b"%d" % number, staging, amount)
            dress(staging, b"%d" % number, entry)
            amount.files, amount.bytes = amount.files + 1, done_bytes + entry.size

    def apply(self) -> None:
        """Put everything into its place; `missing` has what could not be."""
        plan = self.plan
        for folder in sorted(self._touched):
            with contextlib.suppress(FileNotFoundError, NotADirectoryError):
                self.tree.open_up(folder)
        for path in plan.removed:
            with self._noticing(path):
                self.tree.remove(path)
        for path in plan.made_folders:
            with self._noticing(path):
                self.tree.make_folder(path)
        self._move_written()
        for path, entry in plan.made.items():
            with self._noticing(path):
                self.tree.make_special(path, entry)
        for path, entry in plan.dressed.items():
            with self._noticing(path):
                self.tree.dress(path, entry)

    def _move_written(self) -> None:
        if not self.plan.written:
            return
        staging = os.open(self._staging, FOLDER, dir_fd=self.tree.fd)
        try:
            for number, path in enumerate(self.plan.written):
                with self._noticing(path):
                    self.tree.move_in(staging, b"%d" % number, path)
        finally:
            os.close(staging)

    def apply_links(self) -> None:
        for path, (tree, to) in self.plan.linked.items():
            with self._noticing(path):
                self.tree.link(path, tree, to)

    def clean_up(self) -> None:
        """Remove what was prepared, also by one who died over it."""
        with contextlib.suppress(OSError):
            for name in list_names(self.tree.fd):
                if name.startswith(STAGING):
                    remove(self.tree.fd, name)
        if self._root_before is not None:
            with contextlib.suppress(OSError):
                self.tree.dress(b"", entry_of(b"", self._root_before, b""))

    def dress_folders(self) -> None:
        """Give the folders their modes and times, which all of this has changed."""
        for folder in sorted(self._touched, reverse=True):
            if folder in self._folders:
                with self._noticing(folder):
                    self.tree.dress(folder, self._folders[folder])

    @contextlib.contextmanager
    def _noticing(self, path: bytes) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            self.missing.append((self.path(path), error.strerror or str(error)))

    def remember(self) -> None:
        """What was put back is known from now on, and need not be read by the next snapshot."""
        now = time.time_ns()
        rows = []
        around = {parent_of(folder) for folder in self._touched}
        for folder in (self._looked_into | self._touched | around) & self._folders.keys():
            tree = self._folders[folder].target
            entries = self._catalog.tree(tree)
            try:
                listing = list_folder(join(self.root, folder), self._without)
            except OSError:
                listing = []
            whole = [key[0] for key in listing] == [entry.name for entry in entries]
            if whole and not self.missing and not any(entry.target == UNREAD for entry in entries):
                rows.append((folder, listing, tree))
            else:
                self._gone.add(folder)
        self._catalog.set_seen(self.root, rows, trusted_before_ns=now - UNCERTAIN_NS)
        self._catalog.forget_seen(self.root, self._gone)
