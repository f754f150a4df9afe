"""Hard links of a snapshot: the names that led to one file lead to one file again."""

from collections.abc import Mapping
from typing import Protocol

from pitstop.executors.machine.snapshots.open_tree import OpenTree
from pitstop.executors.machine.snapshots.restore_plan import Plan
from pitstop.executors.machine.snapshots.tree import Entry


class Restoring(Protocol):
    """One of the folders that are restored."""

    tree: OpenTree
    plan: Plan

    def file(self, path: bytes) -> Entry | None:
        """The file that is wanted there, if one is."""
        ...

    def write(self, path: bytes, entry: Entry) -> None:
        """Make the file anew."""
        ...

    def link(self, path: bytes, to: tuple[OpenTree, bytes]) -> None:
        """Make it another name of a file."""
        ...


def relink(
    restorings: Mapping[bytes, Restoring], linked: Mapping[tuple[int, int], list[bytes]], links: list[list[bytes]]
) -> None:
    """See to it that those names lead to the same file that did, and no others."""

    def find(path: bytes) -> tuple[Restoring, bytes]:
        if b"" in restorings:
            return restorings[b""], path
        name, _, relative = path.partition(b"/")
        return restorings[name], relative

    def is_wanted(path: bytes) -> bool:
        restoring, relative = find(path)
        return restoring.file(relative) is not None and relative not in restoring.plan.removed

    wanted = {
        path: group for group in links for path in group if path.partition(b"/")[0] in restorings or b"" in restorings
    }
    here = {
        path: group
        for group in (
            [path for path in sorted(paths) if is_wanted(path)] for paths in linked.values() if len(paths) > 1
        )
        for path in group
    }
    done: set[bytes] = set()
    for path in sorted(wanted.keys() | here.keys()):
        group = wanted.get(path, [path])
        if path in done:
            continue
        done.update(group)
        places = [find(member) for member in group]
        written = any(relative in restoring.plan.written for restoring, relative in places)
        if all(here.get(member, [member]) == group for member in group) and not (written and len(group) > 1):
            continue
        first, first_path = places[0]
        entry = first.file(first_path)
        if entry is not None:
            first.write(first_path, entry)
            for restoring, relative in places[1:]:
                restoring.link(relative, (first.tree, first_path))
