"""Differences between the files of a workspace at two points."""

from typing import Literal

from pitstop.engine.workspace_files import FileChangeKind
from pitstop.lazy_dataclass import dataclass


@dataclass(frozen=True, slots=True)
class FileChangeInfo:
    """What became of one path between two points. `mode` is a change of the permissions only."""

    path: str
    kind: FileChangeKind
    is_text: bool = False


@dataclass(frozen=True, slots=True)
class FileChanges:
    """The files that differ between two points, by path; `total` counts those too that were left off."""

    changes: tuple[FileChangeInfo, ...]
    total: int


@dataclass(frozen=True, slots=True, kw_only=True)
class FileDiff:
    """One file at two points. `diff` is in the unified format, and empty for what is no text; no `kind`, no change."""

    path: str
    kind: FileChangeKind | Literal[""]
    is_text: bool
    diff: str = ""
    is_cut: bool = False
