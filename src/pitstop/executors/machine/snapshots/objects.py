"""The contents of files, each kept once: as a clone that shares its blocks where the file system can, else by its hash.

    <root>/<2 digits>/<kind and id>    h  named by the hash of what is in it
                                       s  the same for a file with holes, which are kept as holes
                                       c  a clone: it was never read, so its name says nothing
                                       e  encrypted, because a secret is in it; its name says nothing either

A clone costs no space and no reading, but that needs Btrfs, XFS or the like. What is copied is never linked to the live
file: a step that writes into that would change the past.
"""

# Names of files are bytes here, which pathlib does not take.
# ruff: noqa: PTH104, PTH108

import contextlib
import errno
import fcntl
import hashlib
import os
import secrets
import stat
from collections.abc import Callable, Iterator
from functools import cached_property
from pathlib import Path

from pitstop.engine.amount import Amount
from pitstop.engine.workspace_files import NewScan
from pitstop.errors import Unavailable
from pitstop.executors.machine.snapshots.sealed import Sealing, has_secret, sealed_lines, unsealed
from pitstop.executors.machine.spill import write_all

FICLONE = 0x40049409
READ_AT_ONCE_BYTES = 1024 * 1024
ATTEMPTS = 3
BLOCK_BYTES = 512  # that st_blocks counts in
NO_CLONES = {errno.EOPNOTSUPP, errno.EXDEV, errno.EINVAL, errno.ENOTTY, errno.ENOSYS, errno.EPERM}


class Stored:
    """A file that is now in the store. `torn` is True if it changed each time that it was read."""

    def __init__(self, id: bytes, status: os.stat_result, new_bytes: int, *, torn: bool = False) -> None:
        self.id = id
        self.status = status
        self.new_bytes = new_bytes
        self.torn = torn


class SnapshotObjects:
    """The store of contents in one folder."""

    def __init__(self, root: Path, new_sealing: Callable[[], Sealing] | None = None) -> None:
        self._root = root
        self._new_sealing = new_sealing
        self._can_clone: dict[int, bool] = {}  # by device
        self._folders: set[str] = set()

    def add(self, path: bytes, amount: Amount, new_scan: NewScan | None = None) -> Stored:
        """Put in what is in a file, and count its bytes. It is encrypted where a scan finds a secret.

        Raises OSError if it cannot be read, is no file any more, or the disk is full.
        """
        fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        try:
            stored = self._add(fd, amount, new_scan)
            for _ in range(ATTEMPTS - 1):
                if not stored.torn:
                    break
                stored = self._add(fd, amount, new_scan)
            return stored
        finally:
            os.close(fd)

    def _add(self, fd: int, amount: Amount, new_scan: NewScan | None) -> Stored:
        before = os.fstat(fd)
        if not stat.S_ISREG(before.st_mode):
            raise OSError(errno.EAGAIN, "it is no longer a file")
        if new_scan is not None and has_secret(fd, new_scan):
            id, new_bytes = self._seal(fd, amount)
        else:
            id, new_bytes = self._clone(fd, before) or self._copy(fd, before, amount)
        after = os.fstat(fd)
        torn = (before.st_size, before.st_mtime_ns) != (after.st_size, after.st_mtime_ns)
        return Stored(id, after, new_bytes, torn=torn)

    def put_out(self, id: bytes, name: bytes, folder: int, amount: Amount) -> None:
        """Make a new file in a folder with what is in an object, and count its bytes.

        Raises Unavailable if the object is damaged or gone.
        """
        with self._open(id) as source:
            target = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600, dir_fd=folder)
            try:
                if id[:1] == b"c" and self._try_clone(source, target, os.fstat(target).st_dev):
                    return
                if id[:1] == b"e":
                    for chunk in unsealed(source, self._sealing):
                        write_all(target, chunk)
                        amount.bytes += len(chunk)
                elif id[:1] == b"h":
                    digest = hashlib.sha256()
                    while chunk := os.read(source, READ_AT_ONCE_BYTES):
                        digest.update(chunk)
                        write_all(target, chunk)
                        amount.bytes += len(chunk)
                    if digest.digest() != id[1:]:
                        raise Unavailable(f"the snapshot is damaged: object {self._path(id).name} has changed")
                else:
                    _copy_with_holes(source, target, amount)
            finally:
                os.close(target)

    def is_in(self, id: bytes, name: bytes, folder: int) -> bool:
        """Is this object what is in the file of that folder?"""
        fd = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=folder)
        try:
            if id[:1] == b"h":
                with os.fdopen(os.dup(fd), "rb", buffering=0) as file:
                    return hashlib.file_digest(file, "sha256").digest() == id[1:]
            with self._open(id) as other:
                return self._is_sealed_in(other, fd) if id[:1] == b"e" else _are_alike(fd, other)
        finally:
            os.close(fd)

    def are_alike(self, id: bytes, other: bytes) -> bool:
        """Have the two objects the same content? Clones of the same content have different ids."""
        if id == other:
            return True
        if id[:1] == other[:1] == b"h":
            return False
        if b"e" in (id[:1], other[:1]):
            return self.read(id) == self.read(other)
        with self._open(id) as fd, self._open(other) as other_fd:
            return os.fstat(fd).st_size == os.fstat(other_fd).st_size and _are_alike(fd, other_fd)

    def read(self, id: bytes, offset: int = 0, size: int | None = None) -> bytes:
        with self._open(id) as fd:
            if id[:1] == b"e":
                return b"".join(unsealed(fd, self._sealing))[offset:][:size]
            return os.pread(fd, max(0, os.fstat(fd).st_size - offset) if size is None else size, offset)

    def sweep(self, live: set[bytes]) -> int:
        """Remove every object but these, and return how many bytes they had."""
        freed = 0
        names = {self._path(id).name for id in live}
        for folder in self._root.glob("??"):
            with os.scandir(folder) as entries:
                for entry in entries:
                    if entry.name not in names:
                        freed += entry.stat().st_size
                        os.unlink(entry.path)
        return freed

    # --- How it is done

    def _copy(self, fd: int, status: os.stat_result, amount: Amount) -> tuple[bytes, int]:
        extents = _extents(fd, status) if status.st_blocks * BLOCK_BYTES < status.st_size else None
        if extents is not None:
            return self._copy_large(fd, extents, status.st_size, amount)
        if status.st_size > READ_AT_ONCE_BYTES:
            return self._copy_large(fd, None, status.st_size, amount)
        content = os.pread(fd, READ_AT_ONCE_BYTES + 1, 0)
        if len(content) > READ_AT_ONCE_BYTES:  # it has grown meanwhile
            return self._copy_large(fd, None, len(content), amount)
        amount.bytes += len(content)
        id = b"h" + hashlib.sha256(content).digest()
        path = self._path(id)
        if self._has(path, len(content)):
            return id, 0
        with self._new_file(path.parent) as (target, unfinished):
            write_all(target, content)
            os.rename(unfinished, path)
        return id, len(content)

    def _copy_large(
        self, fd: int, extents: list[tuple[int, int]] | None, size: int, amount: Amount
    ) -> tuple[bytes, int]:
        """Copy and hash in one pass. With extents only these, and their places are hashed too."""
        digest = hashlib.sha256()
        written = 0
        with self._new_file(self._root / "00") as (target, unfinished):
            if extents is not None:
                digest.update(repr((size, extents)).encode())
                os.ftruncate(target, size)
            for offset, chunk in _chunks(fd, [(0, size)] if extents is None else extents):
                digest.update(chunk)
                os.lseek(target, offset, os.SEEK_SET)
                write_all(target, chunk)
                written += len(chunk)
                amount.bytes += len(chunk)
            id = (b"h" if extents is None else b"s") + digest.digest()
            path = self._path(id)
            if self._has(path, os.fstat(target).st_size):
                return id, 0
            self._make_folder(path.parent)
            os.rename(unfinished, path)
        return id, written

    @cached_property
    def _sealing(self) -> Sealing:
        if self._new_sealing is None:
            raise Unavailable("this store has no key for files that contain secrets")
        return self._new_sealing()

    def _seal(self, fd: int, amount: Amount) -> tuple[bytes, int]:
        id, size = b"e" + secrets.token_bytes(16), 0
        path = self._path(id)
        with self._new_file(path.parent) as (target, unfinished):
            for line in sealed_lines(fd, self._sealing):
                write_all(target, line)
                size += len(line)
            os.rename(unfinished, path)
        amount.bytes += size
        return id, size

    def _is_sealed_in(self, sealed: int, fd: int) -> bool:
        offset = 0
        for chunk in unsealed(sealed, self._sealing):
            if os.pread(fd, len(chunk), offset) != chunk:
                return False
            offset += len(chunk)
        return not os.pread(fd, 1, offset)

    def _clone(self, fd: int, status: os.stat_result) -> tuple[bytes, int] | None:
        """None where it cannot be done."""
        if not status.st_size or not self._can_clone.get(status.st_dev, True):
            return None
        id = b"c" + secrets.token_bytes(16)
        path = self._path(id)
        with self._new_file(path.parent) as (target, unfinished):
            if not self._try_clone(fd, target, status.st_dev):
                return None
            os.rename(unfinished, path)
        return id, 0

    def _try_clone(self, source: int, target: int, device: int) -> bool:
        if not self._can_clone.get(device, True):
            return False
        try:
            fcntl.ioctl(target, FICLONE, source)
        except OSError as error:
            if error.errno not in NO_CLONES:
                raise
            self._can_clone[device] = False
            return False
        return True

    @contextlib.contextmanager
    def _open(self, id: bytes) -> Iterator[int]:
        try:
            fd = os.open(self._path(id), os.O_RDONLY | os.O_CLOEXEC)
        except FileNotFoundError as error:
            raise Unavailable(f"the snapshot is damaged: object {self._path(id).name} is missing") from error
        try:
            yield fd
        finally:
            os.close(fd)

    def _path(self, id: bytes) -> Path:
        digits = id[1:].hex()
        return self._root / digits[:2] / (chr(id[0]) + digits)

    def _has(self, path: Path, size: int) -> bool:
        """Is it there, and whole? After a loss of power it may be empty."""
        try:
            return path.stat().st_size == size
        except FileNotFoundError:
            return False

    @contextlib.contextmanager
    def _new_file(self, folder: Path) -> Iterator[tuple[int, str]]:
        """A file to be written, and its name. It is removed at the end, unless it was renamed."""
        self._make_folder(folder)
        unfinished = f"{folder}/unfinished-{secrets.token_hex(8)}"
        target = os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o400)
        try:
            yield target, unfinished
        finally:
            os.close(target)
            with contextlib.suppress(FileNotFoundError):
                os.unlink(unfinished)

    def _make_folder(self, folder: Path) -> None:
        if folder.name not in self._folders:
            folder.mkdir(parents=True, exist_ok=True)
            self._folders.add(folder.name)


def _extents(fd: int, status: os.stat_result) -> list[tuple[int, int]] | None:
    """Where the file has data, as begins and ends; None if it has it everywhere."""
    extents = []
    offset = 0
    while offset < status.st_size:
        try:
            begin = os.lseek(fd, offset, os.SEEK_DATA)
            end = os.lseek(fd, begin, os.SEEK_HOLE)
        except OSError as error:
            if error.errno == errno.ENXIO:  # there is only a hole from here on
                break
            raise
        extents.append((begin, end))
        offset = end
    return None if extents == [(0, status.st_size)] else extents


def _copy_with_holes(source: int, target: int, amount: Amount) -> None:
    status = os.fstat(source)
    os.ftruncate(target, status.st_size)
    extents = _extents(source, status) or ([(0, status.st_size)] if status.st_blocks else [])
    for offset, chunk in _chunks(source, extents):
        os.lseek(target, offset, os.SEEK_SET)
        write_all(target, chunk)
        amount.bytes += len(chunk)


def _chunks(fd: int, extents: list[tuple[int, int]]) -> Iterator[tuple[int, bytes]]:
    """What is in these parts of a file, each chunk with its offset."""
    for begin, end in extents:
        offset = begin
        while offset < end and (chunk := os.pread(fd, min(READ_AT_ONCE_BYTES, end - offset), offset)):
            yield offset, chunk
            offset += len(chunk)


def _are_alike(fd: int, other: int) -> bool:
    offset = 0
    while True:
        chunk = os.pread(fd, READ_AT_ONCE_BYTES, offset)
        if chunk != os.pread(other, READ_AT_ONCE_BYTES, offset):
            return False
        if not chunk:
            return True
        offset += len(chunk)
