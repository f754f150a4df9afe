"""What is different between two snapshots, found by descending only where the trees differ."""

import stat
from collections.abc import Iterator, Mapping

from pitstop.engine.workspace_files import FileChangeKind
from pitstop.executors.machine.snapshots.catalog import Catalog
from pitstop.executors.machine.snapshots.objects import SnapshotObjects
from pitstop.executors.machine.snapshots.tree import Entry, join

Difference = tuple[bytes, FileChangeKind, Entry]


def differences(
    before: Mapping[bytes, Entry], after: Mapping[bytes, Entry], catalog: Catalog, objects: SnapshotObjects
) -> Iterator[Difference]:
    """Each path that differs, with what it is now, or was if it is gone. Of folders only those that are empty."""
    waiting: list[tuple[bytes, Entry | None, Entry | None]] = [
        (name, before.get(name), after.get(name)) for name in before.keys() | after.keys()
    ]
    while waiting:
        path, old, new = waiting.pop()
        if old is not None and new is not None and stat.S_IFMT(old.mode) != stat.S_IFMT(new.mode):
            if old.is_folder or new.is_folder:
                waiting += [(path, old, None), (path, None, new)]
            else:
                yield path, "changed", new
            continue
        there = new or old
        if there is None or there.is_left_out:
            continue
        if there.is_folder:
            inner = _pairs(path, old, new, catalog)
            waiting += inner
            if not inner and (old is None or new is None):
                yield path, "added" if old is None else "removed", there
        elif old is None or new is None:
            yield path, "added" if old is None else "removed", there
        elif not _are_alike(old, new, objects):
            yield path, "changed", new
            continue
        if old is not None and new is not None and old.mode != new.mode:
            yield path, "mode", new


def _pairs(
    path: bytes, old: Entry | None, new: Entry | None, catalog: Catalog
) -> list[tuple[bytes, Entry | None, Entry | None]]:
    """What is in either of the two folders, side by side; nothing if they are the same."""
    if old is not None and new is not None and old.target == new.target:
        return []
    olds = {entry.name: entry for entry in catalog.tree(old.target)} if old is not None and old.is_folder else {}
    news = {entry.name: entry for entry in catalog.tree(new.target)} if new is not None and new.is_folder else {}
    return [
        (join(path, name), olds.get(name), news.get(name))
        for name in olds.keys() | news.keys()
        if olds.get(name) != news.get(name)
    ]


def _are_alike(old: Entry, new: Entry, objects: SnapshotObjects) -> bool:
    if old.target == new.target or not (old.is_file and new.is_file):
        return old.target == new.target
    return old.size == new.size and objects.are_alike(old.target, new.target)
