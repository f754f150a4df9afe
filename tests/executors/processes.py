"""Looking at the processes of this machine, from outside of Pitstop."""

import os
import select
import time
from collections.abc import Iterable
from pathlib import Path

from tests.patience import PATIENCE_SECONDS


def processes_with(text: str) -> dict[int, str]:
    """Every process that is alive and has the text in its command line or its environment, with its command line."""
    found = {}
    for process in Path("/proc").iterdir():
        if process.name.isdigit() and int(process.name) != os.getpid():
            command_line, environment = _read(process / "cmdline"), _read(process / "environ")
            if text.encode() in command_line + environment:
                found[int(process.name)] = command_line.replace(b"\0", b" ").decode(errors="replace")
    return found


def left_running(text: str) -> dict[int, str]:
    """As `processes_with`, what does not end by itself before long."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while (left := processes_with(text)) and time.monotonic() < deadline:
        time.sleep(0.02)
    return left


def descendants_of(ancestor: int, besides: Iterable[int] = ()) -> dict[int, str]:
    """The state of every process below that one, by its id: `Z` is one that has ended and was not reaped.

    Those besides, and what is below them, are left out: servers that other tests use too.
    """
    besides = frozenset(besides)
    fields = {
        int(process.name): _read(process / "stat").rpartition(b") ")[2].split()
        for process in Path("/proc").iterdir()
        if process.name.isdigit() and int(process.name) not in besides
    }
    below, level = {}, {ancestor}
    while level:
        level = {pid for pid, field in fields.items() if field and int(field[1]) in level}
        below.update({pid: fields[pid][0].decode() for pid in level})
    return below


def parent_of(pid: int) -> int:
    """Its parent; 0 if it has ended."""
    fields = _read(Path(f"/proc/{pid}/stat")).rpartition(b") ")[2].split()
    return int(fields[1]) if fields else 0


def wait_ended(pidfd: int) -> None:
    """Wait for the end of the process, and close its file descriptor."""
    select.select([pidfd], [], [])
    os.close(pidfd)


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:  # it has ended, or is another user's
        return b""
