"""Progress: what takes long enough to be asked about is told, if the client shows such things."""

import asyncio
from collections.abc import Callable, Collection
from itertools import count

from pitstop.doors.dap.protocol.messages import Body

STEP_SECONDS = 1.0


class Progress:
    """Each has an id of its own, and an end whatever becomes of it. A step that is paused shows none."""

    def __init__(self, is_shown: Callable[[], bool], tell: Callable[[str, Body], None]) -> None:
        self._is_shown = is_shown
        self._tell = tell
        self._numbers = count(1)
        self._begun: dict[str, str] = {}  # the titles of what is to be shown if it takes long
        self._timers: dict[str, asyncio.TimerHandle] = {}
        self._shown: dict[str, str] = {}

    def begin(self, key: str, title: str) -> None:
        """Tell of it if it is not over in a second."""
        if self._is_shown() and key not in self._timers:
            loop = asyncio.get_running_loop()
            self._begun[key] = title
            self._timers[key] = loop.call_later(STEP_SECONDS, self._show, key, title)

    def hold(self, at_work: Collection[str]) -> None:
        """Show nothing of what has begun, but of what is at work, until `release`."""
        held = {key: title for key, title in self._begun.items() if key not in at_work}
        for key in held:
            self.end(key)
        self._begun |= held

    def release(self) -> None:
        """What was held is at work again."""
        for key, title in [*self._begun.items()]:
            self.begin(key, title)

    def report(self, key: str, title: str, message: str, percentage: float | None) -> None:
        """Tell at once how far something is that has taken long already; it lasts until its `end`."""
        if not self._is_shown():
            return
        if key not in self._shown:
            self._show(key, title, message, percentage)
            return
        update = {"progressId": self._shown[key], "message": message, "percentage": percentage}
        self._tell("progressUpdate", update)

    def end(self, key: str) -> None:
        self._begun.pop(key, None)
        timer = self._timers.pop(key, None)
        if timer is not None:
            timer.cancel()
        shown = self._shown.pop(key, None)
        if shown is not None:
            self._tell("progressEnd", {"progressId": shown})

    def end_all(self) -> None:
        for key in [*dict.fromkeys((*self._begun, *self._shown))]:
            self.end(key)

    def _show(self, key: str, title: str, message: str | None = None, percentage: float | None = None) -> None:
        progress_id = f"progress-{next(self._numbers)}"
        self._shown[key] = progress_id
        self._tell(
            "progressStart",
            {
                "progressId": progress_id,
                "title": title,
                "cancellable": False,
                "message": message,
                "percentage": percentage,
            },
        )
