"""A bare repository: its refs, how they move, and its upkeep."""

from collections.abc import Collection, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path

from msgspec import Struct

from pitstop.engine.threads import in_thread
from pitstop.errors import BadRepoSetting, GitProblem, RefMoved, UnknownRef
from pitstop.git.commands import ask_git, git_environment, run_git
from pitstop.git.names import (
    BRANCHES,
    EMPTY_TREE,
    TAGS,
    ZEROS,
    is_branch_name,
    is_full_sha,
    is_ref_name,
    is_short_sha,
    short_name,
)
from pitstop.git.raw_commits import read_commits
from pitstop.git.ref_values import RefValue, read_refs
from pitstop.git.reflog import RefMove, chain_of, find_in_chain, parse_reflog, read_end
from pitstop.trees import entries_in, remove_tree

MOST_CHANGED_PATHS = 10_000
MOST_CHANGED_BYTES = 16 * 1024 * 1024
MOST_MESSAGE_CHARACTERS = 1000
UPKEEP_SECONDS = 3600.0
# For users who run git in the folder themselves, without our environment
_CONFIGURATION = "[core]\n\tlogAllRefUpdates = always\n[gc]\n\tauto = 0\n"
_UPKEEP = (
    ("gc.auto", "2000"),
    ("gc.autoPackLimit", "30"),
    ("gc.autoDetach", "false"),
    ("gc.pruneExpire", "2.weeks.ago"),
)


class ChangedPaths(Struct, frozen=True):
    """The files that differ between two commits; `is_cut` says that there are more."""

    paths: tuple[str, ...]
    is_cut: bool


class BareRepository:
    """The bare repository in a folder; errors call it by its name. Whatever fails in git raises `GitProblem`."""

    def __init__(self, folder: Path, name: str) -> None:
        self.folder = folder
        self.name = name

    # Its life

    async def create(self, default_branch: str) -> None:
        """Create it, whole or not at all; nothing is done if it exists. Raises `BadRepoSetting` for a bad branch."""
        if not is_branch_name(default_branch):
            raise BadRepoSetting(f"invalid default branch {default_branch!r}: git accepts no branch with that name")
        if (self.folder / "HEAD").exists():
            return
        new = self.folder.with_name(f".{self.name}.new")
        await in_thread(partial(remove_tree, new))
        await run_git(new, "init", "--bare", "--quiet", "--template=", f"--initial-branch={default_branch}")
        await in_thread(partial(_put_in_place, new, self.folder))

    async def remove(self) -> None:
        """Remove it. From the first moment on it cannot be used; what a crash leaves is removed by the next call."""
        old = self.folder.with_name(f".{self.name}.old")
        await in_thread(partial(_remove, old))
        with suppress(FileNotFoundError):
            self.folder.rename(old)
        await in_thread(partial(_remove, old))

    async def size_bytes(self) -> int:
        return await in_thread(partial(_size_of, self.folder))

    async def maintain(self) -> None:
        """Repack and prune it if there is reason to. Objects that nothing needs stay for two weeks."""
        environment = git_environment(_UPKEEP)
        await run_git(self.folder, "gc", "--auto", "--quiet", environment=environment, timeout_seconds=UPKEEP_SECONDS)

    async def fsck(self) -> None:
        """Check every object. Raises `GitProblem` with what is missing or broken."""
        words = ("fsck", "--full", "--no-dangling", "--no-reflogs", "--no-progress")
        outcome = await ask_git(self.folder, *words, codes=range(256), timeout_seconds=UPKEEP_SECONDS)
        if outcome.code != 0:
            found = outcome.output.decode(errors="replace").strip()
            raise GitProblem("fsck", "\n".join(filter(None, (found, outcome.complaint))))

    # Its refs

    async def refs(self) -> dict[str, RefValue]:
        """Branches and tags by their full names; a tag of something that is not a commit is omitted."""
        return await read_refs(self.folder)

    async def set_default_branch(self, branch: str) -> None:
        """Let HEAD name this branch, which need not exist. Raises `BadRepoSetting` for a bad name."""
        if not is_branch_name(branch):
            raise BadRepoSetting(f"invalid default branch {branch!r}: git accepts no branch with that name")
        await run_git(self.folder, "symbolic-ref", "HEAD", BRANCHES + branch)

    async def move(self, ref: str, new: str, old: str, *, who: str, message: str) -> None:
        """Move a ref from one commit to another, or create it if `old` is zeros. Raises `RefMoved` and `UnknownRef`."""
        self._check(ref, new, old)
        reason = ("-m", one_line(message)) if one_line(message) else ()
        words = ("update-ref", "--no-deref", "--create-reflog", *reason, ref, new, old)
        try:
            await run_git(self.folder, *words, who=who)
        except GitProblem:
            await self._raise_if_moved((ref, old))
            raise

    async def delete_refs(self, branches: Sequence[tuple[str, str]], who: str) -> None:
        """Delete refs that are at the expected commits: all, or none when one has moved. Raises `RefMoved`."""
        for ref, expected in branches:
            self._check(ref, expected)
        commands = "".join(f"delete {ref}\0{expected}\0" for ref, expected in branches)
        try:
            await run_git(self.folder, "update-ref", "--no-deref", "--stdin", "-z", input=commands.encode(), who=who)
        except GitProblem:
            await self._raise_if_moved(*branches)
            raise

    async def moves_of(self, ref: str, known: str | None, current: str) -> list[RefMove]:
        """The moves that led a ref from a known commit (None: it did not exist) to the current one, oldest first.

        Where the reflog has no unbroken chain, this is one move without a name.
        """
        self._check(ref)
        content = await in_thread(partial(read_end, self.folder / "logs" / ref))
        return chain_of(parse_reflog(content), known, current)

    async def find_move(self, ref: str, words: Collection[str]) -> RefMove | None:
        """The newest move of a ref with all these words in its message; None if its reflog has none.

        A move that was logged but never happened, because of a crash, does not count.
        """
        self._check(ref)
        current = await self.commit_at(ref)
        content = await in_thread(partial(read_end, self.folder / "logs" / ref))
        return find_in_chain(parse_reflog(content), current or "", words)

    async def logged_words(self, ref: str) -> frozenset[str]:
        """All words in the messages of a ref's reflog, as far back as that is read."""
        self._check(ref)
        content = await in_thread(partial(read_end, self.folder / "logs" / ref))
        return frozenset(word for move in parse_reflog(content) for word in move.message.split())

    async def resolve(self, name: str) -> str:
        """The commit that a branch, a tag or the beginning of a commit's name means; `UnknownRef`.

        A full name of a commit wins over all, and a branch over a tag.
        """
        places = candidates_of(name)
        questions = "".join(f"{place}^{{commit}}\n" for place in places)
        answers = (await run_git(self.folder, "cat-file", "--batch-check", input=questions.encode())).decode()
        found = (line.split(" ") for line in answers.splitlines())
        sha = next((words[0] for words in found if words[1:2] == ["commit"]), None)
        if not places or sha is None:
            raise UnknownRef(self.name, name)
        return sha

    async def commit_at(self, ref: str) -> str | None:
        """The commit of a ref, by its full name; None if it does not exist. Raises `UnknownRef` for an invalid name."""
        self._check(ref)
        found = await ask_git(self.folder, "rev-parse", "--verify", "--quiet", f"{ref}^{{commit}}")
        return found.output.decode().strip() or None

    async def head_of(self, branch: str | None) -> str | None:
        """The commit of a branch; None if there is no such branch."""
        if branch is None or not is_branch_name(branch):
            return None
        return await self.commit_at(BRANCHES + branch)

    async def tree_of(self, commit: str) -> str:
        """Raises `UnknownRef`."""
        (found,) = await read_commits(self.folder, [commit])
        if found is None:
            raise UnknownRef(self.name, commit)
        return found.tree

    # Its history

    async def is_ancestor(self, old: str, new: str) -> bool:
        """Whether a commit is another one or in its history."""
        self.check_commits(old, new)
        return (await ask_git(self.folder, "merge-base", "--is-ancestor", old, new)).code == 0

    async def merge_base(self, one: str, other: str) -> str | None:
        """The best common ancestor; None if the histories are unrelated."""
        self.check_commits(one, other)
        outcome = await ask_git(self.folder, "merge-base", one, other)
        return outcome.output.decode().strip() or None

    async def changed_paths(self, old: str, new: str) -> ChangedPaths:
        """The paths that differ, up to a limit; zeros stand for an empty commit. A renamed file is two paths."""
        self.check_commits(old, new)
        trees = (EMPTY_TREE if sha == ZEROS else sha for sha in (old, new))
        words = ("diff-tree", "-r", "--name-only", "-z", "--no-renames", *trees)
        outcome = await ask_git(self.folder, *words, codes=(0,), limit_bytes=MOST_CHANGED_BYTES)
        paths = [path.decode(errors="replace") for path in outcome.output.split(b"\0")[:-1]]
        is_cut = outcome.is_cut or len(paths) > MOST_CHANGED_PATHS
        return ChangedPaths(tuple(paths[:MOST_CHANGED_PATHS]), is_cut)

    def check_commits(self, *commits: str) -> None:
        """Raise `UnknownRef` for what is not a full sha: it could be an option of git."""
        for commit in commits:
            if not is_full_sha(commit):
                raise UnknownRef(self.name, commit)

    def _check(self, ref: str, *commits: str) -> None:
        if not is_ref_name(ref):
            raise UnknownRef(self.name, ref)
        self.check_commits(*commits)

    async def _raise_if_moved(self, *expected: tuple[str, str]) -> None:
        """Git says in many ways that a ref is not where it was expected: this asks where it is."""
        listed = await run_git(self.folder, "for-each-ref", "--format=%(refname) %(objectname)")
        found: dict[str, str] = dict(line.split(" ") for line in listed.decode().splitlines())
        for ref, sha in expected:
            if found.get(ref, ZEROS) != sha:
                raise RefMoved(short_name(ref), sha, found.get(ref))


def candidates_of(name: str) -> list[str]:
    """The refs and commits that a name may mean, the best first; none if it cannot be the name of anything."""
    if name.startswith("-") or not is_ref_name(BRANCHES + name):
        return []
    itself = [name] if is_short_sha(name) or name.startswith((BRANCHES, TAGS)) else []
    refs = [BRANCHES + name, TAGS + name]
    return itself + refs if is_full_sha(name) else refs + itself


def one_line(message: str) -> str:
    """A message as a reflog can store it."""
    return " ".join(message.replace("\0", " ").encode(errors="replace").decode().split())[:MOST_MESSAGE_CHARACTERS]


def _put_in_place(new: Path, folder: Path) -> None:
    with (new / "config").open("a") as configuration:
        configuration.write(_CONFIGURATION)
    new.rename(folder)


def _remove(path: Path) -> None:
    """Remove what is there, which need not be a repository."""
    if path.is_dir() and not path.is_symlink():
        remove_tree(path)
    else:
        path.unlink(missing_ok=True)


def _size_of(folder: Path) -> int:
    size = 0
    for entry in entries_in(folder):
        with suppress(FileNotFoundError):  # git removes and replaces files at any time
            size += 0 if entry.is_dir(follow_symlinks=False) else entry.stat(follow_symlinks=False).st_size
    return size
