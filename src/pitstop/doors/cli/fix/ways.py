"""`pitstop fix RUN WAY` and `--resume`: return to a fix loop that gave up, was left or was killed."""

import argparse
import asyncio
from collections.abc import Sequence
from pathlib import Path

from pitstop.doors.cli.app import Opening, OpenService
from pitstop.doors.cli.choosing import add_server_option, open_chosen, server_of
from pitstop.doors.cli.closing import fix_commands
from pitstop.doors.cli.exit_codes import DETACHED, PASSED
from pitstop.doors.cli.fix.delivering import finish
from pitstop.doors.cli.fix.own_tree import tree_again
from pitstop.doors.cli.interrupts import Interrupts
from pitstop.doors.cli.run_options import has_terminal, read_secrets
from pitstop.doors.cli.watching import add_display_options, watch_run
from pitstop.errors import BadInputs, NotGivenUp
from pitstop.program import program
from pitstop.service.caller import LOCAL
from pitstop.service.debugging import Debugger, verbs
from pitstop.service.desks import Service
from pitstop.service.fixing import WAYS, choose_way, escalated_stop
from pitstop.service.runs import ActiveRun

CONTINUE = "continue"  # after `take-over`
CHOICES = (*WAYS, CONTINUE)
_NEED_TEXT = {"guide": "the guidance", "skip": "the reason"}


def way_command(words: Sequence[str], open_service: OpenService, interrupts: Interrupts) -> int:
    options = read_way(words)
    opening = open_chosen(options, open_service)
    if server_of(options) is not None:
        return asyncio.run(_choose_on_server(opening, options))
    return asyncio.run(return_to(opening, options, interrupts))


async def _choose_on_server(opening: Opening, options: argparse.Namespace) -> int:
    async with opening as service:
        await choose_way(service.debugging, LOCAL, options.run, options.way, options.text)
    run, server = options.run, f" --server {server_of(options)}"
    if options.way == "take-over":
        print(f"it is yours: repair it in `{program()} debug {run}{server}`, then `continue` runs the tests")
    else:
        print(f"the run continues: `{program()} logs {run} --follow{server}` shows it")
    return PASSED


async def return_to(opening: Opening, options: argparse.Namespace, interrupts: Interrupts) -> int:
    """Take a run up in this process, choose a way if one is given, and go on to its end or its next stop."""
    async with opening as service:
        info = await (await service.runs.get(LOCAL, options.run)).info()
        run = await service.runs.take_up(LOCAL, options.run, read_secrets(options))
        if options.way == CONTINUE:
            stop = await escalated_stop(service.debugging, LOCAL, run.id)
            if stop is None:
                raise NotGivenUp(run.id)
            await Debugger(service.debugging, LOCAL, run.id).say(verbs.Continue(stop.id))
        elif options.way is not None:
            await choose_way(service.debugging, LOCAL, run.id, options.way, options.text)
        is_paused = options.way in (None, "take-over") and await escalated_stop(service.debugging, LOCAL, run.id)
        if is_paused and not has_terminal():
            return await _leave(service, run, options)
        if is_paused:
            from pitstop.doors.cli.debug.steering import steer

            code = await steer(service, run, interrupts, told=info.last_event, is_resumed=True)
        else:
            code = await watch_run(service, run, options, interrupts, told=info.last_event)
        if code == DETACHED:
            return code
        tree = None if info.commit is None else await asyncio.to_thread(tree_again, Path.cwd(), info.commit.sha)
        return await finish(run, tree, options, f"run {run.id}", code)


async def _leave(service: Service, run: ActiveRun, options: argparse.Namespace) -> int:
    """Without a terminal: say where it is, and how to go on."""
    stop = await escalated_stop(service.debugging, LOCAL, run.id)
    if stop is not None and options.way == "take-over":
        context = await Debugger(service.debugging, LOCAL, run.id).say(verbs.Context(stop.id))
        print(f"it is yours: repair the files in {context.workspace}")
        print(f"then run `{program()} fix {run.id} {CONTINUE}`, which runs the tests")
    elif stop is not None and stop.outcome is not None:
        print(stop.outcome.error)
        print("\n".join(f"resume it: {command}" for command in fix_commands(run.id)))
    await service.runs.leave(LOCAL, run.id)
    return DETACHED


def read_way(words: Sequence[str]) -> argparse.Namespace:
    """BadInputs."""
    parser = argparse.ArgumentParser(prog="pitstop fix", allow_abbrev=False)
    parser.add_argument("run", metavar="RUN", help="the run of the loop")
    parser.add_argument("way", choices=CHOICES, help="how it continues")
    parser.add_argument("text", nargs="*", help="the guidance, the iteration to go back to, or the reason")
    parser.add_argument("--secret", metavar="NAME[=VALUE]", action="append", default=[], help="secrets, given again")
    parser.add_argument("--summary", metavar="FILE", help="append a summary in Markdown")
    add_display_options(parser)
    add_server_option(parser)
    options = parser.parse_args(words)
    options.text = " ".join(options.text)
    if options.way in _NEED_TEXT and not options.text.strip():
        example = f"{program()} fix {options.run} {options.way} TEXT"
        raise BadInputs([f"{options.way} needs {_NEED_TEXT[options.way]}: {example}"])
    return options
