"""`pitstop cards approve`, `update`, `reject` and `note`: what a reviewer does."""

from argparse import Namespace
from collections.abc import Iterator, Mapping

from pitstop.doors.cli.cards.changing import started_lines
from pitstop.doors.cli.cards.details import note_place
from pitstop.doors.cli.cards.lines import aligned, conflict_lines, first_line, short, ways_out, words_of
from pitstop.doors.cli.cards.place import Place
from pitstop.doors.cli.cards.printing import answer, desk_of, read_text
from pitstop.doors.cli.exit_codes import FAILED, PASSED
from pitstop.errors import CommandRefused, MergeConflict, RefMoved
from pitstop.service.caller import LOCAL
from pitstop.service.cards import Approval, CardInfo, NewNote, Rejection, Side
from pitstop.service.desks import Service

SHORTEST_SHA = 7


async def approve(service: Service, place: Place, options: Namespace) -> int:
    """Merge what the branch has now, and nothing that is pushed meanwhile."""
    desk = desk_of(service)
    seen = await desk.get(LOCAL, place.card)
    wanted = Approval(
        expect=expected(seen, options.expect),
        method=options.method,
        message=options.message,
        keep_open=options.keep_open,
    )
    try:
        card = await desk.approve(LOCAL, place.card, wanted)
    except MergeConflict:
        card = await desk.get(LOCAL, place.card)
        answer(options, card, refused_lines(card, place))
        return FAILED
    answer(options, card, merged_lines(card, seen.head_sha, place))
    return PASSED


def expected(card: CardInfo, given: str | None) -> str | None:
    """The commit that is merged. RefMoved if the branch is not at the one that the user named."""
    if given is None:
        return card.head_sha
    if len(given) < SHORTEST_SHA:
        raise CommandRefused(f"--expect {given}: use at least {SHORTEST_SHA} characters of the commit")
    if card.head_sha is None or not card.head_sha.startswith(given.lower()):
        raise RefMoved(card.branch or "", given, card.head_sha)
    return card.head_sha


def merged_lines(card: CardInfo, head: str | None, place: Place) -> Iterator[str]:
    still = "" if card.status == "done" else f"; it is still {words_of(card.status)}"
    yield f"merged {card.id} at {short(head)} into {card.base} as {short(card.merged_sha)}{still}"
    yield f"  push it to the repository's own remote with: {place.typed('land', card.repo, card.base)}"


def refused_lines(card: CardInfo, place: Place) -> Iterator[str]:
    """Why a card cannot be merged, and the ways out."""
    yield f"cannot merge {card.id} at {short(card.head_sha)} into {card.base}:"
    files = () if card.conflict is None else card.conflict.files
    yield from conflict_lines({each.path: each.kind for each in files})
    yield "use one of:"
    yield from aligned([(place.command(*words), what) for *words, what in ways_out(card)])


async def update(service: Service, place: Place, options: Namespace) -> int:
    updated = await desk_of(service).update_branch(LOCAL, place.card, by_hand=options.by_hand)
    card = updated.card
    if updated.is_clean:
        lines: Iterator[str] = iter((f"merged {card.base} into {card.branch}, which is now at {short(card.head_sha)}",))
    else:
        lines = resolving_lines(card, updated.files, place, by_hand=options.by_hand)
    answer(options, updated, lines)
    return PASSED


def resolving_lines(card: CardInfo, files: Mapping[str, str], place: Place, *, by_hand: bool) -> Iterator[str]:
    yield f"{card.base} conflicts with {card.branch}:"
    yield from conflict_lines(files)
    if by_hand and card.run is not None:
        yield f"resolve them in the workspace of run {card.run}, where it pauses, then continue it:"
        yield f"  {place.run_command('debug', card.run)}"
    else:
        yield from started_lines(card, place)


async def reject(service: Service, place: Place, options: Namespace) -> int:
    rejection = Rejection(reason=options.reason, keep_branch=not options.delete_branch)
    card = await desk_of(service).reject(LOCAL, place.card, rejection)
    branch = "deleted" if options.delete_branch else "kept"
    answer(options, card, (f"rejected {card.id}: it is {words_of(card.status)}, and its branch is {branch}",))
    return PASSED


async def note(service: Service, place: Place, options: Namespace) -> int:
    desk = desk_of(service)
    if options.resolve is not None:
        if options.text is not None or options.at is not None:
            raise CommandRefused("use either TEXT or --resolve")
        resolved = await desk.resolve_note(LOCAL, place.card, options.resolve)
        answer(options, resolved, (f"resolved note {resolved.id} of {place.card}: {first_line(resolved.text)}",))
        return PASSED
    added = await desk.note(LOCAL, place.card, read_note(options))
    where = note_place(added)
    answer(options, added, (f"added note {added.id} to {place.card}{f' at {where}' if where else ''}",))
    return PASSED


def read_note(options: Namespace) -> NewNote:
    """CommandRefused."""
    if options.text is None:
        raise CommandRefused("`pitstop cards note` needs the TEXT of a note, or --resolve N")
    side: Side = "old" if options.old else "new"
    if options.at is None:
        if options.old:
            raise CommandRefused("--old needs --at FILE:LINE")
        return NewNote(text=read_text(options.text))
    file, _, line = options.at.rpartition(":")
    if not file or not line.isdecimal():
        raise CommandRefused(f"--at {options.at!r}: use FILE:LINE")
    return NewNote(text=read_text(options.text), file=file, line=int(line), side=side)
