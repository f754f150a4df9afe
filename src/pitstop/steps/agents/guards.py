"""Which files an agent must not touch: what to mount read-only for it, and what it changed all the same."""

import re
from collections.abc import Sequence

from pitstop.definition.name_patterns import pattern_regex

MOST_MOUNTS = 200
REPOSITORY = "."
_WILDCARD = re.compile(r"[*?\[\\]")


def mounts_for(patterns: Sequence[str], found: Sequence[str]) -> tuple[str, ...]:
    """The files and folders among those found, or around them, to mount read-only. ValueError if they are too many.

    A pattern such as `tests/**` or `tests` stands for the folder itself, so that no file can be added there.
    """
    guard = _Guard(patterns)
    present = {REPOSITORY, *found, *(parent for path in found for parent in _parents(path))}
    wanted = guard.folders & present | {path for path in found if guard.has_name(path)}
    mounts = sorted(path for path in wanted if not wanted.intersection(_parents(path)))
    if len(mounts) > MOST_MOUNTS:
        raise ValueError(
            f"`protect` matches {len(mounts):,} files, and at most {MOST_MOUNTS} can be protected one by one: "
            "protect folders, such as `tests/**`"
        )
    return tuple(mounts)


def violations(patterns: Sequence[str], changed_files: Sequence[str]) -> list[str]:
    """The changed files that are protected: no mount can prevent new ones where there was no folder yet."""
    guard = _Guard(patterns)
    return sorted({path for path in changed_files if guard.has_name(path) or guard.is_around(path)})


class _Guard:
    """The patterns: those that stand for a path and all that is below it, and those of names."""

    def __init__(self, patterns: Sequence[str]) -> None:
        anchored = [pattern.removeprefix("./").lstrip("/") for pattern in patterns]
        self.folders = {folder for folder in map(path_of, anchored) if folder is not None}
        names = [pattern_regex(pattern) for pattern in anchored if path_of(pattern) is None]
        self._names = [re.compile(name, re.DOTALL) for name in names]

    def has_name(self, path: str) -> bool:
        return any(name.fullmatch(path) for name in self._names)

    def is_around(self, path: str) -> bool:
        return not self.folders.isdisjoint((path, *_parents(path)))


def path_of(pattern: str) -> str | None:
    """The path that the pattern stands for; None if it is a pattern of names."""
    start = pattern.removesuffix("**") if pattern == "**" or pattern.endswith("/**") else pattern
    return None if _WILDCARD.search(start) else start.rstrip("/") or REPOSITORY


def _parents(path: str) -> list[str]:
    """The folders around it, and the repository, which is around all but itself."""
    parts = path.split("/")
    outer = [] if path == REPOSITORY else [REPOSITORY]
    return [*outer, *("/".join(parts[:count]) for count in range(1, len(parts)))]
