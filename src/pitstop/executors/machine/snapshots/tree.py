"""What a snapshot knows about files: entries, trees of entries, and how a folder on disk looks without reading a file.

Everything is bytes, because names of files are. A tree is the sorted entries of one folder, and its id is their hash;
so folders that are alike are kept once, and two snapshots differ only below the trees whose ids differ.
"""

import errno
import hashlib
import marshal
import os
import stat
from bisect import bisect_left
from collections.abc import Iterable
from typing import NamedTuple

DETERMINISTIC = 2  # the version of marshal that gives the same bytes for the same values
STAGING = b".pitstop-restoring-"  # what a restore prepares is in folders of such names, which no snapshot has
UNREAD = b"-"  # the target of an entry that could not be read
UNREADABLE = {  # and why
    errno.EACCES: "permission denied",
    errno.EPERM: "permission denied",
    errno.ENAMETOOLONG: "the path is too long",
}

Key = tuple[bytes, int, int, int, int, int, int]  # name, mode, inode, size, mtime, ctime, device if linked elsewhere
Listing = list[Key]


class Entry(NamedTuple):
    """One name in a folder. `target` is the id of an object or a tree, or where a link points to."""

    name: bytes
    mode: int
    modified_ns: int
    uid: int
    gid: int
    size: int
    target: bytes

    @property
    def is_folder(self) -> bool:
        return stat.S_ISDIR(self.mode) and self.target != UNREAD

    @property
    def is_file(self) -> bool:
        return stat.S_ISREG(self.mode) and self.target != UNREAD

    @property
    def is_left_out(self) -> bool:
        return self.target == UNREAD or why_left_out(self.mode) is not None


def why_left_out(mode: int) -> str | None:
    """Why a thing of this kind is no part of a snapshot; None if it is."""
    if stat.S_ISSOCK(mode):
        return "a socket"
    return "a device" if stat.S_ISCHR(mode) or stat.S_ISBLK(mode) else None


def entry_of(name: bytes, status: os.stat_result, target: bytes) -> Entry:
    size = status.st_size if stat.S_ISREG(status.st_mode) else 0
    return Entry(name, status.st_mode, status.st_mtime_ns, status.st_uid, status.st_gid, size, target)


def key_of(name: bytes, status: os.stat_result) -> Key:
    """What changes whenever the file does: contents and times move ctime, and so do mode, owner and links."""
    mode = status.st_mode
    linked = status.st_dev if status.st_nlink > 1 and stat.S_ISREG(mode) else 0
    return name, mode, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns, linked


def packed(entries: Iterable[Entry]) -> tuple[bytes, bytes]:
    """The id of the tree, and the tree as it is stored."""
    tree = marshal.dumps([tuple(entry) for entry in entries], DETERMINISTIC)
    return hashlib.sha256(tree).digest()[:20], tree


def unpacked(tree: bytes) -> list[Entry]:
    return [Entry(*fields) for fields in marshal.loads(tree)]


def list_folder(path: bytes, without: frozenset[bytes]) -> Listing:
    """The names in a folder as they are now, sorted. What vanishes meanwhile was not there."""
    listing: Listing = []
    with os.scandir(path) as entries:
        for entry in entries:
            try:
                status = entry.stat(follow_symlinks=False)
            except FileNotFoundError:
                continue
            mode = status.st_mode
            linked = status.st_dev if status.st_nlink > 1 and mode & 0o170000 == stat.S_IFREG else 0
            listing.append(
                (
                    entry.name,
                    mode,
                    status.st_ino,
                    status.st_size,
                    status.st_mtime_ns,
                    status.st_ctime_ns,
                    linked,
                )
            )
    listing.sort()
    hidden = {left_alone.rpartition(b"/")[2] for left_alone in without if parent_of(left_alone) == path}
    if hidden or _has_staging(listing):
        return [key for key in listing if key[0] not in hidden and not key[0].startswith(STAGING)]
    return listing


def _has_staging(listing: Listing) -> bool:
    place = bisect_left(listing, (STAGING,))
    return place < len(listing) and listing[place][0].startswith(STAGING)


def list_tree(root: bytes, without: frozenset[bytes]) -> dict[bytes, Listing | None]:
    """Every folder below the root by its relative path, b"" being the root, each before those in it.

    None is a folder that cannot be read: permission denied, or its path is too long. No link is followed.
    """
    listings: dict[bytes, Listing | None] = {}
    folders = [b""]
    while folders:
        folder = folders.pop()
        try:
            listing = list_folder(join(root, folder), without)
        except (FileNotFoundError, NotADirectoryError):  # it vanished after its name was read
            listing = []
        except OSError as error:
            if error.errno not in UNREADABLE:
                raise
            listings[folder] = None
            continue
        listings[folder] = listing
        for key in listing:
            if key[1] & 0o170000 == stat.S_IFDIR:
                folders.append(join(folder, key[0]))  # noqa: PERF401 (a generator costs twice the time here)
    return listings


def join(folder: bytes, name: bytes) -> bytes:
    if not name:
        return folder
    return folder + b"/" + name if folder else name


def parent_of(path: bytes) -> bytes:
    return path.rpartition(b"/")[0]
