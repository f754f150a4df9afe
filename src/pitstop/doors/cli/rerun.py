"""`pitstop rerun`: a run again, whole or from a step on."""

import argparse
import asyncio
from collections.abc import Sequence

from msgspec.structs import replace

from pitstop.doors.cli.app import Opening, OpenService
from pitstop.doors.cli.choosing import add_server_option, elsewhere_of, open_chosen
from pitstop.doors.cli.interrupts import Interrupts
from pitstop.doors.cli.run_options import (
    add_break_option,
    add_commit_options,
    add_given_options,
    read_breakpoints,
    read_commit,
    read_debug,
    read_inputs,
    read_secrets,
)
from pitstop.doors.cli.watching import add_display_options, is_at_terminal, watch_run
from pitstop.service.caller import LOCAL
from pitstop.service.runs import DebugRequest, RerunRequest


def rerun_command(words: Sequence[str], open_service: OpenService, interrupts: Interrupts) -> int:
    options = _parser().parse_args(words)
    request = RerunRequest(
        from_step=options.from_step,
        inputs=read_inputs(options.inputs, options.given),
        secrets=read_secrets(options),
        use_file=options.use_file,
        commit=options.commit,
        debug=_debug_request(options),
        can_ask=is_at_terminal(options),
    )
    return asyncio.run(_rerun(open_chosen(options, open_service), request, options, interrupts))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="pitstop rerun",
        allow_abbrev=False,
        description="Re-run a run with the same flow and inputs. Secrets must be given again.",
    )
    parser.add_argument("run", metavar="RUN", help="the run ID, as `pitstop runs` shows it")
    add_given_options(parser)
    parser.add_argument(
        "--use-file", action="store_true", help="use the current version of the flow file, or that of the commit"
    )
    add_commit_options(parser)
    add_break_option(parser)
    parser.add_argument("--debug", action="store_true", help="pause at the first step and at every failure")
    add_display_options(parser)
    add_server_option(parser)
    return parser


def _debug_request(options: argparse.Namespace) -> DebugRequest | None:
    if options.debug:
        return read_debug(options, options.from_step)
    breakpoints = read_breakpoints(options.breaks)
    return DebugRequest(breakpoints=breakpoints, stop_on_error=False, flow_breakpoints=False) if breakpoints else None


async def _rerun(opening: Opening, request: RerunRequest, options: argparse.Namespace, interrupts: Interrupts) -> int:
    async with opening as service:
        if options.same_commit:
            info = await (await service.runs.get(LOCAL, options.run)).info()
            request = replace(request, commit=read_commit(options, info))
        run = await service.runs.rerun(LOCAL, options.run, request)
        if request.debug is None or options.attachable or not is_at_terminal(options):
            return await watch_run(service, run, options, interrupts)
        from pitstop.doors.cli.debug.steering import steer

        return await steer(service, run, interrupts, elsewhere=elsewhere_of(options), told=run.carried_over)
