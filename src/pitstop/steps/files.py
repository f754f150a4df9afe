"""Files of a workspace that patterns name."""

from collections.abc import Mapping, Sequence
from itertools import chain

import msgspec

from pitstop.engine.workspace_files import FoundFile, WorkspaceFiles
from pitstop.errors import FileProblem, LimitExceeded, PathOutside
from pitstop.limits import Limits, too_long_artifact_path, too_many_artifacts
from pitstop.steps.failures import CannotWrite, NothingMatches, OutsideWorkspace

# What tells a file that was written again from one that was not: inode, size, time of the last change
Traces = Mapping[str, tuple[int, int, int]]
COARSE_SECONDS = 0.01  # how far the time of a change may lag behind the clock


class FoundFiles(msgspec.Struct, frozen=True):
    """The files that patterns name, each once and in order, and the patterns that name none."""

    files: tuple[FoundFile, ...]
    unmatched: tuple[str, ...]


async def find_files(files: WorkspaceFiles, field: str, patterns: Sequence[str], folder: str) -> FoundFiles:
    """The files in a folder of the repo that match, a folder standing for all in it; OutsideWorkspace."""
    try:
        found = await files.find("repo", patterns, folder)
    except PathOutside as error:
        raise OutsideWorkspace("working_directory" if error.path == folder else field, error.path) from error
    except FileProblem as error:
        raise NothingMatches(field, error.path, f"{error.reason}:") from error
    once = {file.path: file for file in chain.from_iterable(found)}
    unmatched = (pattern for pattern, matching in zip(patterns, found, strict=True) if not matching)
    return FoundFiles(tuple(once.values()), tuple(unmatched))


def trace_files(found: FoundFiles) -> Traces:
    return {file.path: _trace(file) for file in found.files}


def only_written(found: FoundFiles, before: Traces) -> FoundFiles:
    """Without the files that are as they were before."""
    written = tuple(file for file in found.files if before.get(file.path) != _trace(file))
    return FoundFiles(written, found.unmatched)


def without_newer(traces: Traces, since: float) -> Traces:
    """Without the files that changed since then."""
    begin_ns = int((since - COARSE_SECONDS) * 1e9)
    return {path: trace for path, trace in traces.items() if trace[2] < begin_ns}


async def collect_files(files: WorkspaceFiles, found: FoundFiles, limits: Limits) -> list[dict[str, object]]:
    """Copy the files to the artifacts, under the paths that they have in the repo, and list them. LimitExceeded."""
    too_long = (too_long_artifact_path(file.path) for file in found.files)
    excess = too_many_artifacts(len(found.files), sum(file.size for file in found.files), limits)
    excess = excess or next(filter(None, too_long), None)
    if excess is not None:
        raise LimitExceeded(excess)
    try:
        kept = await files.keep([file.path for file in found.files])
    except FileProblem as error:
        raise CannotWrite(f"artifact {error.path}", error.reason) from error
    return [{"path": file.path, "size": file.size} for file in kept]


def require_all(field: str, found: FoundFiles, reason: str) -> None:
    """NothingMatches for the first pattern that names no file."""
    for pattern in found.unmatched:
        raise NothingMatches(field, pattern, reason)


def _trace(file: FoundFile) -> tuple[int, int, int]:
    return file.inode, file.size, file.mtime_ns
