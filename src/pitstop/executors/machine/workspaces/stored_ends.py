"""How commands ended, stored next to their logs: the next user of the workspace need not run them again.

    <workspace>/.pitstop/logs/<name>         what the command wrote, with <name>.index
                              <name>.end     how it ended, if it ended by itself
                        commands/<name>.*    what it was given, and handed back

Used by the supervisors too: only light imports here.
"""

import os

from pitstop.executors.machine.bare import suppress

TYPE_CHECKING = False  # that of `typing`
if TYPE_CHECKING:
    from collections.abc import Iterable, Set
    from typing import Any

SUFFIX = ".end"
LARGEST_END = 64 * 1024
_LOG_SUFFIXES = ("", ".index", SUFFIX)


def store_end(log: str, end: "dict[str, Any]") -> None:
    """Store it in one write, so that a kill leaves all of it or nothing that can be read. Raises OSError."""
    fd = os.open(log + SUFFIX, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        os.write(fd, repr(end).encode())
    finally:
        os.close(fd)


def read_end(log: str) -> "dict[str, Any] | None":
    """What `store_end` stored; None if that is not there, not all of it, or something else that a step put there."""
    from ast import literal_eval  # what takes a result over needs it, and no supervisor

    try:
        fd = os.open(log + SUFFIX, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        try:
            end = literal_eval(os.read(fd, LARGEST_END + 1).decode())
        finally:
            os.close(fd)
    except (OSError, ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        return None
    return end if isinstance(end, dict) else None


def names_of_ended(logs: "Iterable[str]") -> "Set[str]":
    """The names of the commands whose ends are among these files."""
    return {name.removesuffix(SUFFIX) for name in logs if name.endswith(SUFFIX)}


def is_of(file: str, commands: "Set[str]") -> bool:
    """Whether a file of the logs, or one that a command was given, is of one of these commands."""
    return file in commands or file.rpartition(".")[0] in commands


def discard_end(log: str, command_files: str, name: str) -> None:
    """Remove the log and the end of a command that is to run again, and its files that are not newer than the end."""
    with suppress(FileNotFoundError):
        ended_at = os.stat(log + SUFFIX).st_mtime_ns  # noqa: PTH116
        with os.scandir(command_files) as files:
            old = [file.path for file in files if is_of(file.name, {name}) and file.stat().st_mtime_ns <= ended_at]
        for path in (*old, *(log + suffix for suffix in _LOG_SUFFIXES)):
            with suppress(FileNotFoundError):
                os.unlink(path)  # noqa: PTH108
