"""A card as a page of text: its work, its branch, what was attempted, and what was said of it."""

from collections.abc import Iterator, Sequence
from datetime import datetime

from pitstop.doors.cli.cards.lines import conflict_lines, doing, first_line, live_text, next_lines, short, words_of
from pitstop.doors.cli.cards.place import Place
from pitstop.service.cards import AttemptInfo, CardInfo, NoteInfo, Work


def detail_lines(
    card: CardInfo, attempts: Sequence[AttemptInfo], notes: Sequence[NoteInfo], place: Place
) -> Iterator[str]:
    yield f"{card.id}: {card.title}"
    yield from (f"  {name:9} {text}" for name, text in _facts(card) if text)
    if card.conflict is not None:
        yield f"conflicts with {card.base} at {short(card.conflict.base_sha)}"
        yield from conflict_lines({each.path: each.kind for each in card.conflict.files})
    yield from _section("description", card.description.strip().splitlines())
    yield from _section("attempts", map(attempt_line, attempts))
    unresolved = f" ({card.unresolved_notes} unresolved)" if card.unresolved_notes else ""
    yield from _section(f"notes{unresolved}", (line for note in notes for line in note_lines(note)))
    commands = next_lines(card, place)
    if commands:
        yield from ("next", *commands)


def _section(title: str, lines: "Iterator[str] | Sequence[str]") -> Iterator[str]:
    found = [f"  {line}".rstrip() for line in lines]
    yield from (title, *found) if found else ()


def _facts(card: CardInfo) -> Iterator[tuple[str, str]]:
    yield "status", ", ".join(filter(None, (words_of(card.status), doing(card))))
    yield "work", work_text(card.work_details)
    yield "test", first_line(card.test or "")
    if card.branch is None:
        yield "branch", f"none yet; it will start from {card.base}"
    else:
        where = "deleted" if card.is_branch_gone else f"at {short(card.head_sha)}"
        yield "branch", f"{card.branch} {where}, from {card.base} at {short(card.base_sha)}"
    yield "merged", f"{short(card.merged_sha)} in {card.base}" if card.merged_sha else ""
    yield "landed", _moment(card.landed_at) if card.landed_at else ""
    yield "labels", ", ".join(card.labels)
    yield "created", f"{_moment(card.created_at)} by {card.by}"
    yield "updated", _moment(card.updated_at)
    yield "run", card.run or ""


def work_text(work: Work) -> str:
    """What does the work, with all that it was given."""
    match work.kind:
        case "agent":
            limits = ", ".join(f"{name} {limit}" for name, limit in work.budget.items())
            given = {"on": work.cli, "model": work.model, "limits": limits, "prompt": first_line(work.prompt)}
            told = [f"agent {work.agent}", *(f"{name} {value}" for name, value in given.items() if value)]
        case "run":
            told = [f"script: {first_line(work.run or '')}"]
        case "flow":
            told = [f"flow {work.flow}", *(f"{name}={value}" for name, value in work.inputs.items())]
        case _:
            return "by hand: it has no agent, script or flow"
    return "; ".join([*told, *([f"image {work.image}"] if work.image else [])])


def attempt_line(attempt: AttemptInfo) -> str:
    kind = {"work": attempt.profile or "work", "update": "update", "by_hand": "update by hand"}[attempt.kind]
    commit = f"commit {attempt.to_sha[:10]}" if attempt.to_sha else ""
    told = (kind, commit, live_text(attempt.live), f"run {attempt.run}", first_line(attempt.reason or ""))
    return f"{attempt.number}  {attempt.outcome:9}  {_moment(attempt.started_at)}  {'  '.join(filter(None, told))}"


def note_lines(note: NoteInfo) -> Iterator[str]:
    """A note, with the place where its line is now, or was."""
    resolved = "  resolved" if note.resolved else ""
    place = note_place(note)
    yield f"{note.id}  {note.who}  {_moment(note.at)}{f'  {place}' if place else ''}{resolved}"
    yield from (f"   {line}" for line in note.text.strip().splitlines())


def note_place(note: NoteInfo) -> str:
    if note.file is None:
        return ""
    side = " (old)" if note.side == "old" else ""
    if note.is_outdated:
        return f"{note.file}:{note.line}{side} (outdated)"
    return f"{note.file_now or note.file}:{note.line_now or note.line}{side}"


def _moment(at: float) -> str:
    return datetime.fromtimestamp(at).astimezone().strftime("%Y-%m-%d %H:%M")
