"""Files of a workspace that patterns name."""

import shutil
from collections.abc import Iterable, Mapping
from pathlib import Path, PurePosixPath

from pitstop.lazy_dataclass import dataclass
from pitstop.steps.failures import CannotWrite, NothingMatches, OutsideWorkspace

# What tells a file that was written again from one that was not: inode, size, time of the last change
Traces = Mapping[Path, tuple[int, int, int]]


@dataclass(frozen=True, slots=True)
class FoundFiles:
    """The files that patterns name, each once and in order, and the patterns that name none."""

    files: tuple[Path, ...]
    unmatched: tuple[str, ...]


def find_files(field: str, patterns: Iterable[str], folder: Path, repo: Path) -> FoundFiles:
    """The files in `folder` that the patterns name, a folder standing for all in it.

    OutsideWorkspace for a pattern or a link that leads out of `repo`.
    """
    found: dict[Path, None] = {}
    unmatched = []
    for pattern in patterns:
        matching = _matching(field, pattern, folder)
        if not matching:
            unmatched.append(pattern)
        for path in matching:
            if not path.resolve().is_relative_to(repo):
                raise OutsideWorkspace(field, str(path.relative_to(folder)))
            found[path] = None
    return FoundFiles(tuple(found), tuple(unmatched))


def trace_files(found: FoundFiles) -> Traces:
    return {path: _trace(path) for path in found.files}


def only_written(found: FoundFiles, before: Traces) -> FoundFiles:
    """Without the files that are as they were before."""
    written = tuple(path for path in found.files if before.get(path) != _trace(path))
    return FoundFiles(written, found.unmatched)


def collect_files(found: FoundFiles, repo: Path, target: Path) -> list[dict[str, object]]:
    """Copy the files into the folder, under the paths that they have in the repo, and list them."""
    collected: list[dict[str, object]] = []
    for path in found.files:
        relative = path.relative_to(repo)
        copy = target / relative
        try:
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(path, copy)
        except OSError as error:
            raise CannotWrite(f"artifact {relative}", error.strerror or str(error)) from error
        collected.append({"path": relative.as_posix(), "size": copy.stat().st_size})
    return collected


def require_all(field: str, found: FoundFiles, reason: str) -> None:
    """NothingMatches for the first pattern that names no file."""
    for pattern in found.unmatched:
        raise NothingMatches(field, pattern, reason)


def _matching(field: str, pattern: str, folder: Path) -> list[Path]:
    parts = PurePosixPath(pattern)
    if parts.is_absolute() or ".." in parts.parts:
        raise OutsideWorkspace(field, pattern)
    try:
        matches = sorted(folder.glob(pattern))
        files = [path for match in matches for path in (sorted(match.rglob("*")) if match.is_dir() else (match,))]
        return [path for path in files if path.is_file()]
    except (ValueError, NotImplementedError) as error:
        raise NothingMatches(field, pattern, f"this is no pattern for files ({error}):") from error
    except OSError as error:
        raise NothingMatches(
            field, pattern, f"{error.filename} cannot be looked at ({error.strerror}), so not"
        ) from error


def _trace(path: Path) -> tuple[int, int, int]:
    try:
        status = path.stat()
    except FileNotFoundError:  # it was there a moment ago
        return 0, 0, 0
    return status.st_ino, status.st_size, status.st_mtime_ns
