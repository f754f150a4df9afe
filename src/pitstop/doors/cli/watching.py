"""Watching a run until it is over, or has stopped for somebody who is there to debug it."""

import argparse
import asyncio
import os
import sys
import time
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager, nullcontext, suppress
from typing import Any, Protocol, Self

from pitstop.doors.cli import exit_codes
from pitstop.doors.cli.choosing import elsewhere_of, server_of
from pitstop.doors.cli.closing import Ending, Left, left_at
from pitstop.doors.cli.early_output import EarlyOutput
from pitstop.doors.cli.interrupts import Interrupts, leave_at_once
from pitstop.doors.cli.plain import LEVELS, PlainDisplay
from pitstop.doors.cli.run_options import has_terminal
from pitstop.errors import CommandRefused
from pitstop.service.caller import LOCAL
from pitstop.service.desks import Service
from pitstop.service.runs import ActiveRun, EventInfo, Output, WorkspaceProgress
from pitstop.settings import read_settings


class Display(Protocol):
    """What shows a run."""

    def hear(self, output: Output) -> None: ...

    def show(self, event: EventInfo) -> None: ...

    def tell_progress(self, progress: WorkspaceProgress) -> None:
        """Tell how far the files of the workspace are kept, or put back."""
        ...

    def note(self, text: str) -> None:
        """Tell something that is no event."""
        ...

    def close(self) -> None: ...

    def leave(self, left: Left) -> None:
        """Tell where the run was left, and how to return; the last that is shown."""
        ...

    def finish(self, ending: Ending) -> None:
        """Tell how it ended; the last that is shown."""
        ...


def add_display_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--plain", action="store_true", help="plain text without escape sequences, even in a terminal")
    parser.add_argument("--json", action="store_true", help="newline-delimited JSON events")
    parser.add_argument(
        "--attachable", action="store_true", help="let editors and `pitstop debug RUN` attach; stops wait for them"
    )
    parser.add_argument("--log-level", choices=LEVELS, default="info", help="log level of plain output (info)")


def is_at_terminal(options: argparse.Namespace) -> bool:
    return has_terminal() and not options.json


async def watch_run(
    service: Service,
    run: ActiveRun,
    options: argparse.Namespace,
    interrupts: Interrupts,
    *,
    told: int | None = None,
) -> int:
    """Show a run that has just been started, or what comes after event `told`. Gives the exit code."""
    is_terminal = is_at_terminal(options)
    display = _display(run, options, is_terminal=is_terminal)
    watch = Watch(service, run, display, is_terminal=is_terminal, server=server_of(options))
    async with watch.attachable() if options.attachable else nullcontext(), watch:
        with interrupts.taken_by(watch.interrupt):
            stop = await watch.follow(told)
            if stop is not None and not is_terminal:
                display.leave(left_at(run, stop, options))
                return exit_codes.DETACHED
            if stop is not None:  # where a signal still ends the run, until the debugger has them
                from pitstop.doors.cli.debug.steering import steer

                code = await steer(service, run, interrupts, elsewhere=elsewhere_of(options), told=stop.number)
                return exit_codes.INTERRUPTED if watch.is_interrupted else code
    ending = await watch.ending()
    display.finish(ending)
    return ending.exit_code


def _display(run: ActiveRun, options: argparse.Namespace, *, is_terminal: bool) -> Display:
    if options.json:
        from pitstop.doors.cli.json_lines import JsonDisplay

        return JsonDisplay(run.id, sys.stdout.buffer, options)
    if is_terminal and not options.plain:
        from pitstop.doors.cli.live_tree import LiveDisplay

        return LiveDisplay(run.flow, options)
    return PlainDisplay(run.flow, sys.stdout.buffer, options)


class Watch:
    """Follows one run. What is said to it is said in tasks, for signals and keys come at any moment."""

    def __init__(
        self, service: Service, run: ActiveRun, display: Display, *, is_terminal: bool, server: str | None = None
    ) -> None:
        self._service = service
        self._run = run
        self._display = display
        self._is_terminal = is_terminal
        self._server = server
        self.is_interrupted = False
        self._stopped_at: str | None = None
        self._is_attachable = False
        self._began = time.monotonic()
        self._commands = asyncio.TaskGroup()
        self._early = EarlyOutput(self._show_output)

    async def __aenter__(self) -> Self:
        await self._commands.__aenter__()
        return self

    async def __aexit__(self, *error: Any) -> None:
        try:
            await self._commands.__aexit__(*error)
        except BaseExceptionGroup as group:  # such as a reader of our output who has gone: the caller knows of no group
            raise group.exceptions[0] from None

    @asynccontextmanager
    async def attachable(self) -> AsyncIterator[None]:
        """Let others attach to the run, and leave its stops to them. A run of a server can always be attached to."""
        if self._service.attaching is None:
            yield
            return
        async with self._service.attaching.open(self._run.id):
            self._is_attachable = True
            self._display.note(f"attach with: pitstop debug {self._run.id}")
            yield

    async def follow(self, told: int | None = None) -> EventInfo | None:
        """The stop to debug at, or where the run was left, if any: what comes after it is not shown."""
        unhear, unhear_progress = self._run.hear_output(self._early.hear), self._run.hear_progress(self._show_progress)
        if self._is_terminal:
            asyncio.get_running_loop().add_reader(sys.stdin, self._read_answer)
        try:
            async for event in self._run.events(self._run.carried_over if told is None else told):
                self._show(event)
                if event.kind == "debug.stopped" and await self._is_for_somebody(event):
                    return event
        finally:
            if self._is_terminal:
                asyncio.get_running_loop().remove_reader(sys.stdin)
            unhear()
            unhear_progress()
            self._early.let_out()
            self._display.close()
        return None

    def _show(self, event: EventInfo) -> None:
        self._display.show(event)
        self._early.follow(event)

    def _show_output(self, output: Output) -> None:
        """Show what a step wrote; that nobody reads it any more is no failure of the step, but the end of the run."""
        try:
            self._display.hear(output)
        except BrokenPipeError:
            self._say(self._cancel("its output was closed"))

    def _show_progress(self, progress: WorkspaceProgress) -> None:
        try:
            self._display.tell_progress(progress)
        except BrokenPipeError:
            self._say(self._cancel("its output was closed"))

    def interrupt(self, name: str, count: int) -> None:
        """Once: end the steps and clean up. Twice: end all of it now. Three times: not even wait for that."""
        self.is_interrupted = True
        where = " on the server" if self._server is not None else ""
        if count == 1:
            self._say(self._cancel(f"interrupted ({name})"))
            once_more = "interrupt again to kill it"
            self._display.note(f"interrupted ({name}): cancelling the steps{where} and cleaning up; {once_more}")
        elif count == 2:
            self._say(self._service.runs.kill(LOCAL, self._run.id))
            self._display.note(f"killing it{where}")
        else:
            leave_at_once(name)

    async def ending(self) -> Ending:
        summary = await self._run.wait()
        if self.is_interrupted:
            code = exit_codes.INTERRUPTED
        elif self._stopped_at is not None:
            code = exit_codes.DETACHED
        else:
            code = exit_codes.PASSED if summary.status == "passed" else exit_codes.FAILED
        failed = [failure.occurrence for failure in summary.failures]
        return Ending(
            run=self._run,
            summary=summary,
            exit_code=code,
            seconds=time.monotonic() - self._began,
            stopped_at=self._stopped_at,
            tails={occurrence: await self._run.log_tail(occurrence) for occurrence in failed},
            problem=(await self._run.info()).problem,
            artifacts=await self._artifacts(),
        )

    async def _artifacts(self) -> str | None:
        count = len(await self._run.artifacts())
        if not count:
            return None
        if self._server is not None:
            return f"{count} on the server, with run {self._run.id}"
        return str(read_settings().runs / self._run.id / "artifacts")

    async def _is_for_somebody(self, event: EventInfo) -> bool:
        """Whether to watch no further: it is debugged there, or left there for later.

        A run that cannot be left is ended, and goes on through stops on its way to that.
        """
        if self.is_interrupted or self._stopped_at is not None:
            from pitstop.doors.cli.passing import pass_stops

            await pass_stops(self._service, self._run.id)
            return False
        if self._is_attachable:
            self._display.note(f"paused at {event.fields['occurrence']}: pitstop debug {self._run.id}")
            return False
        if self._is_terminal:
            return True
        with suppress(CommandRefused):  # not all of it is stored
            await self._service.runs.leave(LOCAL, self._run.id)
            return True
        self._stopped_at = event.fields["step"]
        await _said(self._cancel("it paused, but there is no terminal to debug in"))
        return False

    def _read_answer(self) -> None:
        """A line from the terminal is the answer to the question that was asked first."""
        self._say(self._answer(sys.stdin.readline().strip().lower()))

    async def _answer(self, line: str) -> None:
        for question in (await self._run.questions())[:1]:
            if line in ("y", "yes", "n", "no"):
                by = os.environ.get("USER", "")
                approved = line.startswith("y")
                await self._service.runs.answer(LOCAL, self._run.id, question.occurrence, approved=approved, by=by)
            else:
                self._display.note(f"{question.prompt} Answer y or n")

    def _cancel(self, reason: str) -> Coroutine[Any, Any, None]:
        return self._service.runs.cancel(LOCAL, self._run.id, reason)

    def _say(self, command: Coroutine[Any, Any, None]) -> None:
        self._commands.create_task(_said(command))


async def _said(command: Coroutine[Any, Any, None]) -> None:
    with suppress(CommandRefused):  # it was over by then
        await command
