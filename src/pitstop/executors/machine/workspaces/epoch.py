"""An epoch: while it lasts, one executor and the keeper beside it may use workspaces; a file that they keep locked.

    <workspaces>/<name>.epoch

The file is opened once, and its lock is shared by all who got it handed on: the executor, the keeper, the supervisors.
So it is free when the last of them has ended, or when the keeper has ended the epoch because its executor stood still.
In the file each supervisor notes the process that it has started, for those who clean up when all of them were killed.

Used by the keeper too: only light imports here.
"""

import fcntl
import os
import struct

from pitstop.executors.machine.bare import suppress
from pitstop.executors.machine.process_table import start_of_process

NOTE = struct.Struct("<QQ")  # the id of a process, and when it began
NOTED_AT_MOST = 4096
SUFFIX = ".epoch"


class Epoch:
    """An epoch whose lock this process holds, or held until the keeper ended it."""

    def __init__(self, path: str, fd: int) -> None:
        self.path = path
        self.fd = fd
        self.name = os.path.basename(path).removesuffix(SUFFIX)  # noqa: PTH119 (pathlib is heavy)

    def is_over(self) -> bool:
        """Was it ended? Who finds his own epoch over may use nothing any more that he had in it."""
        return os.fstat(self.fd).st_nlink == 0

    def end(self) -> None:
        """Let others have what was used in it."""
        if not self.is_over():
            with suppress(FileNotFoundError):  # another one who ends what is left of it was quicker
                os.unlink(self.path)  # noqa: PTH108
        fcntl.flock(self.fd, fcntl.LOCK_UN)  # for all who share it
        os.close(self.fd)

    def note(self, slot: int, pid: int) -> None:
        """Write down which process runs in a slot; 0 when none does. The disk may be full: then nothing is written."""
        if slot < NOTED_AT_MOST:
            try:
                os.pwrite(self.fd, NOTE.pack(pid, start_of_process(pid) or 0 if pid else 0), slot * NOTE.size)
            except OSError:
                return

    def noted(self) -> dict[int, int]:
        """When each process that is written down began, by its id."""
        packed = os.pread(self.fd, NOTED_AT_MOST * NOTE.size, 0)
        whole = len(packed) // NOTE.size * NOTE.size
        return {pid: start for pid, start in NOTE.iter_unpack(packed[:whole]) if pid}


def begin_epoch(workspaces: str) -> Epoch:
    """A new epoch. Raises OSError if its file cannot be made."""
    while True:
        path = f"{workspaces}/{os.urandom(8).hex()}{SUFFIX}"
        fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
        epoch = Epoch(path, fd)
        with suppress(BlockingIOError):
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if not epoch.is_over():
                return epoch
        epoch.end()  # somebody took it for a dead one before it was locked, or asked whether it lasts


def lasts(path: str) -> bool:
    """Does anybody hold the lock of that epoch?"""
    try:
        fd = os.open(path, os.O_RDWR)
    except FileNotFoundError:
        return False
    try:
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)  # shared: two who ask do not mislead each other
    except BlockingIOError:
        return True
    finally:
        os.close(fd)
    return False


def take_dead(path: str) -> Epoch | None:
    """The epoch, to end what is left of it, if nobody uses it any more; None if it lasts or is gone.

    Its lock is shared: several may be at it, so that one of them who stands still keeps nobody waiting.
    """
    try:
        fd = os.open(path, os.O_RDWR)
    except FileNotFoundError:
        return None
    epoch = Epoch(path, fd)
    with suppress(BlockingIOError):
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
        if not epoch.is_over():
            return epoch
    os.close(fd)
    return None
