"""Ctrl-C and SIGTERM: heard from the first moment on, and never answered with a traceback.

Plain signal handlers, because those of an event loop are there only while it runs. Until a run takes the signals, and
when it has let go of them, one ends the process at once: whatever it has started dies with it.
"""

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

from pitstop.doors.cli.exit_codes import INTERRUPTED

ANSWER_SECONDS = 3.0

OnInterrupt = Callable[[str, int], None]  # the name of the signal, and which one it is, from 1


class Interrupts:
    """The signals that ask the process to end."""

    def __init__(self) -> None:
        self._taker: Callable[[str], None] | None = None
        self._is_answered = True

    def listen(self) -> None:
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, self._hear)
        signal.signal(signal.SIGALRM, self._despair)

    @contextmanager
    def taken_by(self, on_interrupt: OnInterrupt) -> Iterator[None]:
        """Hand signals to `on_interrupt`, in the event loop that runs now."""
        from asyncio import get_running_loop  # a command that does not run anything is done without it

        loop = get_running_loop()
        count = 0

        def answer(name: str) -> None:
            nonlocal count
            count += 1
            self._is_answered = True
            signal.setitimer(signal.ITIMER_REAL, 0)
            on_interrupt(name, count)

        def take(name: str) -> None:
            loop.call_soon_threadsafe(answer, name)

        self._taker = take
        try:
            yield
        finally:
            self._taker = None
            signal.setitimer(signal.ITIMER_REAL, 0)

    def _hear(self, number: int, frame: FrameType | None) -> None:
        if self._taker is None:
            leave_at_once(signal.Signals(number).name)
        elif self._is_answered:
            self._is_answered = False
            signal.setitimer(signal.ITIMER_REAL, ANSWER_SECONDS)  # the loop may hang in a write that nobody reads
            self._taker(signal.Signals(number).name)
        else:
            leave_at_once(signal.Signals(number).name)

    def _despair(self, number: int, frame: FrameType | None) -> None:
        if not self._is_answered:
            leave_at_once("nothing moves any more")


def leave_at_once(reason: str) -> None:
    """End the process here and now. The supervisors of its commands notice, and end them."""
    os.write(2, f"pitstop: interrupted ({reason})\n".encode())
    os._exit(INTERRUPTED)
