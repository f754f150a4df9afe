"""Commits of runs: the tree that a workspace has becomes a commit on the branch of its run."""

from collections.abc import AsyncIterable, Mapping
from typing import Any

from pitstop.errors import CommandRefused, ProtectedRef, RefMoved, UnknownRef
from pitstop.git.incoming import commit_tree, receive_tree
from pitstop.git.merged_trees import files_with_markers
from pitstop.git.names import BRANCHES, ZEROS
from pitstop.platform.cards.card_values import AttemptRecord
from pitstop.platform.cards.changing import CardBench
from pitstop.platform.cards.limits import COMMIT_BYTES
from pitstop.platform.open_repos import OpenRepo
from pitstop.store.port import RunRecord

CARD_AUTHOR, RUN_AUTHOR = "Pitstop card", "Pitstop"


class Committing:
    """Makes the commits of runs. One that was made before a crash is found again by the run that it names."""

    def __init__(self, bench: CardBench) -> None:
        self._bench = bench

    async def commit(self, record: RunRecord, tree: str, pack: AsyncIterable[bytes], message: str) -> Mapping[str, Any]:
        """Commit a tree to the branch of a run. CommandRefused, UnknownRef, GitProblem."""
        attempt = await self._bench.attempts.of_run(record.id)
        repo = await self._bench.repos.get(record.repo or "")
        opened = await self._bench.opened.ready(repo)
        branch, base = record.ref or "", record.sha or ""
        if branch in repo.settings.protected:
            raise ProtectedRef(repo.id, branch)
        await receive_tree(opened.bare, tree, pack, base, limit_bytes=COMMIT_BYTES)
        parents = (base,) if attempt is None else attempt.parents
        if attempt is not None and attempt.work_sha is not None:
            await self._check_markers(opened, attempt, tree)
        head = await self._head(opened, branch, is_new=attempt is not None)
        if head not in (None, parents[0]):
            before = await self._made_before(opened, record, head or "", parents)
            if before == tree:
                await self._note(attempt, head)
                return {"sha": head, "branch": branch, "is_changed": True}
        if len(parents) == 1 and await opened.bare.tree_of(parents[0]) == tree and head in (None, parents[0]):
            await self._note(attempt, None)
            return {"sha": None, "branch": branch, "is_changed": False}
        who = RUN_AUTHOR if attempt is None else CARD_AUTHOR
        text = f"{message.strip() or 'Commit the changes of a run'}\n{'' if attempt else chr(10)}Run: {record.id}\n"
        sha = await commit_tree(opened.bare, tree, parents, text, who)
        verb = "write" if attempt is None else f"card {attempt.card}"
        reason = f"pitstop: {verb} run={record.id}"
        await opened.bare.move(BRANCHES + branch, sha, head or ZEROS, who=who, message=reason)
        await self._note(attempt, sha)
        return {"sha": sha, "branch": branch, "is_changed": True}

    async def _note(self, attempt: AttemptRecord | None, sha: str | None) -> None:
        if attempt is not None:
            await self._bench.attempts.note_commit(attempt.run, sha)

    async def _head(self, opened: OpenRepo, branch: str, *, is_new: bool) -> str | None:
        """Where the branch is. That of a card is made again if it is gone; UnknownRef for others."""
        head = await opened.bare.head_of(branch)
        if head is None and not is_new:
            raise UnknownRef(opened.id, branch or "the commit of the run, which is not the head of a branch")
        return head

    async def _made_before(
        self, opened: OpenRepo, record: RunRecord, head: str, parents: tuple[str, ...]
    ) -> str | None:
        """The tree of the commit that this run has made before: it was interrupted then, or has gone back since."""
        commit = await opened.reader.commit(head)
        lines = f"{commit.subject}\n{commit.body}".splitlines()
        if f"Run: {record.id}" not in lines or commit.parents != parents:
            raise RefMoved(record.ref or "", parents[0], head)
        return await opened.bare.tree_of(head)

    async def _check_markers(self, opened: OpenRepo, attempt: AttemptRecord, tree: str) -> None:
        """CommandRefused if a file has conflict markers that its branch and the base do not have."""
        card = await self._bench.cards.get(attempt.card)
        paths = () if card.conflict is None else [each.path for each in card.conflict.files]
        unresolved = await files_with_markers(opened.bare, tree, paths)
        if unresolved:
            shown = ", ".join(unresolved[:10])
            raise CommandRefused(f"conflict markers are left in {shown}: resolve them, then retry this step")
