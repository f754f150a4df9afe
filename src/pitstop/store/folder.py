"""Runs as folders of this machine, for runs without a server.

    <home>/runs/<run>/run.json        the record, and the process that the run is in: only that writes it
                      pinned.json     whether it was pinned, or not any more, which any process may say
                      events.jsonl    one event per line; locked for as long as a process has the run
                      logs/           what each occurrence wrote, and an index of its lines
                      artifacts/
    <home>/flows/<flow>.json          what is kept with a flow

Nothing here keeps a run from going on: what cannot be written, because the disk is full, is a `problem` to be told.
"""

import asyncio
import hashlib
import json
import os
import signal
from collections.abc import AsyncIterable, AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.parse import quote

import msgspec

from pitstop.engine.executor import LogChunk, Stream
from pitstop.engine.workspace_files import FoundFile
from pitstop.errors import InAnotherProcess, NotRunning, UnknownArtifact, UnknownRun
from pitstop.events.types import AnyEvent
from pitstop.store.artifact_files import each_file
from pitstop.store.folder_log import FolderLog
from pitstop.store.folder_output import FolderOutput, read_bytes, read_end, read_lines, read_sizes
from pitstop.store.folder_records import (
    PINNED,
    is_locked,
    old_runs,
    read_owner,
    read_record,
    read_records,
    read_written,
    remove_run,
    replace_file,
    take_lock,
    with_pin,
)
from pitstop.store.port import ENDED, Artifact, FileChunk, OutputLine, RunFilter, RunRecord
from pitstop.trees import entries_in

LONGEST_NAME = 120
READ_BYTES = 1024 * 1024
UNCERTAIN_NS = 1_000_000_000
MOST_OPEN = 64  # outputs, of two files each, that stay open while they are written


class FolderRun:
    """A KeptRun. Only the one that `create` or `claim` gave writes; those that were opened read what it wrote."""

    def __init__(self, path: Path, record: RunRecord, events: Sequence[AnyEvent] = (), *, is_own: bool = False) -> None:
        self.id = path.name
        self.path = path
        self.problem: str | None = None
        self._record = record
        self._is_own = is_own
        self._outputs: dict[str, FolderOutput] = {}  # those that are being written
        self._line_counts: dict[str, list[int]] = {}  # of outputs that were read: see `read_lines`
        self._keeping = asyncio.Lock()  # of artifacts
        self._lock_fd = -1
        self._is_closed = False
        if is_own:
            self._begin()
        self.log = FolderLog(
            path / "events.jsonl",
            carried_over=record.carried_over,
            events=events,
            is_own=is_own,
            attempt=self._attempt,
            is_alive=self.is_alive,
        )

    def is_alive(self) -> bool:
        """Whether there may be more of the run: it has not ended, and this is not the process that has left it."""
        record = self._record if self._is_own else read_record(self.path)
        return record is not None and record.status not in ENDED and not self._is_closed

    def claim(self) -> None:
        """Continue the run from here. InAnotherProcess, BadLog, and NotRunning when it has ended."""
        lock = take_lock(self.path)
        if lock is None:
            raise InAnotherProcess(self.id, read_owner(self.path))
        try:
            record = read_written(self.path)  # now that no other process changes it
            if record is None or record.status in ENDED:
                raise NotRunning
            self.log.take_over()
        except BaseException:
            os.close(lock)
            raise
        self._lock_fd, self._record, self._is_own = lock, msgspec.structs.replace(record, error=None), True
        self._write_record()

    async def record(self) -> RunRecord:
        return with_pin(self._record, self.path) if self._is_own else self._read()

    async def update(self, **changes: Any) -> None:
        self.note(**changes)

    def note(self, **changes: Any) -> None:
        self.log.write()  # what happened is not to be missing where its end is told
        if "is_pinned" in changes:
            pinned = msgspec.json.encode(changes.pop("is_pinned"))
            self._attempt(lambda: replace_file(self.path / PINNED, pinned))
        if changes:
            self._record = msgspec.structs.replace(self._record if self._is_own else self._read(), **changes)
            self._write_record()

    # What steps write

    def append_output(self, occurrence: str, chunk: LogChunk) -> None:
        output = self._outputs.get(occurrence)
        if output is None:
            file = self._log_file(occurrence)
            self._attempt(lambda: file.parent.mkdir(mode=0o700, exist_ok=True))
            output = self._outputs[occurrence] = FolderOutput(file)
        self._attempt(lambda: output.append(chunk))
        if len(self._outputs) > MOST_OPEN:
            output.rest()

    def end_output(self, occurrence: str) -> None:
        output = self._outputs.pop(occurrence, None)
        if output is not None:
            self._attempt(output.end)

    async def output_lines(
        self, occurrence: str, *, after: int = 0, search: str | None = None
    ) -> AsyncIterator[Sequence[OutputLine]]:
        counts = self._line_counts.setdefault(occurrence, [0])
        blocks = read_lines(self._log_file(occurrence), after, search, counts)
        while block := await asyncio.to_thread(next, blocks, ()):
            yield block

    async def output_end(self, occurrence: str, most_bytes: int) -> bytes:
        begun = self._outputs[occurrence].begun if occurrence in self._outputs else b""
        return (read_end(self._log_file(occurrence), most_bytes) + begun)[-most_bytes:] if most_bytes > 0 else b""

    async def output_bytes(self, occurrence: str) -> AsyncIterator[bytes]:
        for block in read_bytes(self._log_file(occurrence), READ_BYTES):
            yield block

    async def output_sizes(self, occurrence: str, since: float) -> Mapping[Stream, int]:
        return read_sizes(self._log_file(occurrence), since)

    def _log_file(self, occurrence: str) -> Path:
        return self.path / "logs" / f"{file_name(occurrence)}.log"

    # Artifacts

    async def keep_artifacts(self, files: AsyncIterator[FileChunk]) -> None:
        async with self._keeping:
            async for file, chunks in each_file(files):
                kept = self.path / "artifacts" / file.path
                if self.problem is None and not _is_kept(file, kept):
                    await self._keep_file(file, chunks, kept)

    async def _keep_file(self, file: FoundFile, chunks: AsyncIterable[bytes], kept: Path) -> None:
        """Keep a file in one step: readers see what was kept before, or all of this."""
        unfinished = self.path / f"{os.urandom(4).hex()}.new"
        try:
            kept.parent.mkdir(parents=True, exist_ok=True)
            with unfinished.open("xb") as written:
                async for data in chunks:
                    written.write(data)
            os.utime(unfinished, ns=(file.mtime_ns, file.mtime_ns))
            unfinished.chmod(file.mode)
            unfinished.replace(kept)
        except OSError as error:
            self._note_problem(error)
        finally:
            unfinished.unlink(missing_ok=True)

    async def artifacts(self) -> tuple[Artifact, ...]:
        kept, found = self.path / "artifacts", []
        for path in sorted(_files_in(kept)):
            with suppress(FileNotFoundError):  # the run is deleted at this moment
                found.append(Artifact(path.relative_to(kept).as_posix(), path.stat().st_size))
        return tuple(found)

    async def artifact(self, path: str) -> AsyncIterator[bytes]:
        kept = self.path / "artifacts"
        file = kept / path
        if ".." in Path(path).parts or not file.is_relative_to(kept) or not file.is_file():
            raise UnknownArtifact(path)
        for block in read_bytes(file, READ_BYTES):
            yield block

    # The folder itself

    async def close(self) -> None:
        self._is_closed = True
        for occurrence in list(self._outputs):
            self.end_output(occurrence)
        self.log.close()
        if self._lock_fd >= 0:
            os.close(self._lock_fd)
            self._lock_fd = -1

    def _begin(self) -> None:
        """Make the folder and lock it: whoever looks at it later can tell whether we live."""
        try:
            self.path.mkdir(parents=True, mode=0o700)
            lock = take_lock(self.path)
            self._lock_fd = -1 if lock is None else lock
        except OSError as error:
            self.problem = f"the run is not stored: {error.strerror or error} ({self.path})"
        self._write_record()

    def _write_record(self) -> None:
        owner = os.getpid() if self._is_own else read_owner(self.path)
        described = msgspec.to_builtins(self._record) | {"owner": owner}
        self._attempt(lambda: replace_file(self.path / "run.json", msgspec.json.encode(described)))

    def _read(self) -> RunRecord:
        record = read_record(self.path)
        if record is None:
            raise UnknownRun(self.id)
        return record

    def _attempt(self, write: Callable[[], object]) -> None:
        if self.problem is None:
            try:
                write()
            except OSError as error:
                self._note_problem(error)

    def _note_problem(self, error: OSError) -> None:
        self.problem = f"the run is not stored from here on: {error.strerror or error} ({self.path})"


class FolderStore:
    """A LocalStore. Of runs that have ended and are not pinned, the newest are kept."""

    def __init__(self, home: Path) -> None:
        self._runs = home / "runs"
        self._flows = home / "flows"

    async def create(self, record: RunRecord, events: Sequence[AnyEvent] = ()) -> FolderRun:
        return FolderRun(self._runs / record.id, record, events, is_own=True)

    async def open(self, run: str, *, events: bool = True) -> FolderRun:
        path = self._runs / run
        record = read_record(path) if run and Path(run).name == run else None
        if record is None:
            raise UnknownRun(run)
        return FolderRun(path, record)

    async def claim(self, run: str) -> FolderRun:
        kept = await self.open(run)
        kept.claim()
        return kept

    async def old_runs(self) -> tuple[str, ...]:
        return tuple(old_runs(self._runs))

    async def find(self, filter: RunFilter) -> tuple[RunRecord, ...]:
        found = [record for record in read_records(self._runs) if _fits(record, filter)]
        found.sort(key=lambda record: (record.created_at, record.id), reverse=True)
        return tuple(found[: filter.limit])

    async def delete(self, run: str) -> None:
        path = (await self.open(run)).path
        await asyncio.to_thread(remove_run, path)

    async def read_flow_setting(self, flow: str, name: str) -> Any:
        return self._settings_of(flow).get(name)

    async def write_flow_setting(self, flow: str, name: str, value: Any) -> None:
        self._flows.mkdir(parents=True, exist_ok=True, mode=0o700)
        settings = self._settings_of(flow) | {"flow": flow, name: value}
        replace_file(self._flow_file(flow), json.dumps(settings).encode())

    async def close(self) -> None:
        """There is nothing to close: each run has its own files."""

    def owner_of(self, run: str) -> int | None:
        """The process that a run is in; None for a run that is in none any more."""
        path = self._runs / run
        return read_owner(path) if is_locked(path) else None

    def end_elsewhere(self, run: str, at_once: bool) -> None:
        """Ask the process that a run is in to end it, as Ctrl-C would; NotRunning when there is none."""
        owner = self.owner_of(run)
        if owner is None:
            raise NotRunning
        # Of two that are the same, whoever is busy hears one
        second = signal.SIGINT if _ignores(owner, signal.SIGHUP) else signal.SIGHUP
        for number in (signal.SIGTERM, second) if at_once else (signal.SIGTERM,):
            try:
                os.kill(owner, number)
            except ProcessLookupError as error:
                raise NotRunning from error

    def _settings_of(self, flow: str) -> dict[str, Any]:
        try:
            return dict(json.loads(self._flow_file(flow).read_bytes()))
        except (OSError, ValueError):
            return {}

    def _flow_file(self, flow: str) -> Path:
        return self._flows / f"{_hash_of(flow)}.json"


def _ignores(pid: int, number: int) -> bool:
    """Whether a process was told to ignore a signal, as `nohup` does."""
    try:
        status = Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return False
    ignored = status.partition("SigIgn:")[2].split()
    return bool(ignored and int(ignored[0], 16) >> (number - 1) & 1)


def file_name(occurrence: str) -> str:
    """A name that any occurrence can have, and no other has."""
    name = quote(occurrence, safe="@#[]+")
    return name if len(name) <= LONGEST_NAME else f"{name[:LONGEST_NAME]}-{_hash_of(occurrence)}"


def _fits(record: RunRecord, filter: RunFilter) -> bool:
    if filter.status and record.status not in filter.status:
        return False
    if filter.flow is not None and record.flow != filter.flow:
        return False
    if filter.repo is not None and record.repo != filter.repo:
        return False
    if filter.ref is not None and record.ref != filter.ref:
        return False
    if filter.file is not None and record.file != filter.file:
        return False
    if filter.before is not None and (record.created_at, record.id) >= filter.before:
        return False
    if filter.search is None:
        return True
    wanted = filter.search.casefold()
    return any(wanted in text.casefold() for text in (record.id, record.flow, record.file))


def _files_in(folder: Path) -> Iterator[Path]:
    """Every file below. What goes meanwhile, because a step is at work there, is left out."""
    return (path for entry in entries_in(folder) if (path := Path(entry.path)).is_file())


def _is_kept(file: FoundFile, kept: Path) -> bool:
    """Whether the file is kept as it is. One that had just been written when it was kept may have changed unseen."""
    try:
        status = kept.stat()
    except FileNotFoundError:
        return False
    is_same = (status.st_size, status.st_mtime_ns) == (file.size, file.mtime_ns)
    return is_same and status.st_ctime_ns - file.mtime_ns > UNCERTAIN_NS


def _hash_of(text: str) -> str:
    """A short name for a long one."""
    return hashlib.blake2b(text.encode(), digest_size=6).hexdigest()
