"""Cards as lines of text: the board, and why a card is where it is."""

from collections.abc import Iterator, Mapping, Sequence

from pitstop.doors.cli.cards.place import Place
from pitstop.program import program
from pitstop.service.cards import CardInfo, CardStatus, CardSummary, Column, Live

CONFLICTS = {
    "text": "both change the same lines",
    "binary": "both change this binary file",
    "deleted": "one deletes it, and the other changes it",
    "renamed": "one renames it, and the other renames or changes it",
    "other": "both change it in ways that cannot be merged",
}


def board_lines(columns: Sequence[Column], place: Place, *, is_filtered: bool) -> Iterator[str]:
    """The columns that have cards, each with a line for each card."""
    cards = [card for column in columns for card in column.cards]
    if not cards:
        yield (
            f"no cards match in {place.repo}"
            if is_filtered
            else (f"no cards in {place.repo}: create one with `{program()} cards add {place.repo} TITLE`")
        )
        return
    widths = [max(map(len, each)) for each in zip(*map(_cells, cards), strict=True)]
    for column in columns:
        if column.cards:
            yield f"{words_of(column.status)} ({column.count})"
        for card in column.cards:
            cells = (f"{cell:{width}}" for cell, width in zip(_cells(card), widths, strict=True))
            yield "  " + "  ".join((*cells, doing(card))).rstrip()
        if column.count > len(column.cards):
            more = place.typed("cards", "ls", place.repo, "--status", column.status)
            yield f"  and {column.count - len(column.cards)} more: {more}"


def _cells(card: CardSummary) -> tuple[str, str, str]:
    return card.id, card.title, card.profile or ("by hand" if card.work == "none" else card.work)


def doing(card: CardSummary) -> str:
    """What happens to a card, or what has to be known of it before it goes on."""
    if card.status == "in_progress" and card.run_status is not None:
        state = card.run_status if card.run_status in ("pending", "paused") else "running"
        return ": ".join(filter(None, (state, live_text(card.live))))
    told = [f"conflicts with {card.base}"] if card.has_conflict else []
    told += [first_line(card.reason)] if card.reason else []
    told += [f"judged by {', '.join(card.judges)}"] if card.judges else []
    return "; ".join(told)


def live_text(live: Live | None) -> str:
    """The last tool call of an agent, how many there were, and what they cost."""
    if live is None:
        return ""
    call = f"{live.tool} {first_line(live.about)}".strip() if live.tool else ""
    calls = f"{live.calls} call{'s' * (live.calls != 1)}" if live.calls else ""
    cost = f"${live.cost:.2f}" if live.cost is not None else ""
    tokens = f"{live.tokens:,} tokens" if live.tokens is not None and not cost else ""
    return ", ".join(filter(None, (call, calls, cost, tokens)))


def conflict_lines(files: Mapping[str, str]) -> list[str]:
    return aligned([(path, CONFLICTS.get(kind, kind)) for path, kind in files.items()])


def next_lines(card: CardInfo, place: Place) -> list[str]:
    """The commands that are possible now, each with what it does."""
    commands = [(place.command(*words), what) for *words, what in _next(card)]
    if card.run is not None and card.status in ("in_progress", "failed"):
        commands.append((place.run_command("debug", card.run), "debug its run"))
    return aligned(commands)


def aligned(rows: Sequence[tuple[str, str]]) -> list[str]:
    width = max((len(first) for first, _ in rows), default=0)
    return [f"  {first:{width}}  {second}" for first, second in rows]


def _next(card: CardInfo) -> Iterator[tuple[str, ...]]:
    again = (
        f", with {card.unresolved_notes} unresolved note{'s' * (card.unresolved_notes != 1)}"
        if card.unresolved_notes and card.profile
        else ""
    )
    can_work = card.work != "none"
    match card.status:
        case "todo" if can_work:
            yield "start", "start the work"
        case "in_progress" if can_work or card.run is not None:
            yield "cancel", "end its run, and move it back"
        case "in_review" | "failed":
            if card.branch is not None:
                yield "diff", "look at the changes"
            if card.has_conflict:
                yield from ways_out(card)
            else:
                if card.status == "in_review":
                    yield "approve", f"merge it into {card.base}"
                yield "reject", "move it to todo"
            if can_work:
                yield "retry", f"do the work again{again}"
            return
    if not can_work or card.status == "done":
        for status in card.moves:
            if status != card.status:
                yield "move", status, f"move it to {words_of(status)}"


def ways_out(card: CardInfo) -> Iterator[tuple[str, ...]]:
    """What can be done about conflicts, as actions with what each does."""
    if card.profile is not None:
        yield "update", f"merge {card.base} into the branch, and let the agent resolve the conflicts"
    yield "update", "--by-hand", "resolve the conflicts yourself, in a paused run"
    yield "reject", "move it to todo"


def words_of(status: CardStatus) -> str:
    return status.replace("_", " ")


def short(sha: str | None) -> str:
    return (sha or "none")[:10]


def first_line(text: str) -> str:
    return text.strip().partition("\n")[0]
