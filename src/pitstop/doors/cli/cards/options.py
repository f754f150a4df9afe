"""The options of each action of `pitstop cards`."""

import argparse
import math
from typing import get_args

from pitstop.doors.cli.repos.servers import add_server_option
from pitstop.service.cards import CardStatus, Method, StartFrom

Parser = argparse.ArgumentParser


def action_parser(action: str, summary: str) -> Parser:
    """A parser with the options that every action has."""
    parser = Parser(prog=f"pitstop cards {action}", description=summary, allow_abbrev=False)
    parser.add_argument("--json", action="store_true", help="newline-delimited JSON")
    add_server_option(parser)
    return parser


def add_ls(parser: Parser) -> None:
    _add_repo(parser)
    parser.add_argument("--status", type=_status, choices=get_args(CardStatus), help="only cards with this status")
    parser.add_argument("--label", metavar="L", help="only cards with this label")
    parser.add_argument("--agent", metavar="P", help="only cards that this agent works on")
    parser.add_argument("--search", metavar="TEXT", help="only cards with this text in their title or description")


def add_add(parser: Parser) -> None:
    _add_repo(parser)
    parser.add_argument("title", metavar="TITLE", help="one line")
    parser.add_argument("--description", metavar="TEXT", default="", help="what is to be done; - reads it from stdin")
    work = parser.add_mutually_exclusive_group()
    work.add_argument("--agent", metavar="P", help="let this agent do the work")
    work.add_argument("--run", metavar="SCRIPT", help="let this script do the work")
    work.add_argument("--flow", metavar="NAME", help="let this flow of the repository do the work")
    parser.add_argument("--prompt", metavar="TEXT", default="", help="what to tell the agent besides the description")
    parser.add_argument("--model", metavar="M", help="the model of the agent")
    parser.add_argument("--cost", metavar="USD", type=_cost, help="end the agent when it has cost this much")
    parser.add_argument("--image", metavar="I", help="the container image for the agent or the script")
    parser.add_argument(
        "-i", "--input", metavar="NAME=VALUE", action="append", default=[], dest="given", help="an input of the flow"
    )
    parser.add_argument("--base", metavar="B", help="the branch to start from and merge into (the default branch)")
    parser.add_argument("--label", metavar="L", action="append", default=[], dest="labels", help="a label")
    then = parser.add_mutually_exclusive_group()
    then.add_argument("--start", action="store_true", help="start the work at once")
    then.add_argument("--preview", action="store_true", help="only print the prompt, the flow and the test command")


def add_card(parser: Parser) -> None:
    parser.add_argument("card", metavar="CARD", help="the card by its ID, or by its number in a clone")


def add_start(parser: Parser) -> None:
    add_card(parser)
    parser.add_argument("--guidance", metavar="TEXT", default="", help="what to tell the agent in addition")
    parser.add_argument(
        "--from",
        metavar="head|base|N",
        type=_start_from,
        default="head",
        dest="start_from",
        help="continue on the branch (head), begin again (base), or continue attempt N (head)",
    )
    parser.add_argument("--agent", metavar="P", help="another agent than the card has")
    parser.add_argument("--debug", action="store_true", help="pause at the first tool call, or the first step")
    parser.add_argument(
        "--follow", action="store_true", help="wait for the end: exit code 0 if it is in review, else 1"
    )


def add_diff(parser: Parser) -> None:
    add_card(parser)
    parser.add_argument("path", metavar="PATH", nargs="?", help="only this file or folder")
    part = parser.add_mutually_exclusive_group()
    part.add_argument("--attempt", metavar="N", type=int, help="only what this attempt changed")
    part.add_argument(
        "--between", metavar=("A", "B"), nargs=2, type=int, help="what differs between two attempts; 0 is the base"
    )
    parser.add_argument("--stat", action="store_true", help="only list the files, with the number of changed lines")


def add_approve(parser: Parser) -> None:
    add_card(parser)
    parser.add_argument("--method", choices=get_args(Method), default="merge", help="how to merge (merge)")
    parser.add_argument("--message", metavar="TEXT", default="", help="the commit message")
    parser.add_argument("--keep-open", action="store_true", help="merge, and keep the card in review")
    parser.add_argument(
        "--expect", metavar="SHA", help="refuse if the branch is at another commit (default: where it is now)"
    )


def add_update(parser: Parser) -> None:
    add_card(parser)
    parser.add_argument("--by-hand", action="store_true", help="resolve conflicts yourself, in a paused run")


def add_reject(parser: Parser) -> None:
    add_card(parser)
    parser.add_argument("--reason", metavar="TEXT", default="", help="why: it becomes a note on the card")
    _add_delete_branch(parser)


def add_note(parser: Parser) -> None:
    add_card(parser)
    parser.add_argument("text", metavar="TEXT", nargs="?", help="the note; - reads it from stdin")
    parser.add_argument("--at", metavar="FILE:LINE", help="the line that the note is on")
    parser.add_argument("--old", action="store_true", help="the line is one of the base, and not of the branch")
    parser.add_argument("--resolve", metavar="N", type=int, help="resolve this note instead")


def add_move(parser: Parser) -> None:
    add_card(parser)
    parser.add_argument("status", metavar="STATUS", type=_status, choices=get_args(CardStatus), help="where to")


def add_rm(parser: Parser) -> None:
    add_card(parser)
    _add_delete_branch(parser)


def _add_repo(parser: Parser) -> None:
    parser.add_argument("repo", metavar="REPO", nargs="?", help="the repository (that of this clone)")


def _add_delete_branch(parser: Parser) -> None:
    parser.add_argument("--delete-branch", action="store_true", help="also delete the branch of the card")


def _status(text: str) -> str:
    return text.replace("-", "_").replace(" ", "_")


def _cost(text: str) -> float:
    cost = float(text)
    if not math.isfinite(cost) or cost <= 0:
        raise argparse.ArgumentTypeError("it must be more than 0")
    return cost


def _start_from(text: str) -> StartFrom:
    match text:
        case "head":
            return "head"
        case "base":
            return "base"
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is neither `head`, `base` nor the number of an attempt")
    return int(text)
