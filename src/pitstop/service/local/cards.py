"""The desk for cards, over the workshop of this server."""

from collections.abc import Sequence
from typing import Any

from msgspec.structs import asdict

from pitstop.errors import BadCard, BadCursor, UnknownRef
from pitstop.git.names import BRANCHES
from pitstop.platform.cards.card_values import AttemptRecord, CardRecord
from pitstop.platform.cards.cards import manual_moves
from pitstop.platform.cards.limits import check_card
from pitstop.platform.cards.work_flows import find_test
from pitstop.platform.live_state import Live
from pitstop.platform.lives import CARD_MOVES
from pitstop.platform.stored.card_rows import AnyRow, labels_in
from pitstop.platform.stored.cards import new_card
from pitstop.platform.workshop import Workshop
from pitstop.service.caller import Caller, Record
from pitstop.service.cards import (
    AS_USUAL,
    BY_MERGE,
    EVERY_CARD,
    WHOLE_WORK,
    Approval,
    AttemptDetail,
    AttemptInfo,
    Board,
    BoardFilter,
    CardChanges,
    CardInfo,
    CardMove,
    CardPreview,
    CardStatus,
    CardSummary,
    Column,
    Diff,
    DiffRange,
    NewCard,
    NewNote,
    NoteInfo,
    Patch,
    Rejection,
    StartCard,
    Updated,
)

IN_COLUMN = 50
SHORT_REASON = 200  # characters of it in lists


class CardDesk:
    """The Cards of this server."""

    def __init__(self, workshop: Workshop, record: Record) -> None:
        self._workshop = workshop
        self._work = workshop.cards
        self._bench = workshop.cards.bench
        self._record = record

    # Looking

    async def board(self, caller: Caller, repo: str, filter: BoardFilter = EVERY_CARD) -> Board:
        await self._workshop.repos.get(repo)
        counts = await self._bench.cards.counts(repo, filter)
        labels, profiles = await self._bench.cards.words(repo)
        rows = await self._bench.cards.first(repo, filter, IN_COLUMN + 1)
        columns = [
            await self._page(status, counts.get(status, 0), rows.get(status, ()), IN_COLUMN) for status in CARD_MOVES
        ]
        return Board(tuple(columns), labels, profiles)

    async def column(
        self,
        caller: Caller,
        repo: str,
        status: CardStatus,
        filter: BoardFilter = EVERY_CARD,
        cursor: str | None = None,
        limit: int = IN_COLUMN,
    ) -> Column:
        await self._workshop.repos.get(repo)
        counts = await self._bench.cards.counts(repo, filter)
        rows = await self._bench.cards.column(repo, status, filter, _place_in(cursor), limit + 1)
        return await self._page(status, counts.get(status, 0), rows, limit)

    async def _page(self, status: CardStatus, count: int, rows: Sequence[AnyRow], limit: int) -> Column:
        """A page of a column, of which there are more if `rows` are more than fit."""
        shown = rows[:limit]
        following = f"{shown[-1].position!r} {shown[-1].id}" if len(rows) > limit else None
        return Column(status, count, await self._summaries(shown), following)

    async def _summaries(self, rows: Sequence[AnyRow]) -> tuple[CardSummary, ...]:
        running = [row.run for row in rows if row.status == "in_progress" and row.run is not None]
        live = await self._bench.attempts.live(running) if running else {}
        reviewed = [row.id for row in rows if row.status in ("in_review", "done")]
        judges = await self._bench.attempts.judges(reviewed) if reviewed else {}
        return tuple(_summary(row, live.get(row.run or ""), judges.get(row.id, ())) for row in rows)

    async def get(self, caller: Caller, card: str) -> CardInfo:
        return await self._info(await self._bench.cards.get(card))

    async def _info(self, card: CardRecord) -> CardInfo:
        _, opened = await self._bench.place_of(card)
        (row,) = await self._bench.cards.short([card.id])
        (summary,) = await self._summaries([row])
        notes = await self._bench.notes.of_card(card.id)
        head = await opened.bare.head_of(card.branch)
        return CardInfo(
            **{**asdict(summary), "reason": card.reason},
            description=card.description,
            work_details=card.work,
            base_sha=card.base_sha,
            merged_sha=card.merged_sha,
            conflict=card.conflict,
            is_branch_gone=card.branch is not None and head is None,
            unresolved_notes=sum(not note.resolved for note in notes),
            test=await self._test_of(card) if card.work.agent is not None else None,
            moves=manual_moves(card),
        )

    async def _test_of(self, card: CardRecord) -> str | None:
        repo, opened = await self._bench.place_of(card)
        try:
            sha = card.head_sha or await opened.bare.resolve(f"{BRANCHES}{card.base}")
            return await find_test(opened.reader, sha, repo.settings.test)
        except UnknownRef:
            return None

    # Their life

    async def create(self, caller: Caller, repo: str, request: NewCard) -> CardInfo:
        caller.require("operator")
        record = await self._workshop.repos.get(repo)
        await self._workshop.opened.ready(record)
        created = await self._work.create(record, request, caller.name)
        return await self._done(caller, "create_card", created)

    async def preview(self, caller: Caller, repo: str, request: NewCard) -> CardPreview:
        caller.require("operator")
        record = await self._workshop.repos.get(repo)
        checked = check_card(request)
        fields: dict[str, Any] = {
            **{name: getattr(checked, name) for name in ("title", "description", "work", "labels")},
            "base": checked.base or record.default_branch,
            "status": "todo",
            "position": 0.0,
            "by": caller.name,
            "created_at": 0.0,
            "updated_at": 0.0,
        }
        card = new_card(0, repo, fields)
        return await self._work.starter.preview(record, await self._workshop.opened.ready(record), card)

    async def update(self, caller: Caller, card: str, changes: CardChanges, version: int | None = None) -> CardInfo:
        caller.require("operator")
        return await self._done(caller, "update_card", await self._work.update(card, changes, version))

    async def move(self, caller: Caller, card: str, move: CardMove, version: int | None = None) -> CardInfo:
        caller.require("operator")
        moved = await self._work.move(card, move, version, caller.name)
        return await self._done(caller, "move_card", moved)

    async def delete(self, caller: Caller, card: str, *, delete_branch: bool = False) -> None:
        caller.require("operator")
        await self._work.delete(card, caller.name, delete_branch=delete_branch)
        await self._record(caller, "delete_card", None, names={"card": card})

    async def start(
        self, caller: Caller, card: str, options: StartCard = AS_USUAL, version: int | None = None
    ) -> CardInfo:
        caller.require("operator")
        started = await self._work.start(card, options, caller.name, version)
        await self._workshop.scan_now(started.repo, caller.name)
        return await self._done(caller, "start_card", started)

    async def cancel(self, caller: Caller, card: str) -> CardInfo:
        caller.require("operator")
        return await self._done(caller, "cancel_card", await self._work.cancel(card))

    async def approve(
        self, caller: Caller, card: str, approval: Approval = BY_MERGE, version: int | None = None
    ) -> CardInfo:
        caller.require("operator")
        try:
            approved = await self._work.approve(card, approval, caller.name, version)
        finally:
            await self._workshop.scan_now(card.rpartition("-")[0], caller.name)
        return await self._done(caller, "approve_card", approved)

    async def update_branch(self, caller: Caller, card: str, *, by_hand: bool = False) -> Updated:
        caller.require("operator")
        updated, conflicts = await self._work.update_branch(card, caller.name, by_hand=by_hand)
        await self._workshop.scan_now(updated.repo, caller.name)
        info = await self._done(caller, "update_card_branch", updated)
        return Updated(card=info, is_clean=not conflicts, files={each.path: each.kind for each in conflicts})

    async def reject(self, caller: Caller, card: str, rejection: Rejection, version: int | None = None) -> CardInfo:
        caller.require("operator")
        rejected = await self._work.reject(card, rejection, caller.name, version)
        return await self._done(caller, "reject_card", rejected)

    async def _done(self, caller: Caller, operation: str, card: CardRecord) -> CardInfo:
        await self._record(caller, operation, card.run, names={"card": card.id, "status": card.status})
        return await self._info(await self._bench.cards.get(card.id))

    # Notes

    async def notes(self, caller: Caller, card: str) -> tuple[NoteInfo, ...]:
        record = await self._bench.cards.get(card)
        return await self._work.notes.shown(record, await self._bench.notes.of_card(card))

    async def note(self, caller: Caller, card: str, note: NewNote) -> NoteInfo:
        caller.require("operator")
        added = await self._work.notes.add(await self._bench.cards.get(card), note, caller.name)
        await self._record(caller, "note_card", None, names={"card": card})
        return added

    async def resolve_note(self, caller: Caller, card: str, note: int, *, resolved: bool = True) -> NoteInfo:
        caller.require("operator")
        record = await self._bench.cards.get(card)
        changed = await self._bench.notes.resolve(record, note, resolved=resolved)
        await self._record(caller, "resolve_note", None, names={"card": card})
        (shown,) = await self._work.notes.shown(record, [changed])
        return shown

    # Attempts and what they changed

    async def attempts(self, caller: Caller, card: str) -> tuple[AttemptInfo, ...]:
        await self._bench.cards.get(card)
        return tuple(AttemptInfo(**_shown(each)) for each in await self._bench.attempts.of_card(card))

    async def attempt(self, caller: Caller, card: str, number: int) -> AttemptDetail:
        found = await self._bench.attempts.get(card, number)
        return AttemptDetail(**_shown(found), text=found.text, prompt=found.prompt)

    async def diff(self, caller: Caller, card: str, range: DiffRange = WHOLE_WORK) -> Diff:
        record = await self._bench.cards.get(card)
        _, opened = await self._bench.place_of(record)
        old, new, is_direct = await self._commits(record, range)
        return await opened.reader.diff(old, new, direct=is_direct)

    async def patch(self, caller: Caller, card: str, path: str, range: DiffRange = WHOLE_WORK) -> Patch:
        record = await self._bench.cards.get(card)
        _, opened = await self._bench.place_of(record)
        old, new, is_direct = await self._commits(record, range)
        return await opened.reader.patch(old, new, path, direct=is_direct)

    async def _commits(self, card: CardRecord, range: DiffRange) -> tuple[str, str, bool]:
        """The two commits that are compared, and whether that is all that differs between them. BadCard."""
        if range.attempt is not None:
            attempt = await self._bench.attempts.get(card.id, range.attempt)
            return attempt.from_sha, attempt.to_sha or attempt.from_sha, True
        if range.from_attempt is not None or range.to_attempt is not None:
            if range.from_attempt is None or range.to_attempt is None:
                raise BadCard("to compare two attempts, give both")
            old, new = [await self._result_of(card, number) for number in (range.from_attempt, range.to_attempt)]
            return old, new, True
        if card.head_sha is None:
            _, opened = await self._bench.place_of(card)
            base = card.base_sha or await opened.bare.resolve(f"{BRANCHES}{card.base}")
            return base, base, True
        if card.base_sha is not None and (card.status == "done" or card.merged_sha is not None):
            return card.base_sha, card.head_sha, True
        _, opened = await self._bench.place_of(card)
        return await opened.bare.resolve(f"{BRANCHES}{card.base}"), card.head_sha, False

    async def _result_of(self, card: CardRecord, number: int) -> str:
        """The commit that an attempt left; 0 is where the branch began."""
        if number == 0:
            if card.base_sha is None:
                raise BadCard(f"card {card.id} has no branch yet")
            return card.base_sha
        attempt = await self._bench.attempts.get(card.id, number)
        return attempt.to_sha or attempt.from_sha


def _summary(row: AnyRow, live: Live | None, judges: tuple[str, ...]) -> CardSummary:
    named = row._asdict()
    fields = {name: named[name] for name in _SAME}
    is_running = row.status == "in_progress"
    return CardSummary(
        **fields,
        work=row.kind,
        reason=None if row.reason is None else row.reason[:SHORT_REASON],
        labels=labels_in(row.labels),
        run_status=(row.run_status or "pending") if is_running and row.run is not None else None,
        live=live,
        judges=judges,
    )


_SAME = tuple(
    name
    for name in CardSummary.__struct_fields__
    if name not in ("work", "reason", "labels", "run_status", "live", "judges")
)


def _shown(attempt: AttemptRecord) -> dict[str, Any]:
    return {name: getattr(attempt, name) for name in AttemptInfo.__struct_fields__}


def _place_in(cursor: str | None) -> tuple[float, str] | None:
    """The position and the card in a cursor. BadCursor."""
    if cursor is None:
        return None
    position, _, card = cursor.partition(" ")
    try:
        return float(position), card
    except ValueError as error:
        raise BadCursor(cursor) from error
