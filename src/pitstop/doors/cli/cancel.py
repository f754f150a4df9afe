"""`pitstop cancel`: end a run, and clean up after it."""

import argparse
from collections.abc import Sequence

from pitstop.doors.cli.app import OpenService
from pitstop.doors.cli.choosing import add_server_option, ask, open_chosen
from pitstop.doors.cli.interrupts import Interrupts
from pitstop.errors import CommandRefused, NotRunning
from pitstop.service.caller import LOCAL
from pitstop.service.desks import Service


def cancel_command(words: Sequence[str], open_service: OpenService, interrupts: Interrupts) -> None:
    parser = argparse.ArgumentParser(prog="pitstop cancel", description="Cancel a run and clean up.")
    parser.add_argument("run", metavar="RUN", help="the run ID, as `pitstop runs` shows it")
    parser.add_argument("--now", action="store_true", help="kill the steps at once, and skip cleanup")
    add_server_option(parser)
    options = parser.parse_args(words)
    status = ask(open_chosen(options, open_service), lambda service: _cancel(service, options.run, now=options.now))
    print(f"{options.run} {status}")


async def _cancel(service: Service, name: str, *, now: bool) -> str:
    run = await service.runs.get(LOCAL, name)
    try:
        reason = "cancelled by `pitstop cancel`"
        await (service.runs.kill(LOCAL, name) if now else service.runs.cancel(LOCAL, name, reason))
    except NotRunning as error:
        raise CommandRefused(f"run {name} has already ended") from error
    return (await run.wait()).status
