"""What the kernel tells about processes: whose children they are, when they began, how many ran out of memory."""

import os

STATE, PARENT, START = 0, 1, 19  # of the fields in /proc/<pid>/stat that come after the name


def children_of_this_process() -> set[int]:
    """Every child, also one that was adopted, and one that has ended and is not reaped yet.

    A child's id cannot be used again before this process reaps it, so it is safe to signal.
    """
    parent = os.getpid()
    with os.scandir("/proc") as entries:
        return {int(entry.name) for entry in entries if entry.name.isdigit() and _parent_of(entry.name) == parent}


def start_of_process(pid: int) -> int | None:
    """When it began, in ticks since the machine did: with the id, that names one process for ever. None if it ended."""
    fields = _fields_of(str(pid))
    return int(fields[START]) if fields and fields[STATE] != b"Z" else None


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


def _parent_of(pid: str) -> int | None:
    fields = _fields_of(pid)
    return int(fields[PARENT]) if fields else None


def _fields_of(pid: str) -> list[bytes]:
    """The fields of a process after its name, which may have anything in it; none if it is gone."""
    _, _, after_name = _read(f"/proc/{pid}/stat").rpartition(b") ")
    return after_name.split()


def _read(path: str) -> bytes:
    """The beginning of a file of the kernel; nothing if it is not there (any more)."""
    try:
        fd = os.open(path, os.O_RDONLY)
    except OSError:
        return b""
    try:
        return os.read(fd, 64 * 1024)
    except ProcessLookupError:
        return b""
    finally:
        os.close(fd)
