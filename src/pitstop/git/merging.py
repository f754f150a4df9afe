"""Merges and single commits in a bare repository: without a work tree, and with one move of a ref at the end."""

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Literal

from msgspec import Struct

from pitstop.errors import (
    BadRequest,
    CommandRefused,
    FileChanged,
    NothingToMerge,
    RefMoved,
    UnknownPath,
    UnknownRef,
)
from pitstop.git.bare import BareRepository, candidates_of
from pitstop.git.commands import run_git
from pitstop.git.incoming import commit_tree
from pitstop.git.merged_trees import Sides, clean_tree
from pitstop.git.names import BRANCHES, MOST_PATH_CHARACTERS, ZEROS, is_branch_name, is_writable_path
from pitstop.git.raw_commits import RawCommit, read_commits
from pitstop.git.rebasing import rebase

MOST_TRIES = 5
REGULAR, EXECUTABLE, FOLDER, SUBMODULE = "100644", "100755", "040000", "160000"

Method = Literal["merge", "squash", "rebase"]


class MergeResult(Struct, frozen=True):
    """A merge: its commit, where the target was before, and whether that was an ancestor of the source."""

    sha: str
    base_old: str
    is_fast_forward: bool


class _Merging(Struct, frozen=True):
    """How a merge is made, wherever its target is by then."""

    repository: BareRepository
    sides: Sides
    method: Method
    message: str
    who: str

    async def commit(self, start: str | None, base: RawCommit, merged: RawCommit) -> str:
        """The commit that the target moves to: `base` if nothing is to be merged, for they part at `start`."""
        if start == merged.sha:
            return base.sha
        if self.method == "rebase" and start is not None:
            return await rebase(self.repository, merged.sha, base, self.who, self.sides)
        is_fast_forward = start == base.sha
        tree = merged.tree if is_fast_forward else await clean_tree(self.repository, base.sha, merged.sha, self.sides)
        if self.method == "squash" and tree == base.tree:
            return base.sha
        parents = (base.sha, merged.sha) if self.method == "merge" else (base.sha,)
        return await commit_tree(self.repository, tree, parents, self.message, self.who)


class _File(Struct, frozen=True):
    """A file of a tree as it is before a change."""

    mode: str
    sha: str


async def merge(
    repository: BareRepository,
    *,
    source: str,
    target: str,
    method: Method,
    message: str,
    who: str,
    expect: str | None = None,
    reason: str = "",
) -> MergeResult:
    """Merge a branch, tag or commit into a branch; a rebase makes no merge commit. `reason` goes into the reflog.

    Raises `UnknownRef`, `NothingToMerge`, `MergeConflict`, and `RefMoved` when the source is not at `expect`.
    """
    merged, base = await _ends_of(repository, source, target)
    if expect is not None and merged.sha != expect:
        raise RefMoved(source, expect, merged.sha)
    text = message.strip() or f"Merge branch '{source}' into {target}"
    merging = _Merging(repository, Sides(source, target), method, text, who)
    for tries_left in reversed(range(MOST_TRIES)):
        start = await repository.merge_base(base.sha, merged.sha)
        sha = await merging.commit(start, base, merged)
        if sha == base.sha:
            raise NothingToMerge(source, target)
        try:
            await repository.move(BRANCHES + target, sha, base.sha, who=who, message=f"pitstop: merge {reason}")
        except RefMoved:
            if not tries_left:
                raise
            merged, base = await _ends_of(repository, merged.sha, target)
            continue
        return MergeResult(sha, base.sha, start == base.sha)
    raise AssertionError("the last try returns or raises")


async def write_file(
    repository: BareRepository,
    *,
    branch: str,
    path: str,
    content: bytes | None,
    expect: str | None,
    message: str,
    who: str,
) -> str:
    """Commit new content of one file to a branch, or its deletion for None; without a change there is no commit.

    `expect` is the blob that was opened, or "" if there was no file; `FileChanged` if it is another by now.
    """
    if not is_writable_path(path):
        raise BadRequest(
            f"invalid path {path!r}: use a relative path without '..' and '.git', of at most "
            f"{MOST_PATH_CHARACTERS:,} characters"
        )
    if not is_branch_name(branch):
        raise UnknownRef(repository.name, branch)
    verb = "delete" if content is None else "update"
    for tries_left in reversed(range(MOST_TRIES)):
        head = await repository.head_of(branch)
        if head is None and await repository.refs():
            raise UnknownRef(repository.name, branch)
        found = None if head is None else await _file_at(repository, head, path)
        _check_expected(branch, path, expect, found)
        if content is None and found is None:
            raise UnknownPath(path, head or branch)
        tree = await _changed_tree(repository, head, path, content, found)
        if head is not None and tree == await repository.tree_of(head):
            return head
        text = message.strip() or f"{verb.capitalize()} {path}"
        sha = await commit_tree(repository, tree, () if head is None else (head,), text, who)
        try:
            await repository.move(BRANCHES + branch, sha, head or ZEROS, who=who, message=f"pitstop: {verb} {path}")
        except RefMoved:
            if not tries_left:
                raise
            continue
        return sha
    raise AssertionError("the last try returns or raises")


def _check_expected(branch: str, path: str, expect: str | None, found: _File | None) -> None:
    sha = None if found is None else found.sha
    if expect is not None and expect != (sha or ""):
        raise FileChanged(branch, path, sha)


async def _ends_of(repository: BareRepository, source: str, target: str) -> tuple[RawCommit, RawCommit]:
    """The commits of the source and of the target branch. Raises `UnknownRef`."""
    if not is_branch_name(target):
        raise UnknownRef(repository.name, target)
    *sources, base = await read_commits(repository.folder, [*candidates_of(source), BRANCHES + target])
    merged = next(filter(None, sources), None)
    if merged is None or base is None:
        raise UnknownRef(repository.name, source if merged is None else target)
    return merged, base


async def _changed_tree(
    repository: BareRepository, head: str | None, path: str, content: bytes | None, found: _File | None
) -> str:
    """The tree of a commit with one file changed, made in an index of its own."""
    with TemporaryDirectory(prefix="pitstop-index-") as folder:
        index = {"GIT_INDEX_FILE": str(Path(folder, "index"))}
        await run_git(repository.folder, "read-tree", head or "--empty", environment=index)
        line = f"0 {ZEROS}\t{path}\0"
        if content is not None:
            blob = await run_git(repository.folder, "hash-object", "-w", "--stdin", input=content)
            mode = found.mode if found is not None and found.mode == EXECUTABLE else REGULAR
            line = f"{mode} {blob.decode().strip()}\t{path}\0"
        words = ("update-index", "-z", "--index-info")
        await run_git(repository.folder, *words, input=line.encode(), environment=index)
        return (await run_git(repository.folder, "write-tree", environment=index)).decode().strip()


async def _file_at(repository: BareRepository, commit: str, path: str) -> _File | None:
    """The file at a path. Raises `CommandRefused` if no file can be there."""
    folders = path.split("/")[:-1]
    parents = ["/".join(folders[:depth]) for depth in range(1, len(folders) + 1)]
    listed = await run_git(repository.folder, "ls-tree", "-z", "--full-tree", commit, "--", path, *parents)
    entries = {}
    for line in listed.decode(errors="replace").split("\0")[:-1]:
        fields, _, name = line.partition("\t")
        mode, _, sha = fields.split(" ")
        entries[name] = _File(mode, sha)
    blocked = next((parent for parent in parents if parent in entries and entries[parent].mode != FOLDER), None)
    if blocked is not None:
        raise CommandRefused(f"cannot write {path!r}: {blocked!r} is a file, not a folder")
    found = entries.get(path)
    if found is not None and found.mode in (FOLDER, SUBMODULE):
        raise CommandRefused(f"cannot write {path!r}: it is a {'folder' if found.mode == FOLDER else 'submodule'}")
    return found
