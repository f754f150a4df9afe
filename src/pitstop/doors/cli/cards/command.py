"""`pitstop cards`: the cards of a repository on a server, and what is done with them."""

import argparse
from collections.abc import Awaitable, Callable, Mapping, Sequence

from msgspec import Struct

from pitstop.doors.cli.app import OpenService
from pitstop.doors.cli.cards import changing, looking, options, reviewing
from pitstop.doors.cli.cards.place import Place, find_place
from pitstop.doors.cli.interrupts import Interrupts
from pitstop.doors.cli.repos.servers import ask_server
from pitstop.service.desks import Service


class Action(Struct, frozen=True):
    """What can be done: how it is typed, what for, its options, and what then happens."""

    usage: str
    summary: str
    add_options: Callable[[argparse.ArgumentParser], None]
    act: Callable[[Service, Place, argparse.Namespace], Awaitable[int]]


ACTIONS: Mapping[str, Action] = {
    "ls": Action("[ls] [REPO]", "list cards by status", options.add_ls, looking.list_cards),
    "add": Action("add [REPO] TITLE", "create a card", options.add_add, changing.add),
    "show": Action("show CARD", "show everything about a card", options.add_card, looking.show),
    "start": Action("start CARD", "start the work", options.add_start, changing.start),
    "diff": Action("diff CARD [PATH]", "show the changes as patches", options.add_diff, looking.diff),
    "note": Action("note CARD TEXT", "add a note, also to a line; or resolve one", options.add_note, reviewing.note),
    "approve": Action("approve CARD", "merge the branch", options.add_approve, reviewing.approve),
    "update": Action("update CARD", "merge the base into the branch", options.add_update, reviewing.update),
    "reject": Action("reject CARD", "move a card in review to todo", options.add_reject, reviewing.reject),
    "retry": Action("retry CARD", "do the work again", options.add_start, changing.retry),
    "cancel": Action("cancel CARD", "end the run, and move the card back", options.add_card, changing.cancel),
    "move": Action("move CARD STATUS", "move a card to another column", options.add_move, changing.move),
    "rm": Action("rm CARD", "delete a card; its runs are kept", options.add_rm, changing.remove),
}


def cards_command(words: Sequence[str], open_service: OpenService, interrupts: Interrupts) -> int:
    name, rest = split(words)
    if name not in ACTIONS:
        _parser().parse_args(words)  # which prints the help, or refuses the action
    action = ACTIONS[name]
    parser = options.action_parser(name, f"{action.summary[0].upper()}{action.summary[1:]}.")
    action.add_options(parser)
    given = parser.parse_intermixed_args(rest)  # options may stand between REPO and TITLE
    place = find_place(given)
    return ask_server(place.server, lambda service: action.act(service, place, given))


def split(words: Sequence[str]) -> tuple[str, list[str]]:
    """The action and its words. A lone word that is no action is a repository to list."""
    match list(words):
        case [("-h" | "--help") as name, *_]:
            return name, []
        case [name, *rest] if name in ACTIONS:
            return name, rest
        case [name, second, *_] if not name.startswith("-") and not second.startswith("-"):
            return name, []
    return "ls", list(words)


def _parser() -> argparse.ArgumentParser:
    width = max(len(action.usage) for action in ACTIONS.values())
    lines = (f"    pitstop cards {action.usage:{width}}  {action.summary}" for action in ACTIONS.values())
    parser = argparse.ArgumentParser(
        prog="pitstop cards",
        usage="pitstop cards [ACTION] [OPTIONS]",
        description="\n".join(
            (
                "List the cards of a repository, start, review and merge them:\n",
                *lines,
                "\nIn a clone with a remote `pitstop`, REPO may be omitted, and a card may be named by its number.",
            )
        ),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "action",
        metavar="ACTION",
        choices=ACTIONS,
        nargs="?",
        help="what to do (ls); pitstop cards ACTION --help lists its options",
    )
    return parser
