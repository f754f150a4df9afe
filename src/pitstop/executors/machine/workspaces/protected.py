"""Paths of a repository that a command must not change, and the folders that hold them in their place."""

import os
from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct

from pitstop.executors.machine.workspaces.workspace import path_in_repo


class Protected(Struct, frozen=True):
    """What is mounted read-only, and the `parents` of that in the repo, without which they could be renamed."""

    paths: tuple[Path, ...] = ()
    parents: tuple[Path, ...] = ()


def protected_in(repo: Path, relative: Sequence[str]) -> Protected:
    """Those paths of the repo. Raises ValueError, which names the first that cannot be protected."""
    paths = {_checked(repo, path) for path in relative}
    parents = {parent for path in paths for parent in path.parents if parent != repo and parent.is_relative_to(repo)}
    return Protected(tuple(sorted(paths)), tuple(sorted(parents - paths)))


def _checked(repo: Path, relative: str) -> Path:
    try:
        path = path_in_repo(repo, relative)
    except ValueError as error:
        raise ValueError(f"cannot protect {relative}: {error}") from error
    if path != Path(os.path.normpath(repo / relative)):
        raise ValueError(f"cannot protect {relative}: it is behind a symbolic link; protect the folder of the link")
    if not path.exists():
        raise ValueError(f"cannot protect {relative}: there is no such file or folder")
    return path
