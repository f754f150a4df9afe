"""`pitstop pin`: keep a run, and the files of its workspace, for longer than others."""

import argparse
from collections.abc import Sequence

from pitstop.doors.cli.app import OpenService
from pitstop.doors.cli.choosing import add_server_option, ask, open_chosen
from pitstop.doors.cli.interrupts import Interrupts
from pitstop.service.caller import LOCAL


def pin_command(words: Sequence[str], open_service: OpenService, interrupts: Interrupts) -> None:
    parser = argparse.ArgumentParser(
        prog="pitstop pin", description="Keep a run and its workspace until it is unpinned."
    )
    parser.add_argument("run", metavar="RUN", help="the run ID, as `pitstop runs` shows it")
    parser.add_argument("--off", action="store_true", help="unpin it")
    add_server_option(parser)
    options = parser.parse_args(words)
    opening, pinned = open_chosen(options, open_service), not options.off
    ask(opening, lambda service: service.runs.pin(LOCAL, options.run, pinned=pinned))
    print(f"{options.run} {'unpinned' if options.off else 'pinned'}")
