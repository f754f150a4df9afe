"""`pitstop check`: every mistake in flow files, each with its line."""

import argparse
import asyncio
import sys
from collections.abc import Sequence

from pitstop.doors.cli.app import OpenService
from pitstop.doors.cli.exit_codes import BAD_USAGE, PASSED
from pitstop.doors.cli.interrupts import Interrupts
from pitstop.errors import BadFlow


def check_command(words: Sequence[str], open_service: OpenService, interrupts: Interrupts) -> int:
    parser = argparse.ArgumentParser(prog="pitstop check", description="Tell every mistake in flow files.")
    parser.add_argument("flows", metavar="FLOW", nargs="+", help="a flow file")
    options = parser.parse_args(words)
    service = open_service()
    count = 0
    for flow in options.flows:
        try:
            told = asyncio.run(service.check(flow))
        except BadFlow as error:
            count += len(error.found)
            print(error)
        else:
            print(f"{flow}: good, {_counted(len(told.steps), 'step')}")
    if count:
        print(_counted(count, "mistake"), file=sys.stderr)
    return BAD_USAGE if count else PASSED


def _counted(number: int, thing: str) -> str:
    return f"{number} {thing}" if number == 1 else f"{number} {thing}s"
