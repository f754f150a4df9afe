"""The prompt: reads lines while the run goes on above it."""

import asyncio
from collections.abc import AsyncGenerator, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from prompt_toolkit import PromptSession
from prompt_toolkit.application import run_in_terminal
from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document
from prompt_toolkit.formatted_text import FormattedText
from prompt_toolkit.history import FileHistory, History, InMemoryHistory
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.shortcuts import CompleteStyle
from rich.text import Text

from pitstop.doors.cli.debug.actions import carry_out
from pitstop.doors.cli.debug.completion import Words, complete
from pitstop.doors.cli.debug.console import Console
from pitstop.doors.cli.debug.listings import breakpoint_place
from pitstop.errors import CommandRefused
from pitstop.service.debugging import verbs

SETTLE_SECONDS = 0.3  # a move that is over by then is shown before the next prompt, so keys typed ahead find a stop
REFRESH_SECONDS = 0.5
INTERRUPT_HINT = "nothing is running in this frame: `c` continues, `q` or Ctrl-D cancels the run"


class _RunOver(Exception):
    """The prompt ends because the run has."""


class Prompt:
    """A terminal and the person at it."""

    def __init__(self, console: Console, history_file: Path) -> None:
        self._console = console
        console.ask = self.ask
        console.on_interrupt = self.interrupt
        self._session: PromptSession[str] = PromptSession(
            message=self._message,
            history=_history(history_file),
            completer=_RunCompleter(console),
            complete_while_typing=False,
            complete_style=CompleteStyle.COLUMN,
            key_bindings=self._key_bindings(),
            refresh_interval=REFRESH_SECONDS,
        )
        self._question: PromptSession[str] = PromptSession()

    async def converse(self) -> None:
        """Execute what is typed until the run is over."""
        await self._settle()
        while not self._console.is_ending:
            line = await self._read(self._session)
            if line is not None:
                await carry_out(self._console, line)
            await self._settle()

    async def ask(self, question: str) -> bool:
        """A yes or a no; an end of the input is a yes, for then nobody is there any more."""
        answer = await self._read(self._question, FormattedText([("bold", f"{question} [y/N] ")]), at_end="y")
        return answer is not None and answer.strip().lower() in ("y", "yes")

    def interrupt(self) -> None:
        """Ctrl-C: whatever runs is paused."""
        console = self._console
        if console.stop is None:
            console.in_background(carry_out(console, "pause"))
        else:
            console.screen.say(Text(INTERRUPT_HINT, style="dim"))

    async def _settle(self) -> None:
        try:
            async with asyncio.timeout(SETTLE_SECONDS):
                await self._console.wait_settled()
        except TimeoutError:
            pass

    async def _read(
        self, session: PromptSession[str], message: FormattedText | None = None, at_end: str = "quit"
    ) -> str | None:
        """A line; None when the run came to its end instead."""
        console = self._console
        async with asyncio.TaskGroup() as group:
            leaving = group.create_task(_leave(session, console))
            try:
                with console.screen.above_prompt():
                    group.create_task(console.screen.show_pending(run_in_terminal))
                    return await session.prompt_async(message, handle_sigint=False)
            except _RunOver:
                return None
            except EOFError:
                return at_end
            except KeyboardInterrupt:
                return ""
            finally:
                leaving.cancel()

    def _message(self) -> FormattedText:
        console = self._console
        style = f"ansi{console.style_of(console.frame).replace('_', '')}"
        elsewhere = len(console.state.stops)
        if console.stop is not None:
            return FormattedText([("", "("), (f"{style} bold", console.frame), ("", ") ")])
        doing = console.told_of_files or "running"
        told = f" {doing}, {elsewhere} paused" if elsewhere else f" {doing}"
        return FormattedText([("", "("), (style, console.frame), ("", f"{told}) ")])

    def _key_bindings(self) -> KeyBindings:
        bindings = KeyBindings()

        @bindings.add("c-c")
        def clear_or_interrupt(event: KeyPressEvent) -> None:
            if event.current_buffer.text:
                event.current_buffer.reset()
            else:
                self.interrupt()

        return bindings


async def _leave(session: PromptSession[str], console: Console) -> None:
    """End the prompt with the run."""
    await console.wait_over()
    if session.app.is_running and not session.app.is_done:  # it ends already where a line was entered just now
        session.app.erase_when_done = True
        session.app.exit(exception=_RunOver)


def _history(file: Path) -> History:
    """The lines of earlier sessions; only those of this one where they cannot be kept."""
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.touch(mode=0o600)
    except OSError:
        return InMemoryHistory()
    return FileHistory(str(file))


class _RunCompleter(Completer):
    """Completes from what the run has now."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._scope: Mapping[str, Any] = {}

    def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterator[Completion]:
        for each in complete(document.text_before_cursor, self._words()):
            yield Completion(each.text, -each.replaces, display_meta=each.meaning)

    async def get_completions_async(
        self, document: Document, complete_event: CompleteEvent
    ) -> AsyncGenerator[Completion, None]:
        stop = self._console.stop
        self._scope = {}
        if stop is not None:
            with suppress(CommandRefused):  # it is over
                self._scope = (await self._console.debugger.say(verbs.Scope(stop.id))).scope
        for each in self.get_completions(document, complete_event):
            yield each

    def _words(self) -> Words:
        steps, breakpoints = self._console.run.flow.steps, self._console.state.breakpoints
        ids = {step.id: step.title for step in steps if step.id}
        numbers = {str(each.id): breakpoint_place(each.request) for each in breakpoints}
        return Words(
            step_names=ids | {step.path: step.title for step in steps},
            frame_names=self._console.frame_ids,
            breakpoint_names=numbers | {each.request.group: "group" for each in breakpoints if each.request.group},
            watch_names=self._console.state.watches,
            scope=self._scope,
        )
