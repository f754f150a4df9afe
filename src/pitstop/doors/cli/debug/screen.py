"""Where the debugger writes: above the prompt while there is one, and nowhere while a shell has the terminal."""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.text import Text

Line = Text | str

MOST_PENDING = 2_000
BETWEEN_REDRAWS_SECONDS = 0.03


class Screen:
    """Writes lines, in order. What comes faster than it can be shown is left out, and counted."""

    def __init__(self, mask_text: Callable[[str], str], console: Console | None = None) -> None:
        self._console = console or Console(highlight=False, markup=False, emoji=False)
        self._mask_text = mask_text
        self._pending: deque[Line] = deque()
        self._left_out = 0
        self._is_held = False
        self._news: asyncio.Event | None = None  # set while a prompt shows what is pending

    def say(self, *lines: Line) -> None:
        self._pending.extend(lines)
        if self._news is not None:
            self._news.set()
        elif not self._is_held:
            self.flush()
        while len(self._pending) > MOST_PENDING:
            self._pending.popleft()
            self._left_out += 1

    def flush(self) -> None:
        """Write what is pending, now."""
        if self._left_out:
            self._write(Text(f"… {self._left_out} lines left out; `log STEP` has the last ones", style="dim"))
            self._left_out = 0
        while self._pending:
            self._write(self._pending.popleft())

    def _write(self, line: Line) -> None:
        """Lines are not cut, and wrapped by the terminal alone. One with a secret in it loses its style as well."""
        plain = line if isinstance(line, str) else line.plain
        masked = self._mask_text(plain)
        self._console.print(line if masked == plain else masked, soft_wrap=True)

    @contextmanager
    def held(self) -> Iterator[None]:
        """Keep everything back: somebody else has the terminal."""
        self._is_held = True
        try:
            yield
        finally:
            self._is_held = False
            self.flush()

    @contextmanager
    def above_prompt(self) -> Iterator[None]:
        """From here on, what is said waits for `show_pending`, which ends with this."""
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
