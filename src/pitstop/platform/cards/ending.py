"""What follows when the run of a card has ended: the attempt ends, the card moves, and flows judge it."""

import logging

from msgspec.structs import replace

from pitstop.errors import PitstopError, UnknownCard, UnknownRepo
from pitstop.platform.cards.card_values import AttemptRecord, CardRecord
from pitstop.platform.cards.changing import CardBench
from pitstop.platform.lives import AttemptOutcome, CardStatus
from pitstop.platform.stored.attempts import EndedRun
from pitstop.platform.stored.firings import NewFiring
from pitstop.platform.work_runs import outcome_of

UNCHANGED = "the work changed nothing"

log = logging.getLogger(__name__)

_NEXT: dict[AttemptOutcome, CardStatus] = {"passed": "in_review", "failed": "failed", "cancelled": "todo"}


class CardEnding:
    """Takes each end of a run of a card exactly once. The runs that judge a card are runs of it, too."""

    def __init__(self, bench: CardBench) -> None:
        self._bench = bench

    async def settle_all(self) -> set[str]:
        """Let everything follow that has not followed yet; the repositories where something did.

        What fails for one card is no hindrance to the others.
        """
        settled = set()
        for ended in await self._bench.attempts.ended(self._bench.opened.home):
            try:
                await self.settle(ended)
                settled.add(ended.firing.repo)
            except (PitstopError, OSError) as error:
                log.warning("card %s: cannot take the end of run %s: %s", ended.firing.card, ended.firing.run, error)
        return settled

    async def settle(self, ended: EndedRun) -> None:
        try:
            async with self._bench.changing(ended.firing.card or "") as card:
                if ended.firing.kind == "card":
                    await self._end_attempt(card, ended)
                else:
                    await self._end_judge(card, ended)
        except (UnknownCard, UnknownRepo):  # the card was deleted meanwhile
            await self._bench.steps.close(ended.firing)

    async def _end_attempt(self, card: CardRecord, ended: EndedRun) -> None:
        attempt = await self._attempt_of(card, ended)
        outcome, reason = outcome_of(ended.status, ended.reason)
        if attempt is None or card.status != "in_progress" or card.attempt != attempt.number:
            await self._bench.steps.end(card, attempt, ended.firing, outcome, reason)
            return
        status = _NEXT[outcome]
        if outcome == "cancelled" and attempt.kind != "work":
            status = "in_review"  # with its conflict, as it was before
        if outcome == "passed" and attempt.to_sha is None:
            reason = UNCHANGED
        judges = await self._judges(card, attempt, ended) if outcome == "passed" else ()
        head = attempt.to_sha or card.head_sha

        await self._bench.steps.end(
            card,
            attempt,
            ended.firing,
            outcome,
            reason,
            status=status,
            judges=judges,
            head_sha=head,
            conflict=card.conflict if outcome != "passed" else None,
        )
        self._bench.wake()

    async def _judges(self, card: CardRecord, attempt: AttemptRecord, ended: EndedRun) -> tuple[NewFiring, ...]:
        sha = attempt.to_sha or card.head_sha
        if sha is None:
            return ()
        repo, opened = await self._bench.place_of(card)
        return await self._bench.judges_of(
            repo, opened, replace(card, head_sha=sha), "in_review", sha, ended.firing.depth + 1
        )

    async def _attempt_of(self, card: CardRecord, ended: EndedRun) -> AttemptRecord | None:
        """The attempt of a firing; that of one which was refused has lost the id of its run."""
        if ended.firing.run is not None:
            return await self._bench.attempts.of_run(ended.firing.run)
        return next((each for each in await self._bench.attempts.of_card(card.id) if each.outcome == "running"), None)

    async def _end_judge(self, card: CardRecord, ended: EndedRun) -> None:
        """A flow that fails moves the card that it has judged, unless that has changed since."""
        firing = ended.firing
        outcome, reason = outcome_of(ended.status, ended.reason)
        on_fail = firing.subject.get("on_fail", "nothing")
        targets: dict[str, CardStatus] = {"fail": "failed", "reject": "todo"}
        is_current = card.status == "in_review" and card.head_sha == firing.sha
        is_moved = outcome == "failed" and on_fail in targets and is_current
        said = f"{firing.flow} {outcome}" + (f": {reason}" if reason else "")
        await self._bench.steps.end_judge(
            card, firing, said=None if outcome == "passed" else said, status=targets[on_fail] if is_moved else None
        )
