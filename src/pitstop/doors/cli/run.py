"""`pitstop run`: a flow from its first step to its end, with whatever shows it."""

import argparse
import asyncio
import os
import sys
import time
from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from typing import Protocol

from pitstop.doors.cli import exit_codes
from pitstop.doors.cli.app import OpenService
from pitstop.doors.cli.closing import Ending
from pitstop.doors.cli.interrupts import Interrupts, leave_at_once
from pitstop.doors.cli.json_lines import JsonDisplay
from pitstop.doors.cli.plain import LEVELS, PlainDisplay
from pitstop.doors.cli.run_options import add_run_options, read_breakpoints, read_request
from pitstop.service.api import ActiveRun, DebugRequest, EventInfo, Output, RunSummary


class Display(Protocol):
    """What shows a run."""

    def hear(self, output: Output) -> None: ...

    def show(self, event: EventInfo) -> None: ...

    def note(self, text: str) -> None:
        """Tell something that is no event."""
        ...

    def close(self) -> None: ...

    def finish(self, ending: Ending) -> None:
        """Tell how it ended; the last that is shown."""
        ...


def run_command(words: Sequence[str], open_service: OpenService, interrupts: Interrupts) -> int:
    options = _parser().parse_args(words)
    is_terminal = sys.stdin.isatty() and sys.stdout.isatty() and not options.json
    debug: DebugRequest | None = None
    if options.breaks or options.debug_on_error:
        debug = DebugRequest(breakpoints=read_breakpoints(options.breaks), stop_on_error=options.debug_on_error)
    request = read_request(options, debug, can_ask=is_terminal)
    service = open_service()
    if options.dry_run:
        from pitstop.doors.cli.show import tree_lines

        print("\n".join(tree_lines(asyncio.run(service.resolve(request)))))
        return exit_codes.PASSED
    return asyncio.run(_run(service.start(request), options, interrupts, is_terminal=is_terminal))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="pitstop run", description="Run a flow.", allow_abbrev=False)
    add_run_options(parser)
    parser.add_argument("--debug-on-error", action="store_true", help="stop where a step fails, and debug there")
    parser.add_argument("--dry-run", action="store_true", help="show what would run, and run nothing")
    parser.add_argument("--plain", action="store_true", help="lines of text, also in a terminal")
    parser.add_argument("--json", action="store_true", help="one event per line, for programs")
    parser.add_argument("--log-level", choices=LEVELS, default="info", help="how much the lines tell (info)")
    return parser


async def _run(
    starting: AbstractAsyncContextManager[ActiveRun],
    options: argparse.Namespace,
    interrupts: Interrupts,
    *,
    is_terminal: bool,
) -> int:
    async with starting as run:
        display = _display(run, options, is_terminal=is_terminal)
        watch = _Watch(run, display, is_terminal=is_terminal)
        with interrupts.taken_by(watch.interrupt):
            must_debug = await watch.follow()
        if must_debug:
            return await _debug(run, interrupts)
        ending = watch.ending(await run.wait())
        display.finish(ending)
        return ending.exit_code


def _display(run: ActiveRun, options: argparse.Namespace, *, is_terminal: bool) -> Display:
    if options.json:
        return JsonDisplay(sys.stdout.buffer, options)
    if is_terminal and not options.plain:
        from pitstop.doors.cli.live_tree import LiveDisplay

        return LiveDisplay(run.flow, options)
    return PlainDisplay(run.flow, sys.stdout.buffer, options)


async def _debug(run: ActiveRun, interrupts: Interrupts) -> int:
    """Hand a stopped run over to the prompt."""
    from pitstop.doors.cli.debug import debug_run

    return await debug_run(run, interrupts)


class _Watch:
    """Shows a run until it is over, or has stopped for somebody who is there to debug it."""

    def __init__(self, run: ActiveRun, display: Display, *, is_terminal: bool) -> None:
        self._run = run
        self._display = display
        self._is_terminal = is_terminal
        self._is_interrupted = False
        self._stopped_at: str | None = None
        self._began = time.monotonic()

    async def follow(self) -> bool:
        """Whether the run was left at a stop."""
        unhear = self._run.hear_output(self._hear)
        if self._is_terminal:
            asyncio.get_running_loop().add_reader(sys.stdin, self._read_answer)
        try:
            async for event in self._run.events(self._run.carried_over):
                self._display.show(event)
                if event.kind == "debug.stopped" and await self._is_for_somebody(event):
                    return True
        finally:
            if self._is_terminal:
                asyncio.get_running_loop().remove_reader(sys.stdin)
            unhear()
            self._display.close()
        return False

    def _hear(self, output: Output) -> None:
        """Show what a step wrote; that nobody reads it any more is no failure of the step, but the end of the run."""
        try:
            self._display.hear(output)
        except BrokenPipeError:
            self._run.cancel("nobody reads its output any more")

    def interrupt(self, name: str, count: int) -> None:
        """Once: end the steps and clean up. Twice: end all of it now. Three times: not even wait for that."""
        self._is_interrupted = True
        if count == 1:
            self._run.cancel(f"interrupted ({name})")
            self._display.note(f"interrupted ({name}): ending the steps and cleaning up; once more ends it at once")
        elif count == 2:
            self._run.kill()
            self._display.note("ending it at once")
        else:
            leave_at_once(name)

    def ending(self, summary: RunSummary) -> Ending:
        if self._is_interrupted:
            code = exit_codes.INTERRUPTED
        elif self._stopped_at is not None:
            code = exit_codes.DETACHED
        else:
            code = exit_codes.PASSED if summary.status == "passed" else exit_codes.FAILED
        return Ending(self._run, summary, code, time.monotonic() - self._began, self._stopped_at)

    async def _is_for_somebody(self, event: EventInfo) -> bool:
        """Whether to debug there. Where nobody can, the run is ended, and goes on through stops on its way to that."""
        if self._is_interrupted or self._stopped_at is not None:
            await self._run.session.continue_(event.fields["stop"])
            return False
        if self._is_terminal:
            return True
        self._stopped_at = event.fields["step"]
        self._run.cancel("it stopped, and there is no terminal to debug in")
        return False

    def _read_answer(self) -> None:
        """A line from the terminal is the answer to the question that was asked first."""
        line = sys.stdin.readline().strip().lower()
        for question in self._run.questions()[:1]:
            if line in ("y", "yes", "n", "no"):
                by = os.environ.get("USER", "")
                self._run.answer(question.occurrence, approved=line.startswith("y"), by=by)
            else:
                self._display.note(f"{question.prompt} Answer y or n")
