"""The cards of a server: everything that is done with them, and the chore that lets them follow their runs."""

import logging
from collections.abc import AsyncIterable, Callable, Collection, Mapping
from typing import Any

from msgspec.structs import asdict, replace

from pitstop.engine.ports import Clock
from pitstop.errors import (
    BadCard,
    BadMove,
    CardInProgress,
    CommandRefused,
    PitstopError,
    ProtectedRef,
    StaleCard,
    UnknownRef,
)
from pitstop.git.merged_trees import ConflictFile
from pitstop.git.names import BRANCHES, ZEROS
from pitstop.platform.cards.approving import CardApproving, marks_of
from pitstop.platform.cards.card_info import Approval, CardChanges, CardMove, NewCard, Rejection, StartCard
from pitstop.platform.cards.card_values import CardRecord, Work
from pitstop.platform.cards.changing import CardBench
from pitstop.platform.cards.committing import Committing
from pitstop.platform.cards.ending import CardEnding
from pitstop.platform.cards.limits import LONGEST_TEXT, check_card
from pitstop.platform.cards.notes import CardNotes
from pitstop.platform.cards.positions import between
from pitstop.platform.cards.starting import CardStarter
from pitstop.platform.cards.work_flows import branch_name
from pitstop.platform.flow_index import FlowIndex
from pitstop.platform.lives import CARD_MOVES, CardStatus
from pitstop.platform.open_repos import OpenRepos
from pitstop.platform.repo_values import RepoRecord
from pitstop.platform.run_progress import RunProgress, follow_runs
from pitstop.platform.stored.all import Stored
from pitstop.platform.stored.cards import new_card
from pitstop.platform.stored.firings import NewFiring
from pitstop.platform.work_runs import WorkRuns
from pitstop.store.port import RunRecord

log = logging.getLogger(__name__)


class CardWork:
    """All that is done with cards. `follow` runs while the server does."""

    def __init__(
        self,
        stored: Stored,
        opened: OpenRepos,
        index: FlowIndex,
        runs: WorkRuns,
        clock: Clock,
        wake: Callable[[], None],
    ) -> None:
        self.bench = bench = CardBench(stored, opened, index, wake)
        self.notes = CardNotes(bench)
        self.starter = CardStarter(bench, self.notes, runs)
        self._approving = CardApproving(bench, self.starter)
        self._committing = Committing(bench)
        self._ending = CardEnding(bench)
        self._progress = RunProgress(stored.run_logs, stored.attempts)
        self._logs = stored.run_logs
        self._runs = runs
        self._clock = clock

    # Their life

    async def create(self, repo: RepoRecord, request: NewCard, who: str) -> CardRecord:
        """BadCard, UnknownRef."""
        checked = check_card(request)
        base = checked.base or repo.default_branch
        if checked.base is not None:
            await self._check_base(repo, base)
        fields = {
            "title": checked.title,
            "description": checked.description,
            "work": checked.work,
            "labels": checked.labels,
            "base": base,
            "status": "todo",
            "position": 0.0,
            "by": who,
            "created_at": self._clock.now(),
            "updated_at": self._clock.now(),
        }
        card = await self.bench.cards.add(repo.id, lambda number: new_card(number, repo.id, fields))
        if not checked.start:
            return card
        try:
            return await self.start(card.id, StartCard(), who)
        except PitstopError:
            await self.bench.cards.delete(card)  # the client corrects it, and creates it again
            raise

    async def _check_base(self, repo: RepoRecord, base: str) -> None:
        """UnknownRef for a base that does not exist."""
        if await (await self.bench.opened.ready(repo)).bare.head_of(base) is None:
            raise UnknownRef(repo.id, base)

    async def update(self, card: str, changes: CardChanges, version: int | None) -> CardRecord:
        """BadCard, CardInProgress, StaleCard."""
        given = {name: value for name, value in asdict(changes).items() if value is not None}
        if changes.work is not None:
            given["work"] = changes.work
        async with self.bench.changing(card, version) as record:
            if record.status == "in_progress" and ("work" in given or "base" in given):
                raise CardInProgress(card, "change the work or the base of")
            checked = check_card(
                NewCard(
                    title=given.get("title", record.title),
                    description=given.get("description", record.description),
                    work=given.get("work", record.work),
                    base=given.get("base", record.base),
                    labels=given.get("labels", record.labels),
                )
            )
            if changes.base is not None:
                await self._check_base(await self.bench.repos.get(record.repo), changes.base)
            fields = {name: getattr(checked, name) for name in given}
            return await self.bench.cards.change(record, **fields) if fields else record

    async def move(self, card: str, move: CardMove, version: int | None, who: str) -> CardRecord:
        """BadMove, StaleCard, UnknownCard."""
        async with self.bench.changing(card, version) as record:
            fields: dict[str, Any] = {}
            if not move.to_end:
                fields["position"] = await self._position(record, move)
            elif move.status == record.status:
                fields["position"] = await self.bench.cards.end_of(record.repo, record.status)
            if move.status == record.status:
                return await self.bench.cards.change(record, "card.moved", **fields)
            _check_move(record, move.status)
            judges: tuple[NewFiring, ...] = ()
            if record.work.kind == "none":
                more, judges = await self._by_hand(record, move.status, who)
                fields |= more
            fields["reason"] = None
            return await self.bench.move_judged(record, move.status, judges, **fields)

    async def _position(self, card: CardRecord, move: CardMove) -> float:
        if move.after == card.id:
            return card.position
        for _ in range(2):
            before, after = await self.bench.cards.neighbors(card.repo, move.status, move.after)
            position = between(before, after)
            if position is not None:
                return position
            await self.bench.cards.number_again(card.repo, move.status)
        raise AssertionError("a column that was numbered again has room")

    async def _by_hand(
        self, card: CardRecord, status: CardStatus, who: str
    ) -> tuple[dict[str, Any], tuple[NewFiring, ...]]:
        """What changes with a card that people work on, and what judges it: its branch is made when they begin."""
        repo, opened = await self.bench.place_of(card)
        head = await opened.bare.head_of(card.branch)
        if status == "in_progress" and head is None:
            base = await opened.bare.resolve(f"{BRANCHES}{card.base}")
            branch = branch_name(card.number, card.title)
            ref = f"{BRANCHES}{branch}"
            await opened.bare.move(ref, base, ZEROS, who=who, message=f"pitstop: card {card.id} begins here")
            return {"branch": branch, "base_sha": base, "head_sha": base, "run": None}, ()
        if status == "in_progress":
            return {"head_sha": head, "run": None}, ()
        if status != "in_review":
            return {"head_sha": head}, ()
        if head is None:
            raise BadMove(card.id, card.status, status, f"its branch {card.branch} does not exist")
        known = replace(card, head_sha=head)
        judges = await self.bench.judges_of(repo, opened, known, "in_review", head, card.depth + 1)
        return {"head_sha": head}, judges

    async def start(
        self, card: str, options: StartCard, who: str, version: int | None = None, depth: int = 0
    ) -> CardRecord:
        """BadMove, BadCard, UnknownRef, StaleCard."""
        async with self.bench.changing(card, version) as record:
            return await self.starter.start(record, options, who, depth)

    async def cancel(self, card: str) -> CardRecord:
        """End the run of a card and wait for that, up to a limit. The card moves when nothing runs any more."""
        record = await self.bench.cards.get(card)
        if record.status != "in_progress":
            raise CommandRefused(f"card {card} is not in progress but {record.status}, so there is nothing to cancel")
        if record.work.kind == "none" and record.run is None:
            async with self.bench.changing(card) as record:
                return await self.bench.cards.move(record, "todo")
        await self._runs.end(record.run or "", "the card was cancelled")
        await self._settle()
        return await self.bench.cards.get(card)

    async def reject(self, card: str, rejection: Rejection, who: str, version: int | None) -> CardRecord:
        """BadMove, StaleCard."""
        async with self.bench.changing(card, version) as record:
            if record.status not in ("in_review", "failed"):
                raise BadMove(card, record.status, "todo", "only a card in review or a failed one can be rejected")
            fields: dict[str, Any] = {"conflict": None, "reason": rejection.reason or None}
            if not rejection.keep_branch:
                await self._delete_branch(record, who)
                fields |= {"branch": None, "head_sha": None, "base_sha": None}
            if rejection.reason.strip():
                await self.bench.notes.add(record, "comment", rejection.reason, who)
            return await self.bench.cards.move(record, "todo", **fields)

    async def delete(self, card: str, who: str, *, delete_branch: bool) -> None:
        """CardInProgress."""
        async with self.bench.changing(card) as record:
            if record.status == "in_progress":
                raise CardInProgress(card, "delete")
            if delete_branch:
                await self._delete_branch(record, who)
            await self.bench.cards.delete(record)
            if record.attempt:
                await self._forget_kept(record, who)

    async def _delete_branch(self, card: CardRecord, who: str) -> None:
        repo, opened = await self.bench.place_of(card)
        head = await opened.bare.head_of(card.branch)
        if head is None or card.branch is None:
            return
        if card.branch in (repo.default_branch, *repo.settings.protected):
            raise ProtectedRef(repo.id, card.branch)
        await self.bench.keep(opened, card, head, who)
        await opened.bare.delete_refs([(BRANCHES + card.branch, head)], who)

    async def _forget_kept(self, card: CardRecord, who: str) -> None:
        """Let git remove what only the attempts at a deleted card needed."""
        try:
            _, opened = await self.bench.place_of(card)
            await self.bench.forget_kept(opened, card, who)
        except (PitstopError, OSError) as error:
            log.warning("card %s: cannot remove its old commits: %s", card.id, error)

    # Merging

    async def approve(self, card: str, approval: Approval, who: str, version: int | None = None) -> CardRecord:
        async with self.bench.changing(card, version) as record:
            return await self._approving.approve(record, approval, who)

    async def merge_judged(self, card: str, record: RunRecord) -> Mapping[str, Any]:
        """Merge a card at the commit that a run has judged. One that is merged already is merged."""
        sha, who = record.sha or "", f"flow {record.flow}"
        async with self.bench.changing(card) as found:
            if found.status == "done" and found.head_sha == sha:
                return {"into": found.base, "sha": found.merged_sha or sha, "is_merged": False}
            done = await self._approving.approve(found, Approval(expect=sha), who, record.id)
        return {"into": done.base, "sha": done.merged_sha or sha, "is_merged": done.merged_sha is not None}

    async def update_branch(self, card: str, who: str, *, by_hand: bool) -> tuple[CardRecord, tuple[ConflictFile, ...]]:
        async with self.bench.changing(card) as record:
            return await self._approving.update(record, who, by_hand=by_hand)

    async def commit(self, record: RunRecord, tree: str, pack: AsyncIterable[bytes], message: str) -> Mapping[str, Any]:
        return await self._committing.commit(record, tree, pack, message)

    # For runs

    async def make_card(
        self, record: RunRecord, title: str, description: str, options: Mapping[str, Any]
    ) -> Mapping[str, Any]:
        """A card that a run makes; the same one if the run was interrupted and makes it again. BadCard."""
        who = f"run {record.id}"
        work = Work(agent=options.get("agent"))
        text = description[:LONGEST_TEXT]
        card = await self.bench.cards.made_by(record.repo or "", who, title)
        if card is None:
            repo = await self.bench.repos.get(record.repo or "")
            labels = tuple(options.get("labels") or ())
            card = await self.create(repo, NewCard(title=title, description=text, work=work, labels=labels), who)
        if options.get("start"):
            return await self.start_card(record, card.id)
        return {"card": card.id, "run": None}

    async def start_card(self, record: RunRecord, card: str) -> Mapping[str, Any]:
        """Start a card of the repository of a run. BadCard, BadMove, TooDeep."""
        who, found = f"run {record.id}", await self.bench.cards.get(card)
        if found.repo != record.repo:
            raise BadCard(f"card {card} is not of repository {record.repo!r}: a run can start only cards of its own")
        if found.status == "in_progress":
            attempt = await self.bench.attempts.of_run(found.run or "")
            if attempt is not None and attempt.by == who:
                return {"card": card, "run": found.run}
        cause = await self.bench.firings.of_run(record.id)
        started = await self.start(card, StartCard(), who, depth=0 if cause is None else cause.depth + 1)
        return {"card": card, "run": started.run}

    # What happens to branches

    async def look_at_branches(self, repo: RepoRecord) -> None:
        """Take notice of cards whose branch has moved or is gone; what is in review is judged again."""
        for card in await self.bench.cards.moved_branches(repo.id):
            try:
                async with self.bench.changing(card) as record:
                    await self._take_head(repo, record)
            except (PitstopError, OSError) as error:
                log.warning("card %s: cannot take notice of its branch: %s", card, error)

    async def _take_head(self, repo: RepoRecord, card: CardRecord) -> None:
        if card.status == "in_progress":
            return  # the attempt knows where it began, and its end where the branch is
        head = await (await self.bench.opened.ready(repo)).bare.head_of(card.branch)  # what is known may be old
        if head != card.head_sha:
            await self.bench.take_head(repo, card, head)

    async def note_landing(self, repo: RepoRecord, branch: str, sha: str) -> None:
        """Mark the merged cards whose commits are in what was landed."""
        opened = await self.bench.opened.ready(repo)
        for card in await self.bench.cards.merged_into(repo.id, branch):
            if await opened.bare.is_ancestor(card.merged_sha or sha, sha):
                try:
                    await self.bench.cards.change(card, landed_at=self._clock.now())
                except StaleCard:
                    continue  # it was reopened at this moment

    # Following their runs

    async def recover(self, repo: RepoRecord) -> None:
        """Finish the merges that a killed server has made, but not stored."""
        bare, logged = self.bench.opened.get(repo.id).bare, dict[str, frozenset[str]]()
        for card in await self.bench.cards.in_review(repo.id):
            if card.base not in logged:
                logged[card.base] = await bare.logged_words(f"{BRANCHES}{card.base}")
            if not logged[card.base].issuperset(marks_of(card, card.head_sha or "")):
                continue
            try:
                async with self.bench.changing(card.id) as record:
                    await self._approving.finish_merged(record)
            except (PitstopError, OSError) as error:
                log.warning("card %s: %s", card.id, error)

    async def follow(self) -> None:
        """Show what running cards do, and let them end with their runs; never returns."""
        await follow_runs(self._logs, self._clock, self._look)

    async def _look(self, changed: Collection[str]) -> None:
        await self._progress.look(self.bench.opened.home, changed)
        await self._settle()

    async def _settle(self) -> None:
        """Take the ends of runs, and notice what was pushed to the branches of their cards meanwhile."""
        for repo in await self._ending.settle_all():
            await self.look_at_branches(await self.bench.repos.get(repo))


def _check_move(card: CardRecord, status: CardStatus) -> None:
    """BadMove, with what to do instead, for a move that is more than that."""
    if status in manual_moves(card):
        return
    hints = {
        ("todo", "in_progress"): "start it",
        ("failed", "in_progress"): "retry it",
        ("in_review", "in_progress"): "retry it",
        ("in_review", "done"): "approve it",
        ("in_review", "failed"): "reject it",
    }
    hint = "cancel it first" if card.status == "in_progress" else hints.get((card.status, status))
    raise BadMove(card.id, card.status, status, hint or f"from there it can only get to {_in_words(card)}")


def manual_moves(card: CardRecord) -> tuple[CardStatus, ...]:
    """Where a card can be moved by hand. One that people work on can be moved wherever cards can get."""
    after = CARD_MOVES[card.status]
    is_running = card.status == "in_progress" and card.run is not None
    if card.work.kind == "none" and not is_running:
        return tuple(each for each in after if each != "done")
    if card.status == "in_progress":
        return ()
    return tuple(each for each in after if each == "todo")


def _in_words(card: CardRecord) -> str:
    return " or ".join(CARD_MOVES[card.status])
