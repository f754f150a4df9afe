"""`pitstop cards ls`, `show` and `diff`: what there is, without changing anything."""

import sys
from argparse import Namespace

from msgspec import to_builtins
from msgspec.structs import replace

from pitstop.doors.cli.cards.details import detail_lines
from pitstop.doors.cli.cards.lines import board_lines
from pitstop.doors.cli.cards.patches import files_at, has_colors, patch_text, stat_lines
from pitstop.doors.cli.cards.place import Place
from pitstop.doors.cli.cards.printing import answer, desk_of
from pitstop.doors.cli.exit_codes import PASSED
from pitstop.service.caller import LOCAL
from pitstop.service.cards import BoardFilter, Cards, Column, DiffRange
from pitstop.service.desks import Service

PAGE = 100


async def list_cards(service: Service, place: Place, options: Namespace) -> int:
    desk = desk_of(service)
    wanted = BoardFilter(label=options.label, profile=options.agent, search=options.search)
    if options.status is not None:
        columns = [await _whole(desk, place.repo, Column(options.status, 0, ()), wanted)]
    else:
        columns = [*(await desk.board(LOCAL, place.repo, wanted)).columns]
        if options.json:  # a program shall not have to count what is missing
            columns = [await _whole(desk, place.repo, each, wanted) if each.next else each for each in columns]
    if options.json:
        for card in (card for column in columns for card in column.cards):
            answer(options, card, ())
    else:
        is_filtered = options.status is not None or wanted != BoardFilter()
        answer(options, columns, board_lines(columns, place, is_filtered=is_filtered))
    return PASSED


async def _whole(desk: Cards, repo: str, column: Column, wanted: BoardFilter) -> Column:
    """A column with all of its cards."""
    while True:
        page = await desk.column(LOCAL, repo, column.status, wanted, column.next, PAGE)
        column = replace(page, cards=(*column.cards, *page.cards))
        if page.next is None:
            return column


async def show(service: Service, place: Place, options: Namespace) -> int:
    desk = desk_of(service)
    card = await desk.get(LOCAL, place.card)
    attempts, notes = await desk.attempts(LOCAL, card.id), await desk.notes(LOCAL, card.id)
    whole = {**to_builtins(card), "attempts": attempts, "notes": notes}
    answer(options, whole, detail_lines(card, attempts, notes, place))
    return PASSED


async def diff(service: Service, place: Place, options: Namespace) -> int:
    desk = desk_of(service)
    old, new = options.between or (None, None)
    wanted = DiffRange(attempt=options.attempt, from_attempt=old, to_attempt=new)
    changed = await desk.diff(LOCAL, place.card, wanted)
    files = files_at(changed, options.path, place.card)
    if options.stat and options.json:
        for file in files:
            answer(options, file, ())
    elif options.stat:
        answer(options, files, stat_lines(files))
    else:
        for file in files:
            patch = await desk.patch(LOCAL, place.card, file.path, wanted)
            if options.json:
                answer(options, patch, ())
            else:
                sys.stdout.write(patch_text(patch, colored=has_colors()))
            if patch.is_cut:
                _warn(f"the patch of {file.path} is too long, so its end is missing")
    if changed.is_cut:
        _warn("there are too many files to list them all")
    if not changed.files:
        _warn(f"no changes in {place.card}")
    return PASSED


def _warn(text: str) -> None:
    print(f"pitstop: {text}", file=sys.stderr)
