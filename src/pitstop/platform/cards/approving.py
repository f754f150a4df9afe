"""Merging cards into their bases, and their bases into them."""

from msgspec.structs import replace

from pitstop.errors import BadMove, MergeConflict, NothingToMerge, RefMoved, StaleCard, UnknownRef
from pitstop.git.incoming import commit_tree
from pitstop.git.merged_trees import ConflictFile, merge_trees
from pitstop.git.merging import merge
from pitstop.git.names import BRANCHES
from pitstop.platform.cards.card_info import Approval
from pitstop.platform.cards.card_values import CardRecord, Conflict
from pitstop.platform.cards.changing import CardBench
from pitstop.platform.cards.starting import CardStarter
from pitstop.platform.open_repos import OpenRepo
from pitstop.platform.repo_values import RepoRecord

MOST_TRIES = 5
NOTHING = "nothing to merge: the branch has no commits of its own"


class CardApproving:
    """Merges cards. A merge names its card in the reflog, so one that a crash has cut off is not made twice."""

    def __init__(self, bench: CardBench, starter: CardStarter) -> None:
        self._bench = bench
        self._starter = starter

    async def approve(self, card: CardRecord, approval: Approval, who: str, run: str | None = None) -> CardRecord:
        """Merge a card that is in review; `run` does so. BadMove, RefMoved, UnknownRef, MergeConflict."""
        if card.status != "in_review":
            hint = {"todo": "start it first", "failed": "retry it first"}.get(card.status, "only one in review can")
            raise BadMove(card.id, card.status, "done", hint)
        repo, opened = await self._bench.place_of(card)
        head = await self._head(opened, card)
        expected = approval.expect or card.head_sha
        if head != expected:
            raise RefMoved(card.branch or "", expected or "", head)
        merged = await self._merged_before(opened, card, head)
        if merged is None:
            try:
                merged = await self._merge(opened, card, approval, head, who, run)
            except MergeConflict as error:
                await self._store_conflict(opened, card, head, error)
                raise
        if approval.keep_open and merged is not None:
            reason = f"pitstop: card {card.id} goes on"
            await opened.bare.move(f"{BRANCHES}{card.branch}", merged, head, who=who, message=reason)
            return await self._bench.cards.change(
                card, "merge.done", head_sha=merged, base_sha=merged, merged_sha=merged, conflict=None
            )
        return await self._finish(repo, opened, card, head, merged, who)

    async def _head(self, opened: OpenRepo, card: CardRecord) -> str:
        head = await opened.bare.head_of(card.branch)
        if head is None:
            raise UnknownRef(card.repo, f"{card.branch} (the branch of card {card.id} was deleted: retry the card)")
        return head

    async def _merged_before(self, opened: OpenRepo, card: CardRecord, head: str) -> str | None:
        """The merge of this very state, if a server was killed after it had made it."""
        move = await opened.bare.find_move(f"{BRANCHES}{card.base}", marks_of(card, head))
        return None if move is None else move.new

    async def _merge(
        self, opened: OpenRepo, card: CardRecord, approval: Approval, head: str, who: str, run: str | None
    ) -> str | None:
        """The new head of the base; None if the branch has nothing that the base has not."""
        message = approval.message or f"Merge card {card.number}: {card.title}\n\nCard: {card.id}"
        try:
            merged = await merge(
                opened.bare,
                source=card.branch or head,
                expect=head,
                target=card.base,
                method=approval.method,
                message=message,
                who=who,
                reason=" ".join([*marks_of(card, head), *([f"run={run}"] if run else [])]),
            )
        except NothingToMerge:
            return None
        return merged.sha

    async def _store_conflict(self, opened: OpenRepo, card: CardRecord, head: str, error: MergeConflict) -> None:
        base = await opened.bare.resolve(f"{BRANCHES}{card.base}")
        files = tuple(ConflictFile(path, kind) for path, kind in error.conflicts)  # type: ignore[arg-type]
        conflict = Conflict(base_sha=base, head_sha=head, files=files)
        await self._bench.cards.change(card, "merge.conflicted", conflict=conflict)

    async def _finish(
        self, repo: RepoRecord, opened: OpenRepo, card: CardRecord, head: str, merged: str | None, who: str
    ) -> CardRecord:
        """The card is done. What is merged stays merged, so a change by another user is read again."""
        for tries_left in reversed(range(MOST_TRIES)):
            judges = await self._bench.judges_of(repo, opened, card, "done", merged or head, card.depth + 1)
            reason = NOTHING if merged is None and card.merged_sha is None else None
            try:
                done = await self._bench.steps.finish(card, merged, reason, judges, who)
                self._bench.wake()
                return done
            except StaleCard:
                card = await self._bench.cards.get(card.id)
                if not tries_left or card.status != "in_review":
                    raise
        raise AssertionError("the last try returns or raises")

    async def finish_merged(self, card: CardRecord) -> None:
        """Let a card be done that was merged before its server was killed."""
        repo, opened = await self._bench.place_of(card)
        head = await opened.bare.head_of(card.branch)
        if head is None or head != card.head_sha:
            return
        merged = await self._merged_before(opened, card, head)
        if merged is not None and merged != card.merged_sha:  # it was reopened since
            await self._finish(repo, opened, card, head, merged, "pitstop")

    # The other way

    async def update(self, card: CardRecord, who: str, *, by_hand: bool) -> tuple[CardRecord, tuple[ConflictFile, ...]]:
        """Merge the base into the branch: at once, or with a run where that conflicts. BadMove, UnknownRef, BadCard."""
        if card.status not in ("in_review", "failed"):
            raise BadMove(card.id, card.status, "in_progress", "only a card in review or a failed one can be updated")
        repo, opened = await self._bench.place_of(card)
        head = await self._head(opened, card)
        base = await opened.bare.resolve(f"{BRANCHES}{card.base}")
        if await opened.bare.is_ancestor(base, head):
            return await self._bench.cards.change(card, conflict=None), ()
        merged = await merge_trees(opened.bare, head, base)
        message = f"Merge {card.base} into {card.branch}\n\nCard: {card.id}\n"
        sha = await commit_tree(opened.bare, merged.tree, (head, base), message, who)
        if merged.conflicts:
            conflict = Conflict(base_sha=base, head_sha=head, files=merged.conflicts)
            card = replace(card, conflict=conflict)
            return await self._starter.resolve(card, conflict, sha, who, by_hand=by_hand), merged.conflicts
        await opened.bare.move(
            f"{BRANCHES}{card.branch}", sha, head, who=who, message=f"pitstop: card {card.id} is updated"
        )
        return await self._bench.take_head(repo, card, sha), ()


def marks_of(card: CardRecord, head: str) -> tuple[str, str]:
    """What the reflog says of the merge of a card at a commit."""
    return f"card={card.id}", f"head={head}"
