"""A debug session that the service can follow to the place where a step works."""

import asyncio
import time
from collections.abc import Iterator
from typing import Any

from pitstop.debugger.breakpoints import UNSET
from pitstop.debugger.session import Session
from pitstop.debugger.stops import Held, Stop
from pitstop.engine.frame import Activation, RunContext
from pitstop.plan.scope import Edit
from pitstop.runs.run_request import BreakpointRequest, DebugRequest


class LocalSession(Session):
    """A session of a run in this process."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self._attended: set[int] = set()
        self._timed_out = 0

    @property
    def is_attended(self) -> bool:
        """Whether somebody has come to a stop that lasts: has asked about it, or has done something there."""
        return any(stop in self._attended for stop in self._held)

    @property
    def is_timed_out(self) -> bool:
        """Whether the last stop ended because nobody attended to it."""
        return self._timed_out == self._last_stop > 0

    def _at(self, stop: Stop | int, verb: str) -> Held:
        held = super()._at(stop, verb)
        self._attended.add(held.stop.id)
        return held

    def _end_lease(self, held: Held) -> None:
        if not held.verdict.done():
            self._timed_out = held.stop.id
        super()._end_lease(held)

    def run_now(self) -> RunContext:
        """The run, whatever it does; NotRunning when it has not begun, or has ended."""
        return self._running()

    def activation_at(self, stop: int) -> Activation:
        """The step that is held at a stop; StaleStop when the stop is over."""
        return self._at(stop, "evaluate").point.activation

    def edits(self) -> Iterator[tuple[int, Edit]]:
        """What was edited at the stops that last, and can be undone."""
        for held in self._waiting_for_word():
            yield from ((held.stop.id, edit) for edit in held.edits)

    def lease_ends_at(self, stop: int) -> float | None:
        """When a stop ends by itself, in seconds since the epoch."""
        held = self._held.get(stop)
        if held is None or held.lease is None:
            return None
        return time.time() + held.lease_ends_at - asyncio.get_running_loop().time()


def make_session(request: DebugRequest) -> LocalSession:
    """A session with the breakpoints that were asked for; BadBreakpoint."""
    session = LocalSession(
        stop_at_entry=request.stop_at_entry,
        stop_on_error=request.stop_on_error,
        stop_at_end=request.stop_at_end,
        lease_seconds=request.lease_seconds,
        on_lease_end=request.on_lease_end,
    )
    for wanted in request.breakpoints:
        session.add_breakpoint(**parts_of(wanted))
    return session


def parts_of(request: BreakpointRequest) -> dict[str, Any]:
    """A breakpoint that was asked for, as a session takes it."""
    names = (
        "step",
        "kind",
        "file",
        "line",
        "position",
        "condition",
        "hits",
        "log",
        "once",
        "enabled",
        "group",
        "state",
    )
    parts = {name: getattr(request, name) for name in names}
    return {**parts, "equals": request.equals if request.has_equals else UNSET}
