"""`pitstop fix RUN WAY`: choose how a fix loop that gave up continues."""

import argparse
from collections.abc import Sequence

from pitstop.doors.cli.app import OpenService
from pitstop.doors.cli.choosing import add_server_option
from pitstop.doors.cli.interrupts import Interrupts
from pitstop.errors import BadInputs

WAYS = ("take-over", "guide", "roll-back", "skip", "stop")
_NEED_TEXT = {"guide": "the guidance", "skip": "the reason"}


def choose_way(words: Sequence[str], open_service: OpenService, interrupts: Interrupts) -> int:
    raise NotImplementedError


def read_way(words: Sequence[str]) -> argparse.Namespace:
    """BadInputs."""
    parser = argparse.ArgumentParser(prog="pitstop fix RUN", allow_abbrev=False)
    parser.add_argument("run", metavar="RUN", help="the run of the loop")
    parser.add_argument("way", choices=WAYS, help="how it continues")
    parser.add_argument("text", nargs="*", help="the guidance, the iteration to go back to, or the reason")
    add_server_option(parser)
    options = parser.parse_args(words)
    options.text = " ".join(options.text)
    if options.way in _NEED_TEXT and not options.text.strip():
        raise BadInputs(
            [f"{options.way} needs {_NEED_TEXT[options.way]}: pitstop fix {options.run} {options.way} TEXT"]
        )
    return options
