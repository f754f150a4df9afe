"""A rebase in a bare repository: each commit is put onto another one, without a work tree."""

import time

from msgspec import Struct
from msgspec.structs import replace

from pitstop.errors import CommandRefused, GitProblem
from pitstop.git.bare import BareRepository
from pitstop.git.commands import identity_of, run_git
from pitstop.git.incoming import commit_tree
from pitstop.git.merged_trees import Sides, clean_tree
from pitstop.git.names import EMPTY_TREE
from pitstop.git.raw_commits import RawCommit, read_commits, store_commit

MOST_REBASED = 200


async def rebase(repository: BareRepository, source: str, onto: RawCommit, who: str, sides: Sides) -> str:
    """Put the commits that only `source` has onto another commit: the last of them, or `onto` if nothing is left.

    Merges are left out, and so is what becomes empty. Raises `MergeConflict`, and `CommandRefused` for too many.
    """
    commits = await _commits_to_rebase(repository, source, onto.sha)
    trees = await _trees_of_parents(repository, commits)
    rebasing = _Rebasing(repository, who, sides)
    head = onto
    for commit in commits:
        head = await rebasing.put_onto(head, commit, trees[commit.parents])
    return head.sha


async def _commits_to_rebase(repository: BareRepository, source: str, onto: str) -> list[RawCommit]:
    """The commits to rebase, oldest first, without those whose change the other side has already."""
    selection = ("--no-merges", "--cherry-pick", "--right-only", f"--max-count={MOST_REBASED + 1}")
    words = ("rev-list", "--reverse", "--topo-order", *selection, f"{onto}...{source}")
    shas = (await run_git(repository.folder, *words)).decode().split()
    if len(shas) > MOST_REBASED:
        raise CommandRefused(f"cannot rebase more than {MOST_REBASED} commits: merge or squash them instead")
    return await _read(repository, shas)


async def _trees_of_parents(repository: BareRepository, commits: list[RawCommit]) -> dict[tuple[str, ...], str]:
    parents = {commit.parents: EMPTY_TREE for commit in commits}
    shas = [parent for (parent,) in filter(None, parents)]
    return parents | {(found.sha,): found.tree for found in await _read(repository, shas)}


async def _read(repository: BareRepository, shas: list[str]) -> list[RawCommit]:
    found = [commit for commit in await read_commits(repository.folder, shas) if commit is not None]
    if len(found) < len(shas):
        raise GitProblem("cat-file", f"a commit to rebase is missing in {repository.name}")
    return found


class _Rebasing(Struct, frozen=True):
    """Puts one commit after the other onto a head."""

    repository: BareRepository
    who: str
    sides: Sides

    async def put_onto(self, head: RawCommit, commit: RawCommit, parent_tree: str) -> RawCommit:
        """The new head, which is the old one if nothing of the commit is left."""
        if commit.parents == (head.sha,):
            return commit
        tree = await self._tree_onto(head, commit, parent_tree)
        if tree == head.tree and commit.tree != parent_tree:
            return head
        rebased = replace(commit, tree=tree, parents=(head.sha,))
        return replace(rebased, sha=await store_commit(self.repository.folder, rebased, _committer(self.who)))

    async def _tree_onto(self, head: RawCommit, commit: RawCommit, parent_tree: str) -> str:
        if commit.tree == parent_tree:
            return head.tree
        if head.tree == parent_tree:
            return commit.tree
        # git 2.39 takes no merge base: a commit with the tree of the head is stored that has the base as its parent
        ours = await commit_tree(self.repository, head.tree, commit.parents, "Base of a rebase", self.who)
        return await clean_tree(self.repository, ours, commit.sha, self.sides, may_be_unrelated=not commit.parents)


def _committer(who: str) -> str:
    identity = identity_of(who)
    return f"{identity['GIT_COMMITTER_NAME']} <{identity['GIT_COMMITTER_EMAIL']}> {int(time.time())} +0000"
