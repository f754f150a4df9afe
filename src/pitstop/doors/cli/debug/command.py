"""`pitstop debug`: a run that stops at its first step, and a prompt or a list of commands to steer it with."""

import argparse
import asyncio
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from pitstop.doors.cli.app import Opening, OpenService
from pitstop.doors.cli.choosing import add_server_option, elsewhere_of, open_chosen, server_of
from pitstop.doors.cli.debug.script import ScriptLine, check_script
from pitstop.doors.cli.exit_codes import BAD_USAGE, DETACHED
from pitstop.doors.cli.interrupts import Interrupts
from pitstop.doors.cli.run_options import (
    add_commit_options,
    add_run_options,
    has_terminal,
    read_breakpoints,
    read_commit,
    read_debug,
    read_inputs,
    read_request,
    read_secrets,
)
from pitstop.errors import BadCommand, NotRunning, UnknownRun
from pitstop.program import program
from pitstop.service.caller import LOCAL
from pitstop.service.debugging import Debugger, verbs

if TYPE_CHECKING:  # what `--help` need not pay for
    from pitstop.service.desks import Service
    from pitstop.service.runs import ActiveRun, DebugRequest, RunInfo

EPILOG = """\
-c and -x run commands of the prompt (`help` lists them there) in order, and need no terminal. A command that resumes
the run waits for its next stop; one that fails cancels the run, with exit code 2. Then, in a terminal, the prompt
opens; otherwise the run continues to its end. Breakpoints and watches that you set are saved with the flow and active
again the next time. With -c or -x, saved ones are neither used nor changed, unless you pass --saved.

A run that was left paused, or whose process was killed, is resumed where it was. Without a terminal it is left at its
next stop after the last command, with exit code 77; after a command that failed, too, with exit code 2.

  pitstop debug ci.yaml
  pitstop debug ci.yaml -c 'break tests' -c continue -c 'p .vars' -c quit
  pitstop debug 20260131-120000-a1b2c3     resumes a run that was left; re-runs an ended run from its failure
  pitstop debug 20260131-120000-a1b2c3 --shell     the same, and opens a shell at the stop first
"""
LEASE_SECONDS = 4 * 3600.0  # somebody who has a prompt before them attends to the stop
FLOW_ENDINGS = (".yaml", ".yml")


def debug_command(words: Sequence[str], open_service: OpenService, interrupts: Interrupts) -> int:
    options = _parser().parse_args(words)
    try:
        commands = [line for number, source in enumerate(options.sources, 1) for line in source(number)]
        check_script(commands)
    except OSError as error:
        print(f"pitstop debug: -x {error.filename}: {error.strerror}", file=sys.stderr)
        return BAD_USAGE
    except BadCommand as error:
        print(f"pitstop debug: {error}", file=sys.stderr)
        return BAD_USAGE
    if options.shell is not None:
        commands.append(ScriptLine(options.shell, f"--{options.shell}"))
    if not has_terminal() and (not commands or options.shell is not None):
        print(_no_terminal(options.flow), file=sys.stderr)
        return DETACHED
    attached = _attached(options)
    opening = attached or open_chosen(options, open_service)
    elsewhere = "" if attached is not None else elsewhere_of(options)
    return asyncio.run(_debug(opening, options, interrupts, commands, elsewhere))


def _attached(options: argparse.Namespace) -> Opening | None:
    """The service of the process that the run is in, if another process lets us attach to it."""
    if server_of(options) is not None or is_flow_file(options.flow):
        return None
    from pitstop.service.attaching import is_attachable
    from pitstop.settings import read_settings

    if not is_attachable(read_settings(), options.flow):
        return None
    from pitstop.service.remote.opening import open_attached_service

    return open_attached_service(read_settings(), options.flow)


async def _debug(
    opening: Opening,
    options: argparse.Namespace,
    interrupts: Interrupts,
    commands: Sequence[ScriptLine],
    elsewhere: str | None,
) -> int:
    async with opening as service:
        found = None if is_flow_file(options.flow) else await _find_run(service, options.flow)
        is_resumed = False
        told: int | None
        if found is None:
            debug = _read_debug(options, options.from_step)
            request = read_request(options, debug, can_ask=has_terminal())
            run = await service.runs.start(LOCAL, request)
            await _tell_saved(service, run, debug)
            told = run.carried_over  # all is to be seen
        else:
            info, secrets = await found.info(), read_secrets(options)
            resumed = await _resume(service, info, options, secrets, is_here=elsewhere is None)
            run = resumed or await _rerun(service, info, options, secrets)
            is_resumed = resumed is not None and elsewhere is None
            told = run.carried_over if resumed is None else info.last_event if is_resumed else None
        from pitstop.doors.cli.debug.steering import steer

        return await steer(
            service,
            run,
            interrupts,
            commands,
            elsewhere=elsewhere,
            record=options.record,
            told=told,
            is_resumed=is_resumed,
        )


def _read_debug(options: argparse.Namespace, from_step: str | None) -> "DebugRequest":
    """A script finds what it says and nothing else: saved breakpoints are for a user at a prompt."""
    uses_saved = options.saved if options.saved is not None else not options.sources
    return read_debug(
        options, from_step, lease_seconds=LEASE_SECONDS, flow_breakpoints=uses_saved, remembers=uses_saved
    )


async def _tell_saved(service: "Service", run: "ActiveRun", debug: "DebugRequest") -> None:
    if not debug.remembers:
        return
    state = await Debugger(service.debugging, LOCAL, run.id).say(verbs.State())
    others = [each.request for each in state.breakpoints if each.request.group not in ("default", "flow")]
    saved = [each for each in others if each not in debug.breakpoints]
    if saved or state.watches:
        counts = f"{len(saved)} saved breakpoints and {len(state.watches)} watches"
        print(f"{counts}: `break` and `watches` list them, `clear all` removes breakpoints, --no-saved ignores all")


async def _find_run(service: "Service", name: str) -> "ActiveRun | None":
    """The run with this id; None when a stored flow is meant."""
    try:
        return await service.runs.get(LOCAL, name)
    except UnknownRun:
        return None


def is_flow_file(name: str) -> bool:
    return name.endswith(FLOW_ENDINGS) or Path(name).exists()


async def _resume(
    service: "Service", info: "RunInfo", options: argparse.Namespace, secrets: Mapping[str, str], *, is_here: bool
) -> "ActiveRun | None":
    """The run itself, paused; None for one that has ended, or is to be run again.

    A stop of another process has its lease there. One that is back here is attended to by the user at the prompt.
    """
    from pitstop.service.runs import ENDED

    is_changed = options.from_step or options.commit or options.same_commit or options.given or options.inputs
    if is_changed and info.status in ENDED:
        return None
    breakpoints = read_breakpoints(options.breaks)
    try:
        run = await service.runs.take_up(LOCAL, info.id, secrets)
        debugger = Debugger(service.debugging, LOCAL, run.id)
        for wanted in breakpoints:
            await debugger.say(wanted)
        if not (await debugger.say(verbs.State())).stops:
            await debugger.say(verbs.Pause())
        elif is_here and has_terminal():
            await debugger.say(verbs.Extend(LEASE_SECONDS))
    except NotRunning:
        return None
    return run


async def _rerun(
    service: "Service", info: "RunInfo", options: argparse.Namespace, secrets: Mapping[str, str]
) -> "ActiveRun":
    """A new run that begins where this one failed."""
    from pitstop.service.runs import RerunRequest

    from_step = options.from_step or next((failure.step for failure in info.failures), None)
    return await service.runs.rerun(
        LOCAL,
        info.id,
        RerunRequest(
            from_step=from_step,
            inputs=read_inputs(options.inputs, options.given),
            secrets=secrets,
            commit=read_commit(options, info),
            debug=_read_debug(options, from_step),
            can_ask=has_terminal(),
        ),
    )


def read_commands(file: Path) -> list[ScriptLine]:
    """The commands in a file: one per line, without comments and empty lines."""
    lines = enumerate(file.read_text(encoding="utf-8").splitlines(), 1)
    stripped = (ScriptLine(line.strip(), f"{file}:{number}") for number, line in lines)
    return [line for line in stripped if line.text and not line.text.startswith("#")]


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="pitstop debug",
        allow_abbrev=False,
        description="Run a flow in the debugger: pause at its first step and at every failure, with a prompt.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("flow", metavar="FLOW|RUN", help="the flow file, or a run ID")
    add_run_options(parser)
    parser.add_argument(
        "-c",
        "--command",
        metavar="COMMAND",
        action="append",
        default=[],
        dest="sources",
        type=lambda line: lambda number: [ScriptLine(line, f"-c {number}")],
        help="run a debugger command",
    )
    parser.add_argument(
        "-x",
        "--command-file",
        metavar="FILE",
        action="append",
        dest="sources",
        type=lambda file: lambda number: read_commands(Path(file)),
        help="run the debugger commands in a file, one per line",
    )
    parser.add_argument(
        "--saved",
        action=argparse.BooleanOptionalAction,
        default=None,
        help="use and change the breakpoints and watches saved with the flow (default: yes, but not with -c or -x)",
    )
    joining = parser.add_mutually_exclusive_group()
    joining.add_argument(
        "--shell", action="store_const", const="shell", dest="shell", help="open a shell in the step's workspace first"
    )
    joining.add_argument(
        "--sidecar", action="store_const", const="sidecar", dest="shell", help="open a read-only shell first"
    )
    parser.add_argument(
        "--record",
        nargs="?",
        choices=("screen", "keys"),
        const="screen",
        help="save each shell as an asciicast artifact of the run; `keys` also records input",
    )
    add_commit_options(parser)
    add_server_option(parser)
    return parser


def _no_terminal(flow: str) -> str:
    name = program()
    if not is_flow_file(flow):
        return (
            f"pitstop debug: there is no terminal to debug {flow} in. Pass debugger commands, for example:\n"
            f"  {name} debug {flow} -c where -c vars -c leave    inspect a run, and leave it paused\n"
            f"  {name} debug {flow} -c retry    retry the step at whose failure it is paused"
        )
    return (
        f"pitstop debug: there is no terminal to debug {flow} in. Pass debugger commands, for example:\n"
        f"  {name} debug {flow} -c continue -c where -c vars -c quit    pause at the first failure and inspect it\n"
        f"  {name} debug {flow} -c 'break STEP' -c continue -c 'p .vars' -c quit\n"
        f"  {name} run {flow}    run it without a debugger"
    )
