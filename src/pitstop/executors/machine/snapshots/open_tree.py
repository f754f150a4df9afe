"""A tree of folders that is changed without following a link: each name is opened in the folder that it is in."""

# Names of files are bytes here, which pathlib does not take.
# ruff: noqa: PTH101, PTH103, PTH208

import contextlib
import errno
import os
import stat
from collections.abc import Iterator

from pitstop.errors import Unavailable
from pitstop.executors.machine.snapshots.tree import Entry, Listing, join, list_tree
from pitstop.trees import remove_tree

FOLDER = os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
ANYTHING = os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC


class OpenTree:
    """The paths below one folder. Each method raises OSError, also where a link is on the way."""

    def __init__(self, root: bytes) -> None:
        self.fd = os.open(root, FOLDER)
        self._root = root
        self._last = b"", self.fd  # the folder that was opened last: most paths come folder by folder

    def close(self) -> None:
        self._forget_last()
        os.close(self.fd)

    def folder(self, path: bytes) -> int:
        """A folder, for as long as no other is asked for."""
        if path != self._last[0]:
            self._forget_last()
            if path:
                self._last = path, self._open_folder(path)
        return self._last[1]

    def _open_folder(self, path: bytes) -> int:
        fd = os.dup(self.fd)
        for name in path.split(b"/"):
            above = fd
            try:
                fd = os.open(name, FOLDER, dir_fd=above)
            finally:
                os.close(above)
        return fd

    def _forget_last(self) -> None:
        if self._last[0]:
            os.close(self._last[1])
        self._last = b"", self.fd

    def place(self, path: bytes) -> tuple[int, bytes]:
        """The folder that the path is in, and its name there."""
        folder, _, name = path.rpartition(b"/")
        return self.folder(folder), name

    def status(self, path: bytes) -> os.stat_result:
        folder, name = self.place(path)
        return os.lstat(name, dir_fd=folder)

    def target(self, path: bytes) -> bytes:
        """Where a link points to."""
        folder, name = self.place(path)
        return os.readlink(name, dir_fd=folder)

    def open_up(self, path: bytes) -> None:
        """Make it a folder that can be listed and changed."""
        _open_up(self.folder(path))

    def make_folder(self, path: bytes) -> None:
        folder, name = self.place(path)
        os.mkdir(name, 0o700, dir_fd=folder)

    def make_special(self, path: bytes, entry: Entry) -> None:
        """Make a link or a fifo."""
        folder, name = self.place(path)
        if stat.S_ISLNK(entry.mode):
            os.symlink(entry.target, name, dir_fd=folder)
        else:
            os.mkfifo(name, dir_fd=folder)
        dress(folder, name, entry)

    def move_in(self, folder: int, name: bytes, path: bytes) -> None:
        """Put what is in another folder into the place of what is at the path."""
        to, to_name = self.place(path)
        os.rename(name, to_name, src_dir_fd=folder, dst_dir_fd=to)

    def link(self, path: bytes, other: "OpenTree", other_path: bytes) -> None:
        """Make it another name of a file, which may be in another tree."""
        to, to_name = self.place(path)
        to = os.dup(to)  # the other path may be in this tree
        try:
            folder, name = other.place(other_path)
            with contextlib.suppress(FileNotFoundError):
                os.unlink(to_name, dir_fd=to)
            os.link(name, to_name, src_dir_fd=folder, dst_dir_fd=to, follow_symlinks=False)
        finally:
            os.close(to)

    def dress(self, path: bytes, entry: Entry) -> None:
        if path:
            dress(*self.place(path), entry)
        else:
            _dress_open(self.fd, entry)

    def remove(self, path: bytes) -> None:
        """Remove a file, or a folder with all that is in it."""
        folder, name = self.place(path)
        remove(folder, name)

    def list_opened(self, without: frozenset[bytes]) -> tuple[dict[bytes, Listing], set[bytes]]:
        """Every folder, and those that could not be read and were opened up for that."""
        listings = list_tree(self._root, without)
        closed = [folder for folder, listing in listings.items() if listing is None]
        opened = set()
        while closed:
            folder = closed.pop()
            opened.add(folder)
            del listings[folder]
            try:
                self.open_up(folder)
                below = list_tree(join(self._root, folder), without)
            except OSError:  # another user's
                continue
            if below[b""] is not None:
                listings.update((join(folder, inner), listing) for inner, listing in below.items())
                closed += [join(folder, inner) for inner, listing in below.items() if listing is None]
        return {folder: listing for folder, listing in listings.items() if listing is not None}, opened


@contextlib.contextmanager
def open_tree(root: bytes) -> Iterator[OpenTree]:
    """The folder, which is made if it is not there. Raises Unavailable if it cannot be, or is a link."""
    try:
        os.makedirs(root, exist_ok=True)
        tree = OpenTree(root)
    except OSError as error:
        raise Unavailable(f"cannot restore to {os.fsdecode(root)}: {error.strerror}") from error
    try:
        yield tree
    finally:
        tree.close()


def is_dressed(wanted: Entry, status: os.stat_result) -> bool:
    """Whether owner, mode and time are those of the entry."""
    mine = os.geteuid() != 0 or (wanted.uid, wanted.gid) == (status.st_uid, status.st_gid)
    return mine and (wanted.mode, wanted.modified_ns) == (status.st_mode, status.st_mtime_ns)


def dress(folder: int, name: bytes, entry: Entry) -> None:
    """Give a name in a folder the owner, mode and time of an entry of the same kind."""
    if stat.S_ISLNK(entry.mode):
        if os.geteuid() == 0:
            os.chown(name, entry.uid, entry.gid, dir_fd=folder, follow_symlinks=False)
        os.utime(name, ns=(entry.modified_ns, entry.modified_ns), dir_fd=folder, follow_symlinks=False)
        return
    fd = os.open(name, ANYTHING, dir_fd=folder)
    try:
        _dress_open(fd, entry)
    finally:
        os.close(fd)


def _dress_open(fd: int, entry: Entry) -> None:
    """In this order: each undoes a part of the next."""
    if stat.S_IFMT(os.fstat(fd).st_mode) != stat.S_IFMT(entry.mode):
        raise OSError(errno.EAGAIN, "it was replaced by something else")
    itself = f"/proc/self/fd/{fd}"  # the way to change what is only known by such a file descriptor
    if os.geteuid() == 0:
        os.chown(itself, entry.uid, entry.gid)
    os.chmod(itself, stat.S_IMODE(entry.mode))
    os.utime(itself, ns=(entry.modified_ns, entry.modified_ns))


def _open_up(fd: int) -> None:
    mode = os.fstat(fd).st_mode
    if mode & stat.S_IRWXU != stat.S_IRWXU and os.geteuid() != 0:
        os.chmod(f"/proc/self/fd/{fd}", stat.S_IMODE(mode) | stat.S_IRWXU)


def remove(folder: int, name: bytes) -> None:
    """Remove a name from a folder, with all that is in it. No link is followed."""
    if stat.S_ISDIR(os.lstat(name, dir_fd=folder).st_mode):
        remove_tree(name, folder)
    else:
        os.unlink(name, dir_fd=folder)


def list_names(folder: int) -> list[bytes]:
    readable = os.open(".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=folder)
    try:
        return [os.fsencode(name) for name in os.listdir(readable)]
    finally:
        os.close(readable)
