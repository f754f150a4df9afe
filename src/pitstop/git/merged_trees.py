"""The tree of merging two commits, with what conflicts in it."""

from collections.abc import Collection, Iterator
from itertools import islice
from typing import Literal

from msgspec import Struct

from pitstop.errors import MergeConflict
from pitstop.git.bare import BareRepository
from pitstop.git.commands import ask_git
from pitstop.git.contents import kind_of

MOST_NAMED_PATHS = 100  # more are not passed to git: it searches all files then

ConflictKind = Literal["text", "binary", "deleted", "renamed", "other"]

_MARKERS = (b"<<<<<<< ", b">>>>>>> ")
# The kinds that git has stable names for, the most telling first: one file may have several
_KINDS: tuple[tuple[str, ConflictKind], ...] = (
    ("binary", "binary"),
    ("rename", "renamed"),
    ("modify/delete", "deleted"),
    ("contents", "text"),
)


class ConflictFile(Struct, frozen=True):
    """A file that both sides changed. Only one of kind `text` has conflict markers for certain."""

    path: str
    kind: ConflictKind


class MergedTree(Struct, frozen=True):
    """The tree of a merge; where there are conflicts, its files have markers, or the version of one side."""

    tree: str
    conflicts: tuple[ConflictFile, ...]


class Sides(Struct, frozen=True):
    """What a merge is called in errors: the name of its source, and of its target."""

    source: str
    target: str


async def merge_trees(
    repository: BareRepository, ours: str, theirs: str, *, may_be_unrelated: bool = False
) -> MergedTree:
    """Merge two commits into a tree, which is stored. Raises `GitProblem` for unrelated histories."""
    repository.check_commits(ours, theirs)
    unrelated = ("--allow-unrelated-histories",) if may_be_unrelated else ()
    outcome = await ask_git(repository.folder, "merge-tree", "--write-tree", "-z", *unrelated, ours, theirs)
    return parse_merged(outcome.output)


async def clean_tree(
    repository: BareRepository, ours: str, theirs: str, sides: Sides, *, may_be_unrelated: bool = False
) -> str:
    """Merge two commits into a tree. Raises `MergeConflict` with the names of the two sides."""
    merged = await merge_trees(repository, ours, theirs, may_be_unrelated=may_be_unrelated)
    if merged.conflicts:
        raise MergeConflict(sides.source, sides.target, [(file.path, file.kind) for file in merged.conflicts])
    return merged.tree


def has_markers(content: bytes) -> bool:
    """Whether a line begins like a conflict, and a later one ends it."""
    found = [line[: len(_MARKERS[0])] for line in content.split(b"\n") if line.startswith(_MARKERS)]
    return _MARKERS[0] in found and _MARKERS[1] in found[found.index(_MARKERS[0]) :]


async def files_with_markers(
    repository: BareRepository, commit_or_tree: str, paths: Collection[str]
) -> tuple[str, ...]:
    """Those of the files in a commit or tree that still have conflict markers."""
    repository.check_commits(commit_or_tree)
    if not paths:
        return ()
    begin, end = (f"^{marker.decode()}" for marker in _MARKERS)
    words = ("grep", "-z", "-n", "-o", "-a", "--full-name", "-e", begin, "-e", end, commit_or_tree)
    limited = ("--", *paths) if len(paths) <= MOST_NAMED_PATHS else ()
    outcome = await ask_git(repository.folder, *words, *limited)
    lines: dict[str, list[bytes]] = {}
    for path, marker in _found_markers(outcome.output, len(commit_or_tree) + 1):
        lines.setdefault(path, []).append(marker)
    return tuple(path for path in paths if has_markers(b"\n".join(lines.get(path, ()))))


def parse_merged(printed: bytes) -> MergedTree:
    """What `git merge-tree --write-tree -z` prints: the tree, the versions of files in conflict, and messages."""
    tree, *tokens = printed.decode(errors="replace").split("\0")
    versions = tokens[: tokens.index("")]  # the messages follow behind an empty name
    modes: dict[str, set[str]] = {}
    for version in versions:
        fields, _, path = version.partition("\t")
        modes.setdefault(path, set()).add(fields.partition(" ")[0])
    types: dict[str, set[str]] = {path: set() for path in modes}
    for paths, named in _conflict_messages(iter(tokens[len(versions) + 1 :])):
        for path in paths:
            types.setdefault(path, set()).add(named)
    in_conflict = modes or types  # a folder that was split has no versions, only a message
    conflicts = (ConflictFile(path, _kind_of(types[path], modes.get(path, ()))) for path in in_conflict)
    return MergedTree(tree, tuple(conflicts))


def _conflict_messages(tokens: Iterator[str]) -> Iterator[tuple[list[str], str]]:
    """The paths and the type of each message about a conflict."""
    for count in tokens:
        if not count.isdigit():
            return
        paths = list(islice(tokens, int(count)))
        named = next(tokens, "")
        next(tokens, "")  # the text for people
        if named.startswith("CONFLICT"):
            yield paths, named


def _kind_of(types: Collection[str], modes: Collection[str]) -> ConflictKind:
    if any(kind_of(mode) != "file" for mode in modes):
        return "other"
    return next((kind for word, kind in _KINDS if any(word in named for named in types)), "other")


def _found_markers(printed: bytes, prefix: int) -> Iterator[tuple[str, bytes]]:
    """The path and the marker of each line that `git grep -z -n -o` found; the name of the tree comes first."""
    path, *tokens = printed.split(b"\0")
    width = len(_MARKERS[0])
    for token in tokens[1::2]:  # line numbers stand between
        yield path[prefix:].decode(errors="replace"), token[:width]
        path = token[width + 1 :]
