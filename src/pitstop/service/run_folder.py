"""The runs of this machine as folders: what a run was, its events, and what its steps wrote.

    <runs>/<run>/run.json        the flow, when it began, and how it ended
                 events.jsonl    one event per line
                 logs/<occurrence>.log

Nothing here keeps a run from going on: what cannot be written, because the disk is full, is a `problem` to be told.
"""

import json
import os
import secrets
import shutil
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from hashlib import blake2b
from itertools import islice
from pathlib import Path
from typing import Any
from urllib.parse import quote

KEPT_RUNS = 50
LONGEST_NAME = 120


@dataclass(frozen=True, slots=True)
class KeptRun:
    """A run of the past."""

    folder: "RunFolder"
    flow: str
    status: str | None  # None while it runs, and for one that was killed
    is_partial: bool  # whether it was of a single step

    @property
    def id(self) -> str:
        return self.folder.id


class RunFolder:
    """The folder of one run. `problem` says why something could not be kept, if that was so."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.problem: str | None = None
        self._events_fd = -1
        self._log_files: dict[str, Path] = {}

    @property
    def id(self) -> str:
        return self.path.name

    @property
    def events_file(self) -> Path:
        return self.path / "events.jsonl"

    def log_file(self, occurrence: str) -> Path:
        if occurrence not in self._log_files:
            name = quote(occurrence, safe="@#[]+")
            if len(name) > LONGEST_NAME:
                name = f"{name[:LONGEST_NAME]}-{hash_of(occurrence)}"
            self._log_files[occurrence] = self.path / "logs" / f"{name}.log"
        return self._log_files[occurrence]

    def write_description(self, **description: Any) -> None:
        self._attempt(lambda: _replace(self.path / "run.json", json.dumps(description)))

    def append_events(self, lines: bytes) -> None:
        def write() -> None:
            if self._events_fd < 0:
                self._events_fd = os.open(self.events_file, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
            _write_all(self._events_fd, lines)

        self._attempt(write)

    def append_log(self, occurrence: str, data: bytes) -> None:
        def write() -> None:
            fd = os.open(self.log_file(occurrence), os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
            try:
                _write_all(fd, data)
            finally:
                os.close(fd)

        self._attempt(write)

    def read_log_end(self, occurrence: str, most_bytes: int) -> bytes:
        try:
            with self.log_file(occurrence).open("rb") as file:
                file.seek(max(0, file.seek(0, os.SEEK_END) - most_bytes))
                return file.read()
        except FileNotFoundError:
            return b""

    def read_events(self) -> list[Any]:
        """The events as JSON; the last line of a run that was killed may be cut, and is left out."""
        try:
            lines = self.events_file.read_bytes().split(b"\n")
        except FileNotFoundError:
            return []
        return [json.loads(line) for line in lines[:-1]]

    def take_artifacts(self, artifacts: Path) -> None:
        """Keep the files that steps handed on, which would go with the workspace."""
        if self.problem is None and artifacts.is_dir() and any(artifacts.iterdir()):
            self._attempt(lambda: shutil.move(artifacts, self.path / "artifacts"))

    def remove(self) -> None:
        """For a run that never was."""
        shutil.rmtree(self.path, ignore_errors=True)

    def close(self) -> None:
        if self._events_fd >= 0:
            os.close(self._events_fd)
            self._events_fd = -1

    def _attempt(self, write: Callable[[], object]) -> None:
        if self.problem is None:
            try:
                write()
            except OSError as error:
                self.problem = f"the run is not kept from here on: {error.strerror or error} ({self.path})"


def create_run_folder(runs: Path) -> RunFolder:
    """A folder for a new run. One that cannot be made is a problem of the run, and no hindrance."""
    now = time.gmtime()
    folder = RunFolder(runs / f"{time.strftime('%Y%m%d-%H%M%S', now)}-{secrets.token_hex(3)}")
    try:
        (folder.path / "logs").mkdir(parents=True, mode=0o700)
    except OSError as error:
        folder.problem = f"the run is not kept: {error.strerror or error} ({runs})"
    return folder


def kept_runs(runs: Path) -> Iterator[KeptRun]:
    """The runs that are kept, the newest first."""
    try:
        paths = sorted(runs.iterdir(), reverse=True)
    except FileNotFoundError:
        return
    for path in paths:
        folder = RunFolder(path)
        try:
            description = json.loads((folder.path / "run.json").read_text())
        except (OSError, ValueError):
            continue
        yield KeptRun(
            folder, str(description.get("flow")), description.get("status"), bool(description.get("is_partial"))
        )


def forget_old_runs(runs: Path) -> None:
    """Remove the oldest runs that have ended, so that no more than KEPT_RUNS are there."""
    if runs.is_dir() and sum(1 for _ in runs.iterdir()) > KEPT_RUNS:
        for run in islice(kept_runs(runs), KEPT_RUNS, None):
            if run.status is not None:
                shutil.rmtree(run.folder.path, ignore_errors=True)


def hash_of(text: str) -> str:
    """A short name for a long one."""
    return blake2b(text.encode(), digest_size=6).hexdigest()


def _replace(path: Path, text: str) -> None:
    unfinished = path.with_suffix(".new")
    unfinished.write_text(text)
    unfinished.replace(path)


def _write_all(fd: int, data: bytes) -> None:
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(fd, rest) :]
