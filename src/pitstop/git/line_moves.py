"""Where lines of the files in one commit are in another, which need not descend from it."""

import re
from collections.abc import Collection, Iterable, Iterator, Sequence

from msgspec import Struct

from pitstop.git.bare import BareRepository
from pitstop.git.commands import ask_git
from pitstop.git.contents import clean_path, kind_of
from pitstop.git.names import EMPTY_TREE

MOST_PATCH_BYTES = 16 * 1024 * 1024
MOST_PATHS_AT_ONCE = 200

Place = tuple[str, int]  # a path, and a line counted from 1

_HUNK = re.compile(rb"@@ -(\d+)(?:,(\d+))? \+\d+(?:,(\d+))? @@")
_COMPARE = ("diff-tree", "-r", "-z", "--no-ext-diff", "--no-textconv")


class Hunk(Struct, frozen=True):
    """Lines that were replaced; if `removed` is 0, new ones follow the line `start`."""

    start: int
    removed: int
    added: int


class _Change(Struct, frozen=True):
    """A file that differs: where it is now, and its old and new blobs."""

    path: str
    new_path: str
    old_blob: str
    new_blob: str


async def moved_lines(
    repository: BareRepository, old: str, new: str, places: Collection[Place]
) -> dict[Place, Place | None]:
    """Where lines of the commit `old` are in `new`; None for a line that is changed or gone, or was never there.

    For equal commits, git is not asked, so a line beyond the end is not noticed.
    """
    repository.check_commits(old, new)
    if old == new:
        return {place: place if place[1] > 0 else None for place in places}
    paths = sorted({path for path, line in places if line > 0 and path and clean_path(path) == path})
    lengths = await _lengths(repository, old, paths)
    changes = await _changes(repository, old, new) if lengths else {}
    moved = {path: changes.get(path) for path in lengths}
    hunks = await _hunks(repository, old, new, [change for change in moved.values() if change is not None])
    found: dict[Place, Place | None] = {}
    for path, line in places:
        change = moved.get(path)
        is_there = 0 < line <= lengths.get(path, 0)
        shifted = shift_line(() if change is None else hunks.get(path), line) if is_there else None
        found[path, line] = None if shifted is None else (path if change is None else change.new_path, shifted)
    return found


def shift_line(hunks: Iterable[Hunk] | None, line: int) -> int | None:
    """Where a line is after a diff without context; None if the diff changes or removes it, or is not known."""
    if hunks is None:
        return None
    shifted = line
    for hunk in hunks:
        if hunk.removed and hunk.start <= line < hunk.start + hunk.removed:
            return None
        if hunk.start < line:
            shifted += hunk.added - hunk.removed
    return shifted


def parse_hunks(patch: bytes) -> list[list[Hunk] | None]:
    """The hunks of each file in a patch without context, in the order of the files; None for a binary file."""
    files: list[list[Hunk] | None] = []
    for line in patch.split(b"\n"):  # lines of the files themselves begin with a sign
        if line.startswith(b"diff --git "):
            files.append([])
        elif line.startswith(b"Binary files "):
            files[-1] = None
        elif (match := _HUNK.match(line)) and files[-1] is not None:
            start, removed, added = (1 if number is None else int(number) for number in match.groups())
            files[-1].append(Hunk(start, removed, added))
    return files


async def _lengths(repository: BareRepository, commit: str, paths: Sequence[str]) -> dict[str, int]:
    """How many lines text files have; other files are left out."""
    counted = {}
    for some in _portions(paths):
        words = (*_COMPARE, "--no-renames", "--numstat", EMPTY_TREE, commit, "--", *some)
        printed = (await ask_git(repository.folder, *words, codes=(0,))).output.decode(errors="replace")
        for entry in printed.split("\0")[:-1]:
            added, _, path = entry.split("\t", 2)
            counted[path] = int(added) if added.isdigit() else 0
    return {path: counted[path] for path in paths if counted.get(path)}


async def _changes(repository: BareRepository, old: str, new: str) -> dict[str, _Change]:
    """The files that differ, by their old paths; one that is gone, or no file any more, has no new blob."""
    words = (*_COMPARE, "-M", "--raw", "--diff-filter=MRDT", old, new)
    printed = (await ask_git(repository.folder, *words, codes=(0,))).output
    tokens = iter(printed.decode(errors="replace").split("\0")[:-1])
    changes = {}
    for fields in tokens:
        _, mode, old_blob, new_blob, status = fields.split(" ")
        path = next(tokens, "")
        new_path = next(tokens, "") if status.startswith("R") else path
        is_same_kind = status[0] in "MR" and kind_of(mode) != "submodule"
        changes[path] = _Change(path, new_path, old_blob, new_blob if is_same_kind else "")
    return changes


async def _hunks(
    repository: BareRepository, old: str, new: str, changes: Sequence[_Change]
) -> dict[str, list[Hunk] | None]:
    """The hunks of each file by its old path; None if its lines cannot be compared."""
    hunks: dict[str, list[Hunk] | None] = {change.path: None for change in changes if not change.new_blob}
    hunks |= {change.path: [] for change in changes if change.new_blob == change.old_blob}
    remaining = [change for change in changes if change.path not in hunks]
    for some in _portions([change.path for change in remaining if change.path == change.new_path]):
        words = (*_COMPARE, "--no-renames", "-U0", "-p", old, new, "--", *some)
        outcome = await ask_git(repository.folder, *words, codes=(0,), limit_bytes=MOST_PATCH_BYTES)
        if not outcome.is_cut:
            hunks |= zip(some, parse_hunks(outcome.output), strict=True)
    for change in remaining:  # what was renamed, and what was too much at once
        if change.path not in hunks:
            hunks[change.path] = await _hunks_between(repository, change.old_blob, change.new_blob)
    return hunks


async def _hunks_between(repository: BareRepository, old_blob: str, new_blob: str) -> list[Hunk] | None:
    words = ("diff", "-U0", "--no-ext-diff", "--no-textconv", old_blob, new_blob)
    outcome = await ask_git(repository.folder, *words, limit_bytes=MOST_PATCH_BYTES)
    return None if outcome.is_cut else next(iter(parse_hunks(outcome.output)), None)


def _portions(paths: Sequence[str]) -> Iterator[Sequence[str]]:
    """The paths in portions that are short enough for the command line."""
    return (paths[start : start + MOST_PATHS_AT_ONCE] for start in range(0, len(paths), MOST_PATHS_AT_ONCE))
