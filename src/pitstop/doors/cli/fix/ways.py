"""`pitstop fix RUN WAY`: choose how a fix loop that gave up continues."""

import argparse
import asyncio
from collections.abc import Sequence

from pitstop.doors.cli.app import Opening, OpenService
from pitstop.doors.cli.choosing import add_server_option, open_chosen, server_of
from pitstop.doors.cli.interrupts import Interrupts
from pitstop.errors import BadInputs
from pitstop.program import program
from pitstop.service.caller import LOCAL
from pitstop.service.fixing import WAYS, choose_way

_NEED_TEXT = {"guide": "the guidance", "skip": "the reason"}


def way_command(words: Sequence[str], open_service: OpenService, interrupts: Interrupts) -> int:
    options = read_way(words)
    if server_of(options) is None:
        from pitstop.doors.cli.debug.command import debug_command

        return debug_command([options.run, *_as_command(options)], open_service, interrupts)
    asyncio.run(_choose(open_chosen(options, open_service), options))
    return 0


def _as_command(options: argparse.Namespace) -> list[str]:
    """The command of the prompt that says the same; what follows from it is shown."""
    words = ["-c", f"decide {options.way} {' '.join(options.text.split())}".strip()]
    return words if options.way != "take-over" else [*words, "-c", "leave"]


async def _choose(opening: Opening, options: argparse.Namespace) -> None:
    async with opening as service:
        state = await choose_way(service.debugging, LOCAL, options.run, options.way, options.text)
    if options.way == "take-over":
        stop = next(each for each in state.stops if "escalated" in each.reasons)
        server = f" --server {server_of(options)}"
        print(f"it is yours: `{program()} debug {options.run}{server}` opens stop {stop.id}; `continue` runs the tests")
    else:
        print(f"run {options.run} continues: `{program()} logs {options.run} --follow --server {server_of(options)}`")


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
        example = f"{program()} fix {options.run} {options.way} TEXT"
        raise BadInputs([f"{options.way} needs {_NEED_TEXT[options.way]}: {example}"])
    return options


__all__ = ["WAYS", "way_command"]
