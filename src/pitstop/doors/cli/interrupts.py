"""Ctrl-C, SIGTERM and a terminal that is closed: heard from the first moment on, never answered with a traceback.

Plain signal handlers, because those of an event loop are there only while it runs. Until a run takes the signals, and
when it has let go of them, one ends the process at once: whatever it has started dies with it.
"""

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

from pitstop.doors.cli.exit_codes import INTERRUPTED

BEAT_SECONDS = 2.0
MOST_MISSED = 2  # beats: while the whole process stands still, one pulse is felt at most, however long that is

OnInterrupt = Callable[[str, int], None]  # the name of the signal, and which one it is, from 1


class Interrupts:
    """The signals that ask the process to end."""

    def __init__(self) -> None:
        self._call_soon: Callable[[Callable[[], None]], object] | None = None
        self._on_interrupt: OnInterrupt | None = None
        self._count = 0
        self._missed = 0

    def listen(self) -> None:
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, self._hear)
        if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:  # as `nohup` wants it
            signal.signal(signal.SIGHUP, self._hear)
        signal.signal(signal.SIGALRM, self._feel_pulse)

    @contextmanager
    def taken_by(self, on_interrupt: OnInterrupt) -> Iterator[None]:
        """Hand signals to `on_interrupt`, in the event loop that runs now; then to whoever had them before."""
        from asyncio import get_running_loop  # a command that runs nothing is done without it

        before = self._call_soon, self._on_interrupt
        self._call_soon, self._on_interrupt = get_running_loop().call_soon_threadsafe, on_interrupt
        try:
            yield
        finally:
            self._call_soon, self._on_interrupt = before
            signal.setitimer(signal.ITIMER_REAL, 0)

    def _hear(self, number: int, frame: FrameType | None) -> None:
        name = signal.Signals(number).name
        if self._call_soon is None or self._on_interrupt is None:
            leave_at_once(name)
            return
        self._count += 1
        count = self._count
        signal.setitimer(signal.ITIMER_REAL, BEAT_SECONDS, BEAT_SECONDS)
        self._call_soon(lambda: self._hand_over(name, count))

    def _hand_over(self, name: str, count: int) -> None:
        """Whoever had the signals when this one came may have let go of them by now."""
        if self._on_interrupt is None:
            leave_at_once(name)
        else:
            self._on_interrupt(name, count)

    def _feel_pulse(self, number: int, frame: FrameType | None) -> None:
        """Once somebody wants an end, the loop must go round: it may hang in a write that nobody reads."""
        if self._missed == MOST_MISSED:
            leave_at_once("its output was closed")
        elif self._call_soon is not None:
            self._missed += 1
            self._call_soon(self._beat)

    def _beat(self) -> None:
        self._missed = 0


def leave_at_once(reason: str) -> None:
    """End the process here and now. The supervisors of its commands notice, and end them."""
    os.write(2, f"pitstop: interrupted ({reason})\n".encode())
    os._exit(INTERRUPTED)
