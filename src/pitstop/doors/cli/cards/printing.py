"""What the actions on cards have in common: the desk that they ask, and how they answer."""

import json
import sys
from argparse import Namespace
from collections.abc import Iterable
from typing import Any

from msgspec import to_builtins

from pitstop.errors import NeedsServer
from pitstop.service.cards import Cards
from pitstop.service.desks import Service
from pitstop.service.runs import printable


def desk_of(service: Service) -> Cards:
    if service.cards is None:
        raise NeedsServer("this command")
    return service.cards


def answer(options: Namespace, value: Any, lines: Iterable[str]) -> None:
    """Print a value as JSON, or what it says in lines."""
    if options.json:
        print(json.dumps(to_builtins(value), ensure_ascii=False), flush=True)
        return
    for line in lines:
        print(printable(line), flush=True)


def read_text(given: str) -> str:
    """The text of an option; `-` is standard input."""
    return sys.stdin.read() if given == "-" else given
