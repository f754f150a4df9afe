"""One path of a snapshot on disk: its owner, mode and time, and what is neither file nor folder."""

# Names of files are bytes here, which pathlib does not take.
# ruff: noqa: PTH101, PTH108, PTH116, PTH211

import os
import stat
from pathlib import Path

from pitstop.executors.machine.snapshots.tree import Entry, Listing, join, list_tree
from pitstop.executors.machine.workspaces.workspace import remove_tree


def is_dressed(wanted: Entry, status: os.stat_result) -> bool:
    """Whether owner, mode and time are those of the entry."""
    mine = os.geteuid() != 0 or (wanted.uid, wanted.gid) == (status.st_uid, status.st_gid)
    return mine and (wanted.mode, wanted.modified_ns) == (status.st_mode, status.st_mtime_ns)


def dress(path: bytes, entry: Entry) -> None:
    """Owner, mode and time, in this order: each undoes a part of the next."""
    if os.geteuid() == 0:
        os.chown(path, entry.uid, entry.gid, follow_symlinks=False)
    if not stat.S_ISLNK(entry.mode):
        os.chmod(path, stat.S_IMODE(entry.mode))
    os.utime(path, ns=(entry.modified_ns, entry.modified_ns), follow_symlinks=False)


def open_up(folder: bytes) -> None:
    """Make it a folder that can be listed and changed."""
    mode = os.stat(folder).st_mode
    if mode & stat.S_IRWXU != stat.S_IRWXU and os.geteuid() != 0:
        os.chmod(folder, stat.S_IMODE(mode) | stat.S_IRWXU)


def make_special(path: bytes, entry: Entry) -> None:
    """Make a link or a fifo."""
    if stat.S_ISLNK(entry.mode):
        os.symlink(entry.target, path)
    else:
        os.mkfifo(path)
    dress(path, entry)


def remove(path: bytes) -> None:
    """Remove a file, or a folder with all that is in it."""
    if stat.S_ISDIR(os.lstat(path).st_mode):
        remove_tree(Path(os.fsdecode(path)))
    else:
        os.unlink(path)


def list_opened(root: bytes, without: frozenset[bytes]) -> tuple[dict[bytes, Listing], set[bytes]]:
    """Every folder below the root, and those that could not be read and were opened up for that."""
    listings = list_tree(root, without)
    closed = [folder for folder, listing in listings.items() if listing is None]
    opened = set()
    while closed:
        folder = closed.pop()
        opened.add(folder)
        del listings[folder]
        try:
            open_up(join(root, folder))
            below = list_tree(join(root, folder), without)
        except OSError:  # another user's
            continue
        if below[b""] is not None:
            listings.update((join(folder, inner), listing) for inner, listing in below.items())
            closed += [join(folder, inner) for inner, listing in below.items() if listing is None]
    return {folder: listing for folder, listing in listings.items() if listing is not None}, opened
