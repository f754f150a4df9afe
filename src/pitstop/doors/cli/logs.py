"""`pitstop logs`: what the steps of a run wrote."""

import argparse
import asyncio
import sys
from collections import defaultdict
from collections.abc import AsyncIterator, Sequence

from pitstop.doors.cli.app import OpenService
from pitstop.doors.cli.choosing import add_server_option, ask, open_chosen
from pitstop.doors.cli.interrupts import Interrupts
from pitstop.errors import UnknownStep
from pitstop.service.caller import LOCAL
from pitstop.service.desks import Service
from pitstop.service.runs import ActiveRun, LogLine
from pitstop.service.step_views import events_so_far

LOOK_AGAIN_SECONDS = 0.2
PAGE = 2000


def logs_command(words: Sequence[str], open_service: OpenService, interrupts: Interrupts) -> None:
    parser = argparse.ArgumentParser(
        prog="pitstop logs", description="Show the logs of a run, or of one step.", allow_abbrev=False
    )
    parser.add_argument("run", metavar="RUN", help="the run ID, as `pitstop runs` shows it")
    parser.add_argument("step", metavar="STEP", nargs="?", help="a step by its path, its ID, or one of its occurrences")
    parser.add_argument("-f", "--follow", action="store_true", help="follow the logs until the run ends")
    parser.add_argument("--search", metavar="TEXT", help="only lines that contain this text, ignoring case")
    add_server_option(parser)
    options = parser.parse_args(words)
    ask(open_chosen(options, open_service), lambda service: _show(service, options))


async def _show(service: Service, options: argparse.Namespace) -> None:
    run = await service.runs.get(LOCAL, options.run)
    wanted = None if options.step is None else names_of(run, options.step)
    is_found = False
    shown: defaultdict[str, _Shown] = defaultdict(_Shown)
    async with asyncio.TaskGroup() as group:
        async for event in run.events() if options.follow else events_so_far(run):
            occurrence, step = event.fields.get("occurrence", ""), event.fields.get("step", "")
            if event.kind == "step.started" and (wanted is None or step in wanted or occurrence in wanted):
                is_found = True
                prefix = f"{occurrence} | " if wanted is None else ""
                telling = _tell(run, occurrence, prefix, options, shown[occurrence])
                if options.follow:  # several may write at the same time
                    group.create_task(telling)
                else:
                    await telling
    if wanted is not None and not is_found and not any(step.path in wanted for step in run.flow.steps):
        raise UnknownStep(options.step)


class _Shown:
    """How much of an occurrence is printed already: one that was interrupted, or rewound, starts more than once."""

    def __init__(self) -> None:
        self.last_line = 0
        self.turn = asyncio.Lock()


async def _tell(run: ActiveRun, occurrence: str, prefix: str, options: argparse.Namespace, shown: _Shown) -> None:
    async with shown.turn:
        async for lines in _pages(run, occurrence, options.search, after=shown.last_line, follow=options.follow):
            shown.last_line = lines[-1].number
            told = "".join(f"{prefix}{line.text}\n" for line in lines)
            sys.stdout.buffer.write(told.encode(errors="replace"))
            sys.stdout.buffer.flush()


def names_of(run: ActiveRun, step: str) -> set[str]:
    """The paths of a step that is named by path or id; else what was given, which may be an occurrence."""
    return {each.path for each in run.flow.steps if step in (each.path, each.id)} or {step}


async def _pages(
    run: ActiveRun, occurrence: str, search: str | None, *, after: int, follow: bool
) -> AsyncIterator[Sequence[LogLine]]:
    while True:
        page = await run.log(occurrence, after=after, limit=PAGE, search=search)
        if page.lines:
            yield page.lines
            after = page.lines[-1].number
        if page.next is None:
            if not follow or page.is_ended:
                return
            await asyncio.sleep(LOOK_AGAIN_SECONDS)
