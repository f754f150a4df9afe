"""The records of runs in their folders: what is in them, and whether the process that writes one is alive."""

import contextlib
import fcntl
import json
import os
from collections.abc import Iterator
from pathlib import Path

import msgspec

from pitstop.program import program
from pitstop.store.port import ENDED, RunRecord, Status
from pitstop.trees import remove_tree

KEPT_RUNS = 50
KILLED = "the process that ran it was killed"
PINNED = "pinned.json"
ALIVE: tuple[Status, ...] = ("pending", "running")  # what only a run with a process is


def read_record(path: Path) -> RunRecord | None:
    """The record in a folder; None when there is none. A run whose process is gone has ended with it, or was left."""
    record = read_written(path)
    if record is not None and record.status in ALIVE and not is_locked(path):
        record = read_written(path)  # once more: it may have told its end since, and is gone only then
        if record is not None and record.status in ALIVE:
            record = msgspec.structs.replace(record, status="cancelled", error=_killed(record))
    return None if record is None else with_pin(record, path)


def _killed(record: RunRecord) -> str:
    """Why it has ended; a run of an older version has left no workspace."""
    return f"{KILLED}: `{program()} debug {record.id}` resumes it" if record.workspace == record.id else KILLED


def read_written(path: Path) -> RunRecord | None:
    """The record as its process has written it."""
    try:
        return msgspec.json.decode((path / "run.json").read_bytes(), type=RunRecord)
    except (OSError, ValueError):
        return None


def with_pin(record: RunRecord, path: Path) -> RunRecord:
    try:
        return msgspec.structs.replace(record, is_pinned=msgspec.json.decode((path / PINNED).read_bytes(), type=bool))
    except (OSError, ValueError):  # it was never pinned
        return record


def read_owner(path: Path) -> int | None:
    """The process that has made the run in a folder, whether or not it lives."""
    try:
        return int(json.loads((path / "run.json").read_bytes())["owner"])
    except (OSError, ValueError, KeyError, TypeError):
        return None


def is_locked(path: Path) -> bool:
    """Whether the process that writes the run in this folder is alive."""
    try:
        fd = os.open(path / "events.jsonl", os.O_RDONLY)
    except OSError:
        return False
    try:
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(fd)
    return False


def take_lock(path: Path) -> int | None:
    """Lock a run's folder for as long as the file is open; None when another process has it. Raises OSError."""
    fd = os.open(path / "events.jsonl", os.O_RDONLY | os.O_CREAT, 0o600)
    while True:
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return fd
        except BlockingIOError:
            if is_locked(path):  # else it was only another one who asked that
                os.close(fd)
                return None


def old_runs(runs: Path) -> Iterator[str]:
    """Of more than KEPT_RUNS, the oldest that have ended and are not pinned. Ids sort by time."""
    for name in sorted(path.name for path in _folders(runs))[:-KEPT_RUNS]:
        record = read_record(runs / name)
        if record is not None and record.status in ENDED and not record.is_pinned:
            yield name


def remove_run(path: Path) -> None:
    """Remove a run's folder. What cannot be removed is left."""
    with contextlib.suppress(OSError):
        remove_tree(path)


def _folders(runs: Path) -> Iterator[Path]:
    try:
        yield from runs.iterdir()
    except OSError:
        return


def read_records(runs: Path) -> Iterator[RunRecord]:
    for path in _folders(runs):
        record = read_record(path)
        if record is not None:
            yield record


def replace_file(path: Path, data: bytes) -> None:
    """Write a file in one step: readers see the old content or the new."""
    unfinished = path.with_suffix(f".{os.urandom(4).hex()}.new")
    try:
        unfinished.write_bytes(data)
        unfinished.replace(path)
    except OSError:
        unfinished.unlink(missing_ok=True)
        raise
