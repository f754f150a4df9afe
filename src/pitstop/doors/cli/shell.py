"""`pitstop shell`: a shell in a step that runs or is paused."""

import argparse
import asyncio
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from pitstop.doors.cli.app import Opening, OpenService
from pitstop.doors.cli.choosing import add_server_option, open_chosen
from pitstop.doors.cli.exit_codes import DETACHED, PASSED
from pitstop.doors.cli.interrupts import Interrupts

if TYPE_CHECKING:  # what `--help` need not pay for
    from pitstop.service.workspaces import ShellMode

EPILOG = """\
The run does not wait: a running step keeps running while the shell is open. STEP is an ID, a path, or the occurrence
that the log shows.

  pitstop shell 20260131-120000-a1b2c3 tests --server http://127.0.0.1:7878
  pitstop shell 20260131-120000-a1b2c3 tests --read-only -c 'ps aux'
"""


def shell_command(words: Sequence[str], open_service: OpenService, interrupts: Interrupts) -> int:
    options = _parser().parse_args(words)
    if options.command is None and not sys.stdin.isatty():
        print("pitstop shell: there is no terminal for a shell; pass a command: -c 'ps aux'", file=sys.stderr)
        return DETACHED
    return asyncio.run(_open(open_chosen(options, open_service), options))


async def _open(opening: Opening, options: argparse.Namespace) -> int:
    from pitstop.doors.cli.debug.screen import Screen
    from pitstop.doors.cli.debug.shell import run_command, terminal_size, use_terminal
    from pitstop.errors import CommandRefused, InAnotherProcess, NotRunning, RunLeft
    from pitstop.service.caller import LOCAL
    from pitstop.service.runs import ENDED

    async with opening as service:
        run, size = await service.runs.get(LOCAL, options.run), terminal_size()
        mode: ShellMode = "sidecar" if options.read_only else "shell"
        rows, cols = size
        try:
            terminal = await service.workspaces.shell(
                LOCAL, run.id, options.step, mode=mode, rows=rows, cols=cols, record=options.record
            )
        except RunLeft:
            raise
        except NotRunning as error:
            if (await run.info()).status in ENDED:
                raise CommandRefused(f"run {run.id} has ended") from error
            raise InAnotherProcess(run.id) from error
        try:
            if options.command is None:
                await use_terminal(terminal, size)
                return PASSED
            return await run_command(Screen(), terminal, options.command)
        finally:
            await terminal.close()


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="pitstop shell",
        description="Open a shell in a running or paused step, with its folder, environment and container.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("run", metavar="RUN", help="the run ID, as `pitstop runs` shows it")
    parser.add_argument("step", metavar="STEP", help="the step to enter")
    parser.add_argument("--read-only", action="store_true", help="open a shell that cannot change the workspace")
    parser.add_argument("-c", "--command", metavar="COMMAND", help="run one command, and print its output")
    parser.add_argument(
        "--record",
        nargs="?",
        choices=("screen", "keys"),
        const="screen",
        help="save the shell as an asciicast artifact of the run; `keys` also records input",
    )
    add_server_option(parser)
    return parser
