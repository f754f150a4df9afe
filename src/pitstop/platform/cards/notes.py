"""Notes on cards: where they were made, and where their lines are now."""

from collections.abc import Iterable, Sequence
from typing import Any

from msgspec.structs import asdict, replace

from pitstop.errors import BadCard, PitstopError, UnknownRef
from pitstop.git.line_moves import moved_lines
from pitstop.platform.cards.card_info import NewNote, NoteInfo
from pitstop.platform.cards.card_values import CardRecord, NoteRecord
from pitstop.platform.cards.changing import CardBench
from pitstop.platform.cards.limits import MOST_NOTES, check_text
from pitstop.platform.open_repos import OpenRepo

Place = tuple[str, int]


class CardNotes:
    """Adds notes, and follows their lines from the commit where each was made to the head of the branch."""

    def __init__(self, bench: CardBench) -> None:
        self._bench = bench

    async def add(self, card: CardRecord, note: NewNote, who: str) -> NoteInfo:
        """BadCard, UnknownPath, UnknownRef."""
        if not note.text.strip():
            raise BadCard("the note is empty")
        check_text(note.text, "the note")
        if len(await self._bench.notes.of_card(card.id)) >= MOST_NOTES:
            raise BadCard(f"card {card.id} has {MOST_NOTES:,} notes, which is the limit")
        place: dict[str, Any] = {}
        if note.file is not None:
            place = {"file": note.file, "line": note.line, "side": note.side, "sha": await self._commit_of(card, note)}
        stored = await self._bench.notes.add(
            card, "comment" if note.file is None else "review", note.text, who, **place
        )
        (shown,) = await self.shown(card, [stored])
        return shown

    async def _commit_of(self, card: CardRecord, note: NewNote) -> str:
        """The commit that has the line of a note, which must exist there."""
        _, opened = await self._bench.place_of(card)
        sha = note.sha or (card.head_sha if note.side == "new" else card.base_sha)
        if sha is None:
            raise BadCard(f"card {card.id} has no commits to note something on yet")
        sha = await opened.bare.resolve(sha)
        found = await opened.reader.file(sha, note.file or "")
        if found.text is None:
            raise BadCard(f"{note.file} is a binary file, so a note cannot be on a line of it")
        lines = found.text.count("\n") + (not found.text.endswith("\n"))
        if not found.is_cut and not 1 <= (note.line or 0) <= max(lines, 1):
            raise BadCard(f"{note.file} has {lines:,} lines at {sha[:12]}, so a note cannot be on line {note.line}")
        return sha

    async def shown(self, card: CardRecord, notes: Sequence[NoteRecord]) -> tuple[NoteInfo, ...]:
        """Notes with the places where their lines are now. Without the files of the repository, none is known."""
        now: dict[int, Place | None] = {}
        try:
            _, opened = await self._bench.place_of(card)
            now = await self._places(opened, card, notes)
        except UnknownRef:
            now = dict.fromkeys((each.id for each in notes if each.file is not None), None)
        return tuple(_info(each, now.get(each.id)) for each in notes)

    async def open_at(self, opened: OpenRepo, card: CardRecord, sha: str) -> list[NoteRecord]:
        """The notes that are not resolved, each with the place of its line at a commit; without one if it is gone."""
        notes = [
            each for each in await self._bench.notes.of_card(card.id) if not each.resolved and each.kind != "system"
        ]
        now = await self._places(opened, card, notes, sha)
        return [_moved(each, now.get(each.id)) for each in notes]

    async def _places(
        self, opened: OpenRepo, card: CardRecord, notes: Iterable[NoteRecord], head: str | None = None
    ) -> dict[int, Place | None]:
        """Where the lines of notes are: those on the new side at the head, the others where the branch began."""
        found: dict[int, Place | None] = {}
        by_commits: dict[tuple[str, str], list[NoteRecord]] = {}
        for note in notes:
            target = (head or card.head_sha) if note.side == "new" else card.base_sha
            if note.file is None or note.line is None or note.sha is None:
                continue
            if target is None:
                found[note.id] = None
            else:
                by_commits.setdefault((note.sha, target), []).append(note)
        for (old, new), some in by_commits.items():
            places = [(each.file or "", each.line or 0) for each in some]
            try:
                moved = await moved_lines(opened.bare, old, new, places)
            except PitstopError:  # a commit that was pruned long after it was replaced
                moved = {}
            found |= {each.id: moved.get((each.file or "", each.line or 0)) for each in some}
        return found


def place_of(note: NoteRecord) -> str:
    """Where a note is, in one word; empty for one on the whole card."""
    return "" if note.file is None else f"{note.file}:{note.line}"


def _moved(note: NoteRecord, now: Place | None) -> NoteRecord:
    file, line = now if now is not None else (None, None)
    return replace(note, file=file, line=line)


def _info(note: NoteRecord, now: Place | None) -> NoteInfo:
    fields = {name: value for name, value in asdict(note).items() if name != "repo"}
    is_outdated = note.file is not None and now is None
    file, line = now if now is not None else (None, None)
    return NoteInfo(**fields, file_now=file, line_now=line, is_outdated=is_outdated)
