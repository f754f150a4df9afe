"""Attempts at cards and notes on them, in the database."""

from collections.abc import Collection, Sequence
from typing import Any

import msgspec
from sqlalchemy import Connection, insert, select, update

from pitstop.errors import Unknown
from pitstop.platform.cards.card_values import AttemptRecord, CardRecord, NoteRecord
from pitstop.platform.live_state import Live
from pitstop.platform.repo_values import FiringRecord
from pitstop.platform.stored.card_rows import AnyRow, attempts, card_notes, to_attempt, to_note
from pitstop.platform.stored.cards import StoredCards
from pitstop.platform.stored.firings import firings, to_firing
from pitstop.platform.stored.repos import repos
from pitstop.store.port import ENDED, Status
from pitstop.store.sql.database import Database, telling_problems
from pitstop.store.sql.schema import runs


class EndedRun(msgspec.Struct, frozen=True):
    """A run of a card that has ended, or never began: then it has no status, and the reason is that of the firing."""

    firing: FiringRecord
    status: Status | None
    reason: str | None


class StoredAttempts:
    """The rows of attempts, and the open firings of cards."""

    def __init__(self, database: Database, stored_cards: StoredCards) -> None:
        self._database = database
        self._cards = stored_cards

    def add_in(self, connection: Connection, card: CardRecord, attempt: AttemptRecord) -> None:
        row = msgspec.to_builtins(attempt) | {"started_at": self._database.now}
        connection.execute(insert(attempts).values(row))
        self._cards.tell(connection, card, "attempt.started", attempt=attempt.number, run=attempt.run)

    def end_in(self, connection: Connection, card: CardRecord, attempt: AttemptRecord, **fields: Any) -> None:
        row = {name: msgspec.to_builtins(value) for name, value in fields.items()}
        is_it = (attempts.c.card == attempt.card, attempts.c.number == attempt.number)
        connection.execute(update(attempts).where(*is_it).values(**row, ended_at=self._database.now))
        body = {"attempt": attempt.number, "run": attempt.run, "outcome": fields["outcome"]}
        self._cards.tell(connection, card, "attempt.ended", **body)

    async def of_card(self, card: str) -> tuple[AttemptRecord, ...]:
        """The newest first."""
        wanted = select(attempts).where(attempts.c.card == card).order_by(attempts.c.number.desc())
        return tuple(map(to_attempt, await self._database.rows(wanted)))

    async def get(self, card: str, number: int) -> AttemptRecord:
        """Unknown."""
        wanted = select(attempts).where(attempts.c.card == card, attempts.c.number == number)
        rows = await self._database.rows(wanted)
        if not rows:
            raise Unknown("attempt", f"{number} of card {card}")
        return to_attempt(rows[0])

    async def of_run(self, run: str) -> AttemptRecord | None:
        rows = await self._database.rows(select(attempts).where(attempts.c.run == run))
        return to_attempt(rows[0]) if rows else None

    async def live(self, runs_of: Collection[str]) -> dict[str, Live]:
        """What attempts are doing, by their runs."""
        rows = await self._database.rows(select(attempts.c.run, attempts.c.live).where(attempts.c.run.in_(runs_of)))
        return {row.run: msgspec.convert(row.live, Live) for row in rows}

    async def note_progress(self, run: str, live: Live, status: str) -> None:
        """Store what the attempt with this run is doing, and tell of it."""
        attempt = await self.of_run(run)
        if attempt is None:
            return
        card = await self._cards.get(attempt.card)
        is_it = (attempts.c.card == attempt.card, attempts.c.number == attempt.number)

        def work(connection: Connection) -> None:
            connection.execute(update(attempts).where(*is_it).values(live=msgspec.to_builtins(live)))
            self._cards.tell(connection, card, "attempt.progress", attempt=attempt.number, run_status=status)

        await self._cards.transact(work)

    async def note_commit(self, run: str, to_sha: str | None) -> None:
        """Store the commit that an attempt has made."""
        with telling_problems():
            await self._database.transact(
                lambda connection: connection.execute(
                    update(attempts).where(attempts.c.run == run).values(to_sha=to_sha)
                )
            )

    # Runs of cards that have ended

    async def ended(self, home: str) -> Sequence[EndedRun]:
        """What is still to follow from the ends of runs, in the repositories of this home."""
        of_home = select(firings, runs.c.status.label("run_status"), runs.c.error.label("run_error"))
        of_home = of_home.add_columns(runs.c.failures.label("run_failures"))
        joined = of_home.join(repos, repos.c.id == firings.c.repo).outerjoin(runs, runs.c.id == firings.c.run)
        is_over = runs.c.status.in_(ENDED) | (firings.c.outcome != "pending") & runs.c.id.is_(None)
        wanted = joined.where(firings.c.is_open, repos.c.home == home, is_over).order_by(firings.c.id).limit(500)
        return [_to_ended(row) for row in await self._database.rows(wanted)]

    async def running(self, home: str) -> set[str]:
        """The runs of the attempts that have not ended, in the repositories of this home."""
        joined = select(attempts.c.run).join(repos, repos.c.id == attempts.c.repo)
        rows = await self._database.rows(joined.where(attempts.c.outcome == "running", repos.c.home == home))
        return {row.run for row in rows}

    def close_in(self, connection: Connection, firing: FiringRecord) -> bool:
        """Nothing is to follow from a firing any more; False when that is stored already."""
        closed = update(firings).where(firings.c.id == firing.id, firings.c.is_open).values(is_open=False)
        return connection.execute(closed).rowcount > 0

    async def judges(self, card_ids: Collection[str]) -> dict[str, tuple[str, ...]]:
        """The runs that judge cards, until what follows from their ends is stored."""
        wanted = select(firings.c.card, firings.c.run)
        is_judge = (firings.c.card.in_(card_ids), firings.c.kind == "card_complete", firings.c.is_open)
        found: dict[str, tuple[str, ...]] = {}
        for row in await self._database.rows(wanted.where(*is_judge).order_by(firings.c.id)):
            found[row.card] = (*found.get(row.card, ()), row.run)
        return found


class StoredNotes:
    """The rows of notes."""

    def __init__(self, database: Database, stored_cards: StoredCards) -> None:
        self._database = database
        self._cards = stored_cards

    async def of_card(self, card: str) -> tuple[NoteRecord, ...]:
        wanted = select(card_notes).where(card_notes.c.card == card).order_by(card_notes.c.id)
        return tuple(map(to_note, await self._database.rows(wanted)))

    def add_in(self, connection: Connection, card: CardRecord, kind: str, text: str, who: str, **place: Any) -> int:
        row = {"card": card.id, "repo": card.repo, "kind": kind, "text": text, "who": who, "at": self._database.now}
        values = {"side": "new", "resolved": kind == "system", **row, **place}
        number: int = connection.execute(insert(card_notes).values(values).returning(card_notes.c.id)).scalar_one()
        self._cards.tell(connection, card, "card.noted", note=number)
        return number

    async def add(self, card: CardRecord, kind: str, text: str, who: str, **place: Any) -> NoteRecord:
        number = await self._cards.transact(lambda connection: self.add_in(connection, card, kind, text, who, **place))
        return next(each for each in await self.of_card(card.id) if each.id == number)

    async def resolve(self, card: CardRecord, note: int, *, resolved: bool) -> NoteRecord:
        """Unknown."""
        is_it = (card_notes.c.card == card.id, card_notes.c.id == note)

        def work(connection: Connection) -> bool:
            changed = connection.execute(update(card_notes).where(*is_it).values(resolved=resolved)).rowcount > 0
            if changed:
                self._cards.tell(connection, card, "card.noted", note=note)
            return changed

        if not await self._cards.transact(work):
            raise Unknown("note", f"{note} on card {card.id}")
        return next(each for each in await self.of_card(card.id) if each.id == note)


def _to_ended(row: AnyRow) -> EndedRun:
    reason = row.reason if row.run_status is None else row.run_error
    failures = row.run_failures or ()
    if failures:
        reason = "; ".join(f"{each['step']}: {each['message']}" for each in failures[:3])
    return EndedRun(to_firing(row), row.run_status, reason)
