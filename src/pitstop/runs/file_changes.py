"""Differences between the files of a workspace at two points."""

from typing import Literal

from pitstop.engine.workspace_files import FileChangeKind
from pitstop.lazy_dataclass import dataclass


@dataclass(frozen=True, slots=True)
class FileChangeInfo:
    """A change of one path between two points. `mode` means that only the permissions changed."""

    path: str
    kind: FileChangeKind
    is_text: bool = False


@dataclass(frozen=True, slots=True)
class FileChanges:
    """The files that differ between two points, by path; `total` also counts omitted ones."""

    changes: tuple[FileChangeInfo, ...]
    total: int


@dataclass(frozen=True, slots=True, kw_only=True)
class FileDiff:
    """One file at two points. `diff` is a unified diff, empty for a binary file; no `kind` means no change."""

    path: str
    kind: FileChangeKind | Literal[""]
    is_text: bool
    diff: str = ""
    is_cut: bool = False
