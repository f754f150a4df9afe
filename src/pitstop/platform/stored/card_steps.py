"""The steps in the life of a card: each changes the card, its attempts, notes and firings in one transaction."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, TypeVar

from sqlalchemy import Connection

from pitstop.platform.cards.card_values import AttemptRecord, CardRecord
from pitstop.platform.lives import AttemptOutcome, CardStatus
from pitstop.platform.repo_values import FiringRecord
from pitstop.platform.stored.attempts import StoredAttempts, StoredNotes
from pitstop.platform.stored.cards import StoredCards
from pitstop.platform.stored.firings import NewFiring, StoredFirings

T = TypeVar("T")


class CardSteps:
    """Every step that more than one row takes. StaleCard if the card has changed since it was read."""

    def __init__(
        self, cards: StoredCards, attempts: StoredAttempts, notes: StoredNotes, firings: StoredFirings
    ) -> None:
        self._cards = cards
        self._attempts = attempts
        self._notes = notes
        self._firings = firings

    async def begin(self, card: CardRecord, new: AttemptRecord, firing: NewFiring, **fields: Any) -> CardRecord:
        """Begin a new attempt, whose run its firing starts. BadMove."""
        return await self._transact(partial(self._begin, card, new, firing, fields))

    def _begin(
        self,
        card: CardRecord,
        attempt: AttemptRecord,
        firing: NewFiring,
        fields: dict[str, Any],
        connection: Connection,
    ) -> CardRecord:
        moved = self._cards.move_in(connection, card, "in_progress", **fields)
        self._attempts.add_in(connection, moved, attempt)
        self._firings.add(connection, firing)
        return moved

    async def end(
        self,
        card: CardRecord,
        attempt: AttemptRecord | None,
        firing: FiringRecord,
        outcome: AttemptOutcome,
        reason: str | None,
        *,
        status: CardStatus | None = None,
        judges: Sequence[NewFiring] = (),
        **fields: Any,
    ) -> None:
        """End an attempt, once; with a `status` the card moves."""

        def work(connection: Connection) -> None:
            if not self._attempts.close_in(connection, firing) or attempt is None:
                return
            self._attempts.end_in(connection, card, attempt, outcome=outcome, reason=reason)
            if status is not None:
                self._cards.move_in(connection, card, status, reason=reason, **fields)
            self._fire(connection, judges)

        await self._transact(work)

    async def end_judge(
        self, card: CardRecord, firing: FiringRecord, *, said: str | None, status: CardStatus | None
    ) -> None:
        """A flow has judged a card: what it said becomes a note, and with a `status` the card moves."""

        def work(connection: Connection) -> None:
            if not self._attempts.close_in(connection, firing):
                return
            if said is None:
                self._cards.tell(connection, card, "card.changed")
                return
            self._notes.add_in(connection, card, "system", said, "")
            if status is not None:
                self._cards.move_in(connection, card, status, reason=said)

        await self._transact(work)

    async def close(self, firing: FiringRecord) -> None:
        """Nothing follows from a firing, because its card was deleted."""
        await self._transact(lambda connection: self._attempts.close_in(connection, firing))

    async def finish(
        self, card: CardRecord, merged: str | None, reason: str | None, judges: Sequence[NewFiring], who: str
    ) -> CardRecord:
        """A card is done. BadMove."""

        def work(connection: Connection) -> CardRecord:
            done = self._cards.move_in(
                connection, card, "done", merged_sha=merged or card.merged_sha, conflict=None, reason=reason
            )
            self._cards.tell(connection, done, "merge.done", sha=merged, who=who)
            self._fire(connection, judges)
            return done

        return await self._transact(work)

    async def change(self, card: CardRecord, judges: Sequence[NewFiring], **fields: Any) -> CardRecord:
        """Change a card, and add the firings that follow."""

        def work(connection: Connection) -> CardRecord:
            changed = self._cards.change_in(connection, card, **fields)
            self._fire(connection, judges)
            return changed

        return await self._transact(work)

    async def move(
        self, card: CardRecord, status: CardStatus, judges: Sequence[NewFiring], **fields: Any
    ) -> CardRecord:
        """Let a card get another status, and add the firings that follow. BadMove."""

        def work(connection: Connection) -> CardRecord:
            moved = self._cards.move_in(connection, card, status, **fields)
            self._fire(connection, judges)
            return moved

        return await self._transact(work)

    def _fire(self, connection: Connection, firings: Sequence[NewFiring]) -> None:
        for each in firings:
            self._firings.add(connection, each)

    async def _transact(self, work: Callable[[Connection], T]) -> T:
        return await self._cards.transact(work)
