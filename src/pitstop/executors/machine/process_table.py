"""What the kernel tells about processes: whose children they are, when they began, how many ran out of memory."""

import os

READ_BYTES = 64 * 1024
ENVIRONMENT_BYTES = 2 * 1024 * 1024
# Of the fields in /proc/<pid>/stat that come after the name.
STATE, PARENT, SESSION, START, ARGUMENTS_BEGIN, ENVIRONMENT_END = 0, 1, 3, 19, 45, 48


class Process:
    """A process that has not ended; with its id, `start` names it for ever."""

    def __init__(self, fields: list[bytes]) -> None:
        self.parent = int(fields[PARENT])
        self.session = int(fields[SESSION])
        self.start = int(fields[START])


def all_processes() -> dict[int, Process]:
    """Every process that has not ended, by its id."""
    with os.scandir("/proc") as entries:
        fields = {int(entry.name): _fields_of(entry.name) for entry in entries if entry.name.isdigit()}
    return {pid: Process(found) for pid, found in fields.items() if found and found[STATE] != b"Z"}


def environment_of(pid: int) -> list[bytes]:
    """What a process was started with, as `NAME=value`; nothing if it has ended or is another user's."""
    return _read(f"/proc/{pid}/environ", ENVIRONMENT_BYTES).split(b"\0")


def children_of_this_process() -> set[int]:
    """Every child, also one that was adopted, and one that has ended and is not reaped yet.

    A child's id cannot be used again before this process reaps it, so it is safe to signal.
    """
    if not _has_children():
        return set()
    parent = os.getpid()
    with os.scandir("/proc") as entries:
        return {int(entry.name) for entry in entries if entry.name.isdigit() and _parent_of(entry.name) == parent}


def start_of_process(pid: int) -> int | None:
    """When it began, in ticks since the machine did: with the id, that names one process for ever. None if it ended."""
    fields = _fields_of(str(pid))
    return int(fields[START]) if fields and fields[STATE] != b"Z" else None


def place_of_arguments_and_environment() -> tuple[int, int]:
    """Where in its memory this process has the words and the environment it was started with."""
    fields = _fields_of("self")
    return int(fields[ARGUMENTS_BEGIN]), int(fields[ENVIRONMENT_END])


def file_of_out_of_memory_kills() -> str:
    """Where the kernel counts them: for the control group of this process, or else for the whole machine."""
    for line in _read("/proc/self/cgroup").decode().splitlines():
        events = f"/sys/fs/cgroup{line.removeprefix('0::')}/memory.events"
        if line.startswith("0::") and os.access(events, os.R_OK):
            return events
    return "/proc/vmstat"


def out_of_memory_kills(counted_in: str) -> int:
    """How many processes the kernel has killed for want of memory."""
    _, _, count = _read(counted_in).partition(b"\noom_kill ")
    return int(count.split(b"\n", 1)[0] or 0)


def _has_children() -> bool:
    """Asked of the kernel in one call, where a look at every process takes a hundred times as long."""
    try:
        os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:
        return False
    return True


def _parent_of(pid: str) -> int | None:
    fields = _fields_of(pid)
    return int(fields[PARENT]) if fields else None


def _fields_of(pid: str) -> list[bytes]:
    """The fields of a process after its name, which may have anything in it; none if it is gone."""
    _, _, after_name = _read(f"/proc/{pid}/stat").rpartition(b") ")
    return after_name.split()


def _read(path: str, size: int = READ_BYTES) -> bytes:
    """The beginning of a file of the kernel; nothing if it is not there (any more)."""
    try:
        fd = os.open(path, os.O_RDONLY)
    except OSError:
        return b""
    try:
        return os.read(fd, size)
    except OSError:  # it has ended in the meantime, or may not be looked into
        return b""
    finally:
        os.close(fd)
