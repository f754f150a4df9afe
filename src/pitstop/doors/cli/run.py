"""`pitstop run`: a flow from its first step to its end, with whatever shows it."""

import argparse
import asyncio
from collections.abc import Callable, Sequence
from functools import partial

from pitstop.doors.cli import exit_codes
from pitstop.doors.cli.app import Opening, OpenService
from pitstop.doors.cli.choosing import add_server_option, open_chosen
from pitstop.doors.cli.interrupts import Interrupts
from pitstop.doors.cli.run_options import add_run_options, read_breakpoints, read_request
from pitstop.doors.cli.watching import add_display_options, is_at_terminal, watch_run
from pitstop.service.caller import LOCAL
from pitstop.service.runs import DebugRequest, RunRequest

USAGE_WIDTH = 78


def run_command(words: Sequence[str], open_service: OpenService, interrupts: Interrupts) -> int:
    options = _parser(words).parse_args(words)
    debug: DebugRequest | None = None
    if options.breaks or options.debug_on_error:
        debug = DebugRequest(
            breakpoints=read_breakpoints(options.breaks), stop_on_error=options.debug_on_error, flow_breakpoints=False
        )
    request = read_request(options, debug, can_ask=is_at_terminal(options))
    return asyncio.run(_run(open_chosen(options, open_service), request, options, interrupts))


def _parser(words: Sequence[str]) -> argparse.ArgumentParser:
    formatter: Callable[..., argparse.HelpFormatter] = argparse.HelpFormatter
    if {"-h", "--help"}.isdisjoint(words):  # else it asks for the width of the terminal, and loads a module for that
        formatter = partial(formatter, width=USAGE_WIDTH)
    parser = argparse.ArgumentParser(
        prog="pitstop run", description="Run a flow.", allow_abbrev=False, formatter_class=formatter
    )
    parser.add_argument("flow", metavar="FLOW", help="a flow file, a flow in .pitstop/flows, or a graph: file.py:app")
    add_run_options(parser)
    parser.add_argument("--debug-on-error", action="store_true", help="pause at a failing step and debug it")
    parser.add_argument("--dry-run", action="store_true", help="show what would run, without running it")
    add_display_options(parser)
    add_server_option(parser)
    return parser


async def _run(opening: Opening, request: RunRequest, options: argparse.Namespace, interrupts: Interrupts) -> int:
    async with opening as service:
        if not options.dry_run:
            return await watch_run(service, await service.runs.start(LOCAL, request), options, interrupts)
        from pitstop.doors.cli.check import print_warnings
        from pitstop.doors.cli.show import tree_lines

        flow = await service.flows.resolve(LOCAL, request)
        print("\n".join(tree_lines(flow)))
        print_warnings(flow)
        return exit_codes.PASSED
