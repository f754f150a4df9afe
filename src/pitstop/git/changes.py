"""What differs between two commits, as git prints it."""

from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

Status = Literal["added", "modified", "deleted", "renamed", "copied", "type_changed"]
_STATUSES: dict[str, Status] = {
    "A": "added",
    "M": "modified",
    "D": "deleted",
    "R": "renamed",
    "C": "copied",
    "T": "type_changed",
}


class ChangedFile(Struct, frozen=True, kw_only=True):
    """A file that differs; `added` and `removed` count lines, and are None if it is binary or was not counted."""

    path: str
    old_path: str | None
    status: Status
    added: int | None
    removed: int | None


class Diff(Struct, frozen=True):
    """The files that differ between two commits; `base` is the one that they were compared with."""

    base: str
    head: str
    files: tuple[ChangedFile, ...]
    is_cut: bool


class Patch(Struct, frozen=True):
    """The changed lines of a file, as a unified diff."""

    file: ChangedFile
    text: str
    is_cut: bool
    is_binary: bool


class Changes(Struct, frozen=True):
    """What git printed of a diff: its files, and the paths of those that are binary."""

    files: tuple[ChangedFile, ...]
    binary_paths: frozenset[str]


def parse_changes(printed: bytes) -> Changes:
    """The files that `git diff-tree -z --raw --numstat` prints; what is not complete is left out."""
    tokens = [token.decode(errors="replace") for token in printed.split(b"\0")[:-1]]
    files, position = _parse_raw(tokens)
    counts = _parse_counts(tokens[position:])
    binary = frozenset(path for path, count in counts.items() if count == (None, None))
    return Changes(tuple(_with_counts(file, counts) for file in files), binary)


def _parse_raw(tokens: list[str]) -> tuple[list[ChangedFile], int]:
    """The files, and where the counts of their lines begin."""
    files: list[ChangedFile] = []
    position = 0
    while position < len(tokens) and tokens[position].startswith(":"):
        status = _STATUSES.get(tokens[position].split(" ")[-1][:1], "modified")
        paths = tokens[position + 1 : position + (3 if status in ("renamed", "copied") else 2)]
        position += 1 + len(paths)
        if not paths or (status in ("renamed", "copied") and len(paths) < 2):
            break
        old_path = paths[0] if len(paths) == 2 else None
        files.append(ChangedFile(path=paths[-1], old_path=old_path, status=status, added=None, removed=None))
    return files, position


def _parse_counts(tokens: list[str]) -> dict[str, tuple[int | None, int | None]]:
    counts = {}
    remaining = iter(tokens)
    for token in remaining:
        added, removed, path = token.split("\t", 2)
        if not path:  # a renamed file: its two paths follow
            next(remaining, None)
            path = next(remaining, "")
        counts[path] = (_count_of(added), _count_of(removed))
    return counts


def _count_of(text: str) -> int | None:
    return int(text) if text.isdigit() else None


def _with_counts(file: ChangedFile, counts: dict[str, tuple[int | None, int | None]]) -> ChangedFile:
    added, removed = counts.get(file.path, (None, None))
    return replace(file, added=added, removed=removed)
