"""`pitstop check`: every mistake in flow files, each with its line."""

import argparse
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from msgspec.structs import replace

from pitstop.doors.cli.app import OpenService
from pitstop.doors.cli.choosing import add_server_option, ask, open_chosen, server_of
from pitstop.doors.cli.exit_codes import BAD_USAGE, PASSED
from pitstop.doors.cli.interrupts import Interrupts
from pitstop.doors.cli.run_options import read_text
from pitstop.errors import BadFlow
from pitstop.service.caller import LOCAL
from pitstop.service.flows import read_address

if TYPE_CHECKING:
    from pitstop.service.desks import Service
    from pitstop.service.flows import FlowInfo


def check_command(words: Sequence[str], open_service: OpenService, interrupts: Interrupts) -> int:
    parser = argparse.ArgumentParser(prog="pitstop check", description="Validate flow files.")
    parser.add_argument("flows", metavar="FLOW", nargs="+", help="a flow file, or REPO:FLOW[@REF] on a server")
    add_server_option(parser)
    options = parser.parse_args(words)
    is_sent = server_of(options) is not None
    count = ask(open_chosen(options, open_service), lambda service: _check(service, options.flows, is_sent=is_sent))
    if count:
        print(_counted(count, "error"), file=sys.stderr)
    return BAD_USAGE if count else PASSED


async def _check(service: "Service", flows: Sequence[str], *, is_sent: bool) -> int:
    """Print every error of the flows, and return how many there are. A server is sent the text of a file."""
    count = 0
    for flow in flows:
        is_file = not is_sent or read_address(flow) is None
        text = read_text(flow) if is_sent and is_file else None
        try:
            told = await service.flows.check(LOCAL, flow, text)
        except BadFlow as error:
            count += len(error.found)
            print(error)
        else:
            print_warnings(told)
            print(f"{flow}: OK ({_counted(len(told.steps), 'step')})")
    return count


def print_warnings(flow: "FlowInfo") -> None:
    for each in flow.warnings:
        print(replace(each, message=f"warning: {each.message}"))


def _counted(number: int, thing: str) -> str:
    return f"{number} {thing}" if number == 1 else f"{number} {thing}s"
