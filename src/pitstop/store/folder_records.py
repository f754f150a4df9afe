"""The records of runs in their folders: what is in them, and whether the process that writes one is alive."""

import contextlib
import fcntl
import json
import os
from collections.abc import Iterator
from pathlib import Path

import msgspec

from pitstop.store.port import ENDED, RunRecord
from pitstop.trees import remove_tree

KEPT_RUNS = 50
KILLED = "the process that ran it was killed"
PINNED = "pinned.json"


def read_record(path: Path) -> RunRecord | None:
    """The record in a folder; None when there is none. A run whose process is gone has ended with it."""
    record = _read_written(path)
    if record is not None and record.status not in ENDED and not is_locked(path):
        record = _read_written(path)  # once more: it may have told its end since, and is gone only then
        if record is not None and record.status not in ENDED:
            record = msgspec.structs.replace(record, status="cancelled", error=KILLED)
    return None if record is None else with_pin(record, path)


def _read_written(path: Path) -> RunRecord | None:
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


def forget_old_runs(runs: Path) -> None:
    """Of more than KEPT_RUNS, remove the oldest that have ended and are not pinned. Ids sort by time."""
    for name in sorted(path.name for path in _folders(runs))[:-KEPT_RUNS]:
        record = read_record(runs / name)
        if record is not None and record.status in ENDED and not record.is_pinned:
            remove_run(runs / name)


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
