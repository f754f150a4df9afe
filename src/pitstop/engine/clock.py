"""Charged time: a step's timeout and duration count only while no frame at or under the step is paused."""

import asyncio
import time

from pitstop.engine.elapsed import Elapsed


class SystemClock:
    """The machine's time."""

    __slots__ = ()
    now = staticmethod(time.time)
    sleep = staticmethod(asyncio.sleep)
    timeout = staticmethod(asyncio.timeout)


class Meter:
    """The charged time of one attempt of a step. Held once for every frame that pauses at or under it."""

    __slots__ = ("_charged_seconds", "_held_since", "_holds", "_left_seconds", "_timeout", "paused_seconds")

    def __init__(self) -> None:
        self.paused_seconds = 0.0
        self._charged_seconds = 0.0  # in processes before this one
        self._holds = 0
        self._held_since = 0.0
        self._timeout: asyncio.Timeout | None = None
        self._left_seconds: float | None = None

    def go_on(self, elapsed: Elapsed) -> None:
        """Begin where the clock stood when the process before this one ended."""
        self._charged_seconds = elapsed.charged_seconds
        self.paused_seconds = elapsed.paused_seconds

    def limit(self, seconds: float | None) -> asyncio.Timeout:
        """A context that ends what is inside it when so many charged seconds are over."""
        self._timeout = asyncio.timeout(None if seconds is None else seconds - self._charged_seconds)
        return self._timeout

    @property
    def is_over(self) -> bool:
        return self._timeout is not None and self._timeout.expired()

    def unlimit(self) -> None:
        """The context was left: there is nothing to end any more."""
        self._timeout = self._left_seconds = None

    def paused_by(self, now: float) -> float:
        """The seconds that it was paused until now, the current pause included."""
        return self.paused_seconds + (now - self._held_since if self._holds else 0.0)

    def hold(self, now: float) -> None:
        self._holds += 1
        if self._holds > 1:
            return
        self._held_since = now
        timeout = self._timeout
        if timeout is not None and not timeout.expired():
            when = timeout.when()
            if when is not None:
                self._left_seconds = when - now
                timeout.reschedule(None)

    def release(self, now: float) -> None:
        self._holds -= 1
        if self._holds:
            return
        self.paused_seconds += now - self._held_since
        if self._left_seconds is not None and self._timeout is not None and not self._timeout.expired():
            self._timeout.reschedule(now + self._left_seconds)
            self._left_seconds = None
