"""Differences between the files of a workspace at two points."""

from typing import Literal

from msgspec import Struct

from pitstop.engine.workspace_files import FileChangeKind


class FileChangeInfo(Struct, frozen=True):
    """A change of one path between two points. `mode` means that only the permissions changed."""

    path: str
    kind: FileChangeKind
    is_text: bool = False


class FileChanges(Struct, frozen=True):
    """The files that differ between two points, by path; `total` also counts omitted ones."""

    changes: tuple[FileChangeInfo, ...]
    total: int


class FileDiff(Struct, frozen=True, kw_only=True):
    """One file at two points. `diff` is a unified diff, empty for a binary file; no `kind` means no change."""

    path: str
    kind: FileChangeKind | Literal[""]
    is_text: bool
    diff: str = ""
    is_cut: bool = False
