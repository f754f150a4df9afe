"""`pitstop debug`: a run that stops at its first step, and a prompt or a list of commands to steer it with."""

import argparse
import asyncio
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from pitstop.doors.cli.exit_codes import BAD_USAGE, DETACHED
from pitstop.doors.cli.interrupts import Interrupts
from pitstop.doors.cli.run_options import add_run_options, read_breakpoints, read_request

if TYPE_CHECKING:  # what `--help` need not pay for
    from pitstop.service.api import DebugRequest, RunRequest, Service
    from pitstop.service.debugging import DebuggedRun

EPILOG = """\
commands are those of the prompt: `help` lists them there. -c and -x need no terminal: the commands are carried out in
order, a move up to its next stop. In a terminal the prompt follows; without one the run then goes on to its end.

  pitstop debug ci.yaml
  pitstop debug ci.yaml -c 'break tests' -c continue -c 'p .vars' -c quit
"""
HISTORY = "debug_history"
LEASE_SECONDS = 4 * 3600.0  # somebody who has a prompt before them attends to the stop


def debug_command(words: Sequence[str], open_service: Callable[[], "Service"], interrupts: Interrupts) -> int:
    options = _parser().parse_args(words)
    try:
        commands = [line for source in options.sources for line in source()]
    except OSError as error:
        print(f"pitstop debug: -x {error.filename}: {error.strerror}", file=sys.stderr)
        return BAD_USAGE
    if not commands and not has_terminal():
        print(_no_terminal(options.flow), file=sys.stderr)
        return DETACHED

    request = read_request(options, _debug_request(options), can_ask=has_terminal())
    return asyncio.run(_debug(open_service(), request, interrupts, commands))


def _debug_request(options: argparse.Namespace) -> "DebugRequest":
    """Stop at the first step; that is the one to begin at, whatever runs beside it."""
    from pitstop.service.api import BreakpointRequest, DebugRequest

    breakpoints = read_breakpoints(options.breaks)
    if options.from_step is not None:
        breakpoints = (BreakpointRequest(step=options.from_step, once=True), *breakpoints)
    return DebugRequest(
        breakpoints=breakpoints,
        stop_at_entry=options.from_step is None,
        lease_seconds=LEASE_SECONDS,
    )


async def _debug(service: "Service", request: "RunRequest", interrupts: Interrupts, commands: Sequence[str]) -> int:
    async with service.start(request) as run:
        return await debug_run(run, interrupts, commands)


async def debug_run(run: "DebuggedRun", interrupts: Interrupts, commands: Sequence[str] = ()) -> int:
    """Steer a run that has a session until it is over: by these commands, then at a prompt. Gives the exit code."""
    from pitstop.doors.cli.debug.steering import steer
    from pitstop.settings import read_settings

    return await steer(run, interrupts, commands, read_settings().home / HISTORY if has_terminal() else None)


def has_terminal() -> bool:
    return sys.stdin.isatty() and sys.stdout.isatty()


def read_commands(file: Path) -> list[str]:
    """The commands in a file: one per line, without comments and empty lines."""
    lines = (line.strip() for line in file.read_text(encoding="utf-8").splitlines())
    return [line for line in lines if line and not line.startswith("#")]


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="pitstop debug",
        allow_abbrev=False,
        description="Run a flow, stopped at its first step and at every failure, with a prompt to steer it.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add_run_options(parser)
    parser.add_argument(
        "-c",
        "--command",
        metavar="COMMAND",
        action="append",
        default=[],
        dest="sources",
        type=lambda line: lambda: [line],
        help="carry out a command of the prompt",
    )
    parser.add_argument(
        "-x",
        "--command-file",
        metavar="FILE",
        action="append",
        dest="sources",
        type=lambda file: lambda: read_commands(Path(file)),
        help="carry out the commands in a file, one per line",
    )
    return parser


def _no_terminal(flow: str) -> str:
    return (
        f"pitstop debug: there is no terminal to debug {flow} in. Say what to do there, for example:\n"
        f"  pitstop debug {flow} -c continue -c where -c vars -c quit    stop at the first failure, look around\n"
        f"  pitstop debug {flow} -c 'break STEP' -c continue -c 'p .vars' -c quit\n"
        f"  pitstop run {flow}    run it without a debugger"
    )
