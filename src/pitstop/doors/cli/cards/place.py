"""Which card or repository a command is for, and which server has it."""

import argparse
import re
import shlex

from msgspec import Struct

from pitstop.doors.cli.repos.clone import NO_CLONE, Clone, clone_here
from pitstop.doors.cli.repos.servers import server_url
from pitstop.errors import CommandRefused
from pitstop.program import program
from pitstop.service.cards import repo_of


class Place(Struct, frozen=True, kw_only=True):
    """A server, a repository on it, and a card if the command is for one. `is_given` is a server that was named."""

    server: str
    repo: str
    card: str = ""
    is_given: bool = False

    def command(self, action: str, *words: str) -> str:
        """A command for the same card, as the user can type it here."""
        return self.typed("cards", action, self.card, *words)

    def typed(self, *words: str) -> str:
        return f"{program()} {shlex.join((*words, *(('--server', self.server) if self.is_given else ())))}"

    def run_command(self, *words: str) -> str:
        """A command for a run, which finds the server only if that is named."""
        return f"{program()} {shlex.join((*words, '--server', self.server))}"


def find_place(options: argparse.Namespace) -> Place:
    """CommandRefused, NoServer."""
    clone = clone_here()
    card = _card_in(options.card, clone) if "card" in options else ""
    repo = repo_of(card) if card else options.repo or (clone.repo if clone else None)
    if repo is None:
        raise CommandRefused(NO_CLONE)
    is_of_clone = clone is not None and clone.repo == repo
    server = options.server or (clone.server if clone is not None and is_of_clone else server_url(options))
    return Place(server=server.rstrip("/"), repo=repo, card=card, is_given=options.server is not None)


def _card_in(given: str, clone: Clone | None) -> str:
    """The ID of the card that is named by it, or by its number in a clone."""
    if re.fullmatch(r".+-[0-9]+", given):
        return given
    if not re.fullmatch(r"[0-9]+", given):
        raise CommandRefused(f"{given!r} does not name a card: use its ID, such as shop-3")
    if clone is None:
        raise CommandRefused(
            f"this folder has no remote `pitstop`, so {given} does not name a card: use its ID, such as shop-{given}"
        )
    return f"{clone.repo}-{given}"
