"""A process that has nothing more to do with the one it came from: not with its files, its folder or its name.

Used by the keeper: only light imports here.
"""

import fcntl
import os

from pitstop.executors.machine.bare import suppress
from pitstop.executors.machine.process_table import place_of_arguments_and_environment

FIRST_AFTER_STANDARD = 3


def stand_apart(name: str, kept_fd: int) -> int:
    """Keep standard error and this file descriptor, which gets another number: that is returned."""
    kept = fcntl.fcntl(kept_fd, fcntl.F_DUPFD_CLOEXEC, FIRST_AFTER_STANDARD)
    null = os.open(os.devnull, os.O_RDWR)
    os.dup2(null, 0)
    os.dup2(null, 1)  # or whoever reads the output of Pitstop would not see its end before this process has ended
    for fd in map(int, os.listdir("/proc/self/fd")):  # noqa: PTH208 (pathlib is heavy)
        if fd >= FIRST_AFTER_STANDARD and fd != kept:
            with suppress(OSError):  # it was that of the listing itself
                os.close(fd)
    os.chdir("/")
    with suppress(OSError):  # a name is worth nobody's failure
        _take_name(name.encode())
    return kept


def _take_name(name: bytes) -> None:
    """Be shown as that, and without an environment: who looks for Pitstop or its secrets must not find this process."""
    begin, end = place_of_arguments_and_environment()
    _write("/proc/self/comm", name, 0)
    _write("/proc/self/mem", name[: end - begin].ljust(end - begin, b"\0"), begin)


def _write(path: str, text: bytes, offset: int) -> None:
    fd = os.open(path, os.O_WRONLY)
    try:
        os.lseek(fd, offset, os.SEEK_SET)
        os.write(fd, text)
    finally:
        os.close(fd)
