"""What people look at in a repository: branches, files, commits and differences."""

import asyncio
from itertools import islice

from pitstop.errors import BadCursor, GitProblem, UnknownPath, UnknownRef
from pitstop.git.bare import BareRepository
from pitstop.git.changes import Changes, Diff, Patch, parse_changes
from pitstop.git.commands import ask_git, run_git
from pitstop.git.contents import (
    COMMIT_FORMAT,
    Branch,
    CommitEntry,
    FileContent,
    Tree,
    TreeEntry,
    clean_path,
    file_content,
    find_in_tree,
    parse_commit,
    parse_commits,
    parse_listing,
)
from pitstop.git.names import BRANCHES, EMPTY_TREE, ZEROS, is_full_sha
from pitstop.git.objects import ObjectReader, StoredObject
from pitstop.git.ref_values import RefValue

IDLE_SECONDS = 60.0
MOST_BRANCHES = 100
MOST_COMPARED_AT_ONCE = 4
MOST_ENTRIES = 5_000
MOST_COMMITS = 500
MOST_COMMIT_BYTES = 1024 * 1024
MOST_FILES = 3_000
MOST_FILE_BYTES = 1024 * 1024
MOST_PATCH_BYTES = 1024 * 1024
MOST_TREE_BYTES = 64 * 1024 * 1024
MOST_PRINTED_BYTES = 32 * 1024 * 1024

_DIFF = ("diff-tree", "-r", "-M", "--no-ext-diff", "--no-textconv")


class RepositoryReader:
    """Reads a repository through a process of git that stays open until it is closed, or idle.

    Commits are given by their full names; what is not there raises `UnknownPath` or `UnknownRef`.
    """

    def __init__(self, repository: BareRepository) -> None:
        self._repository = repository
        self._folder = repository.folder
        self._objects = ObjectReader(repository.folder)

    async def close(self) -> None:
        """End the process of git; the reader can still be used."""
        await self._objects.close()

    async def close_if_idle(self, now: float) -> None:
        """End the process of git if it was not used for a minute; `now` is a time of the event loop."""
        await self._objects.close_if_idle(now, IDLE_SECONDS)

    # Branches and commits

    async def branches(
        self, default_branch: str, *, after: str | None = None, limit: int = MOST_BRANCHES
    ) -> tuple[list[Branch], str | None]:
        """A page of branches in the order of their names, and where the next one begins; None at the end."""
        refs = await self._repository.refs()
        default = refs.get(BRANCHES + default_branch)
        names = sorted(ref.removeprefix(BRANCHES) for ref in refs if ref.startswith(BRANCHES))
        following = [name for name in names if after is None or name > after]
        page = following[: max(1, min(limit, MOST_BRANCHES))]
        free = asyncio.Semaphore(MOST_COMPARED_AT_ONCE)
        try:
            async with asyncio.TaskGroup() as group:
                tasks = [group.create_task(self._branch(name, refs[BRANCHES + name], default, free)) for name in page]
        except BaseExceptionGroup as errors:  # the caller knows of no group
            raise errors.exceptions[0] from None
        return [task.result() for task in tasks], page[-1] if len(following) > len(page) else None

    async def commit(self, commit: str) -> CommitEntry:
        """One commit by its full name."""
        self._check(commit)
        found = await self._objects.content(commit, MOST_COMMIT_BYTES)
        if found is None or found.kind != "commit":
            raise UnknownRef(self._repository.name, commit)
        return parse_commit(found.sha, found.content)

    async def commits(
        self, commit: str, *, path: str | None = None, after: str | None = None, limit: int = 50
    ) -> tuple[list[CommitEntry], str | None]:
        """A page of the history of a commit, or of a path in it, newest first, and the cursor of the next page.

        Raises `BadCursor` for a cursor that no page gave.
        """
        self._check(commit)
        skipped = int(after) if after is not None and after.isdecimal() and len(after) < 10 else 0
        if after is not None and after != str(skipped):
            raise BadCursor(after)
        size = max(1, min(limit, MOST_COMMITS))
        paths = ("--", self._cleaned(path, commit)) if path else ()
        options = (
            "-z",
            f"--format={COMMIT_FORMAT}",
            "--encoding=UTF-8",
            f"--skip={skipped}",
            f"--max-count={size + 1}",
        )
        outcome = await ask_git(
            self._folder, "log", *options, commit, *paths, codes=(0,), limit_bytes=MOST_PRINTED_BYTES
        )
        entries = parse_commits(outcome.output + b"\0" * (not outcome.is_cut))
        if outcome.is_cut and not entries:
            raise GitProblem("log", f"the message of a commit before {commit[:12]} is too large")
        page = entries[:size]
        has_more = outcome.is_cut or len(entries) > size
        return page, str(skipped + len(page)) if has_more else None

    # Files

    async def find(self, commit: str, path: str) -> TreeEntry:
        """What is at a path; the empty path is the root folder."""
        self._check(commit)
        cleaned = self._cleaned(path, commit)
        if not cleaned:
            root = await self._objects.info(f"{commit}^{{tree}}")
            return TreeEntry(name="", path="", kind="folder", size=None, sha=_existing(root, path, commit).sha)
        parent, _, name = cleaned.rpartition("/")
        tree = _existing(await self._objects.content(f"{commit}:{parent}", MOST_TREE_BYTES), path, commit)
        found = find_in_tree(tree.content, name, len(commit) // 2) if tree.kind == "tree" else None
        if found is None:
            raise UnknownPath(path, commit)
        kind, sha = found
        stored = await self._objects.info(sha) if kind in ("file", "link") else None
        return TreeEntry(name=name, path=cleaned, kind=kind, size=stored.size if stored else None, sha=sha)

    async def blob(self, name: str, limit_bytes: int) -> bytes:
        """The content of a file, up to the limit. It is named by its sha, or as `commit:path`."""
        sha, colon, path = name.partition(":")
        self._check(sha)
        cleaned = self._cleaned(path, sha) if colon else ""
        found = await self._objects.content(f"{sha}{colon}{cleaned}", limit_bytes)
        if found is None or found.kind != "blob":
            raise UnknownPath(path or sha, sha)
        return found.content

    async def file(self, commit: str, path: str) -> FileContent:
        """A file as it can be shown: of a large one the beginning, of a link its target."""
        entry = await self.find(commit, path)
        if entry.kind not in ("file", "link"):
            raise UnknownPath(path, commit)
        return file_content(entry, await self.blob(entry.sha, MOST_FILE_BYTES))

    async def files_in(self, commit: str, folder: str, *, limit: int = MOST_ENTRIES) -> list[TreeEntry]:
        """All files in a folder and its subfolders, up to the limit, with links and submodules."""
        tree = await self._list(commit, folder, "-r", limit=limit)
        return list(tree.entries)

    async def tree(self, commit: str, path: str) -> Tree:
        """The entries of a folder, without those of its subfolders."""
        return await self._list(commit, path, limit=MOST_ENTRIES)

    # Differences

    async def diff(self, base: str, head: str, *, direct: bool = False) -> Diff:
        """What changed on the way to `head` since it parted from `base`; with `direct`, all that differs."""
        start = await self._start_of(base, head, direct)
        changes, is_cut = await self._changes(start, head)
        return Diff(start, head, changes.files[:MOST_FILES], is_cut or len(changes.files) > MOST_FILES)

    async def patch(self, base: str, head: str, path: str, *, direct: bool = False) -> Patch:
        """The changed lines of one file of that diff, whose new path this is."""
        start = await self._start_of(base, head, direct)
        cleaned = self._cleaned(path, head)
        changes, _ = await self._changes(start, head, cleaned)
        if any(file.status == "added" for file in changes.files):  # it may be renamed: only the whole diff says so
            whole, _ = await self._changes(start, head)
            changes = Changes(tuple(file for file in whole.files if file.path == cleaned), whole.binary_paths)
        file = next((file for file in changes.files if file.path == cleaned), None)
        if file is None:
            raise UnknownPath(path, head)
        paths = (cleaned,) if file.old_path is None else (file.old_path, cleaned)
        words = (*_DIFF, "-p", "--full-index", _tree_name(start), _tree_name(head), "--", *paths)
        outcome = await ask_git(self._folder, *words, codes=(0,), limit_bytes=MOST_PATCH_BYTES)
        printed = outcome.output[: outcome.output.rfind(b"\n") + 1] if outcome.is_cut else outcome.output
        text = printed.decode(errors="replace")
        return Patch(file, text, outcome.is_cut, cleaned in changes.binary_paths)

    async def _branch(self, name: str, commit: RefValue, default: RefValue | None, free: asyncio.Semaphore) -> Branch:
        if default is None or default.sha == commit.sha:
            none = None if default is None else 0
            return Branch(name, commit, none, none)
        async with free:
            range_of_commits = f"{default.sha}...{commit.sha}"
            counted = await run_git(self._folder, "rev-list", "--left-right", "--count", range_of_commits)
        behind, ahead = map(int, counted.split())
        return Branch(name, commit, ahead, behind)

    async def _list(self, commit: str, path: str, *options: str, limit: int) -> Tree:
        folder = await self.find(commit, path)
        if folder.kind != "folder":
            raise UnknownPath(path, commit)
        words = ("ls-tree", "-z", "-l", *options, folder.sha)
        outcome = await ask_git(self._folder, *words, codes=(0,), limit_bytes=MOST_PRINTED_BYTES)
        entries = tuple(islice(parse_listing(outcome.output, folder.path), limit + 1))
        return Tree(folder.path, entries[:limit], outcome.is_cut or len(entries) > limit)

    async def _start_of(self, base: str, head: str, direct: bool) -> str:
        self._check(base)
        self._check(head)
        if direct or base == ZEROS:
            return base
        return await self._repository.merge_base(base, head) or base

    async def _changes(self, base: str, head: str, *paths: str) -> tuple[Changes, bool]:
        limited = ("--", *paths) if paths else ()
        words = (*_DIFF, "-z", "--raw", "--numstat", _tree_name(base), _tree_name(head), *limited)
        outcome = await ask_git(self._folder, *words, codes=(0,), limit_bytes=MOST_PRINTED_BYTES)
        return parse_changes(outcome.output), outcome.is_cut

    def _check(self, commit: str) -> None:
        if not is_full_sha(commit):
            raise UnknownRef(self._repository.name, commit)

    def _cleaned(self, path: str, commit: str) -> str:
        cleaned = clean_path(path)
        if cleaned is None:
            raise UnknownPath(path, commit)
        return cleaned


def _existing(found: StoredObject | None, path: str, commit: str) -> StoredObject:
    if found is None:
        raise UnknownPath(path, commit)
    return found


def _tree_name(commit: str) -> str:
    return EMPTY_TREE if commit == ZEROS else commit
