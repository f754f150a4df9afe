"""Where the debugger writes: above the prompt while there is one, and nowhere while a shell has the terminal."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.text import Text

from pitstop.doors.cli.debug.output import OutputLine

Line = Text | str | OutputLine

MOST_OUTPUT = 500  # lines that steps wrote, shown at once
BETWEEN_REDRAWS_SECONDS = 0.03
ERASE_LINE = "\r\x1b[2K"


class Screen:
    """Writes lines, in order. Of output that comes faster than a terminal can show it, the end is shown."""

    def __init__(self, console: Console | None = None) -> None:
        self._console = console or Console(highlight=False, markup=False, emoji=False)
        self._pending: list[Line] = []
        self._left_out = 0
        self._is_held = False
        self._news: asyncio.Event | None = None  # set while a prompt shows what is pending
        self._has_passing_line = False

    @property
    def is_terminal(self) -> bool:
        return self._console.is_terminal

    def say(self, *lines: Line) -> None:
        self._pending.extend(lines)
        if self._console.is_terminal and len(self._pending) > 2 * MOST_OUTPUT:
            self._leave_out()
        if self._news is not None:
            self._news.set()
        elif not self._is_held:
            self.flush()

    def say_passing(self, text: str) -> None:
        """Write over the last line what is so now; whatever is said next takes its place. A prompt has its own way."""
        if self._console.is_terminal and self._news is None and not self._is_held:
            self._erase_passing()
            line = Text(text, style="dim")
            line.truncate(self._console.width - 1, overflow="ellipsis")
            self._console.print(line, end="")
            self._has_passing_line = True

    def _erase_passing(self) -> None:
        if self._has_passing_line:
            self._has_passing_line = False
            self._console.file.write(ERASE_LINE)
            self._console.file.flush()

    def _leave_out(self) -> None:
        """Forget all but the last lines of what steps wrote; what else was said stays."""
        outputs = [number for number, line in enumerate(self._pending) if isinstance(line, OutputLine)]
        surplus = set(outputs[:-MOST_OUTPUT])
        self._left_out += len(surplus)
        self._pending = [line for number, line in enumerate(self._pending) if number not in surplus]

    def flush(self) -> None:
        """Write what is pending, now."""
        self._erase_passing()
        lines, self._pending = self._pending, []
        if not self._console.is_terminal:
            self._console.file.write("".join(f"{_plain(line)}\n" for line in lines))
            self._console.file.flush()
            return
        shown = [_styled(line) for line in lines]
        if self._left_out:
            note = f"… {self._left_out} lines omitted; `log STEP` shows the last ones"
            shown.insert(0, Text(note, style="dim"))
            self._left_out = 0
        if shown:
            self._console.print(Text("\n").join(shown), soft_wrap=True)  # the terminal alone wraps them

    @contextmanager
    def held(self) -> Iterator[None]:
        """Keep everything back: somebody else has the terminal."""
        self._erase_passing()
        self._is_held = True
        try:
            yield
        finally:
            self._is_held = False
            self.flush()

    @contextmanager
    def above_prompt(self) -> Iterator[None]:
        """From here on, what is said waits for `show_pending`, which ends with this."""
        self._erase_passing()
        self._news = news = asyncio.Event()
        try:
            yield
        finally:
            self._news = None
            news.set()
            self.flush()

    async def show_pending(self, above_prompt: Callable[[Callable[[], None]], Awaitable[None]]) -> None:
        """Write what is said as it comes, each time with the prompt out of the way. Not to be cancelled half-way."""
        while self._news is not None:
            await self._news.wait()
            if self._news is not None:
                self._news.clear()
                await above_prompt(self.flush)
                await asyncio.sleep(BETWEEN_REDRAWS_SECONDS)  # a flood of lines must not redraw the prompt for each


def _styled(line: Line) -> Text:
    if isinstance(line, str):
        return Text(line)
    return line.styled() if isinstance(line, OutputLine) else line


def _plain(line: Line) -> str:
    return line if isinstance(line, str) else line.plain
