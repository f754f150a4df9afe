"""What a session is while a run lives: its frames, the stops that last, and what decides whether more are to come."""

import asyncio
from collections import deque
from collections.abc import Mapping
from typing import Any, Literal

from msgspec import Struct

from pitstop.debugger.breakpoints import EVERYWHERE, Breakpoint, BreakpointTable
from pitstop.debugger.matching import Watched, passes
from pitstop.debugger.remains import LEASE_LIMIT_SECONDS, Place, Remains, Remembered
from pitstop.debugger.stepping import Goal
from pitstop.debugger.stops import Held, Stop
from pitstop.debugger.time_travel import has_previous_step
from pitstop.engine.frame import Frame, Gate, RunContext, never_passes
from pitstop.engine.verdict import Position, Verdict
from pitstop.errors import NotRunning
from pitstop.events.counting import Future
from pitstop.events.log import EventLog, MemoryLog
from pitstop.events.types import AllStopped, AnyEvent, Event, LeaseEnded, Resumed, StopEnded
from pitstop.events.view import is_intervention
from pitstop.plan.scope import Edit, Scope

LeasePolicy = Literal["abort", "continue"]


class Abandoned(Struct, frozen=True):
    """What a session has forgotten because the run went back."""

    past: Mapping[str, list[Stop]]
    edits: list[tuple[int, str, Edit, Scope]]


class Holding:
    """Holds frames until somebody decides, or their lease ends."""

    def __init__(
        self,
        *,
        stop_at_entry: bool,
        stop_at_end: bool,
        lease_seconds: float,
        on_lease_end: LeasePolicy,
        snapshots: bool = False,
    ) -> None:
        self.gate = Gate()
        self.stop_at_entry = stop_at_entry
        self.stop_at_end = stop_at_end
        if on_lease_end not in ("abort", "continue"):
            raise ValueError(f"on_lease_end must be 'abort' or 'continue', not {on_lease_end!r}")
        self.lease_seconds = min(lease_seconds, LEASE_LIMIT_SECONDS)
        self.on_lease_end = on_lease_end
        self.snapshots = snapshots
        self.watches: tuple[str, ...] = ()
        self.log: EventLog = MemoryLog()
        self.interventions: list[Event] = []
        self._past: dict[str, list[Stop]] = {}  # the stops that each frame, as it is now, has behind it
        self._breakpoints = BreakpointTable()
        self._default: Breakpoint | None = None  # the one that a session has without being asked
        self._run: RunContext | None = None
        self._is_started = False
        self._is_ended = False
        self._is_detached = False
        self._is_aborted = False
        self._is_entry_due = stop_at_entry
        self._frames: dict[str, Frame] = {}
        self._pausing: set[str] = set()
        self._stopped_steps: set[str] = set()  # the occurrences that are to pause at their failure
        self._goals: list[Goal] = []
        self._arrivals: dict[Place, str] = {}  # the points that are gone back to, and their frames
        self._held: dict[int, Held] = {}
        self._live_frames = 0
        self._waiting: dict[str, set[str]] = {}  # frames that wait for those they opened
        self._edits: list[tuple[int, str, Edit, Scope]] = []  # each with its number in the log and its frame
        self._abandoned: dict[int, Abandoned] = {}  # by the stop that the run went back from
        self._futures: dict[Place, Future] = {}  # that the run returns to, until it stops there
        self._last_stop = 0
        self._last_timed_out = 0
        self._last_injected = 0
        self._last_shell = 0
        self._unseen: deque[Stop] = deque()
        self._news = asyncio.Event()
        self._watched: Watched = {}
        # Of the process before this one, if there was one: see `remains.py`
        self._remains: Remains | None = None
        self._returning: dict[Place, Remembered] = {}  # the stops that last, until their frames are there again
        self._revisits: dict[Place, list[Remembered]] = {}  # those that were let go, until their frames come past
        self._passed: dict[Place, str] = {}
        self._begun: dict[Place, str] = {}  # those before steps that began afterwards, and are repeated now
        self._reopening: dict[str, str] = {}  # the frames that were open, or done, and the states they were in
        self._forked: set[str] = set()  # those of them whose opening has had its effect on the steps on their way

    async def _keep(self, held: Held, lease_seconds: float, at_least_seconds: float = 0.0) -> Verdict:
        run, stop, activation = self._running(), held.stop, held.point.activation
        frame = activation.frame
        counting = run.what_counts()  # now, so that going back from here does not wait for all that led here to be read
        if has_previous_step(counting, stop):
            stop.allowed = (*stop.allowed, "step_back")
        if counting.future_of(stop.frame) is not None:
            stop.allowed = (*stop.allowed, "forward")
        self._held[stop.id] = held
        self._is_entry_due = False
        self._pausing.discard(frame.id)
        self._past.setdefault(frame.id, []).append(stop)
        activation.hold()
        self._lease(held, lease_seconds, at_least_seconds)
        self._refresh_gate()
        self._tell_if_all_stopped()
        self._unseen.append(stop)
        self._news.set()
        try:
            return await held.verdict
        except asyncio.CancelledError:
            if self._held.pop(stop.id, None) is not None:
                reason = run.abort_reason or ("the agent ended while the call was held" if stop.is_call else None)
                self._append(StopEnded(run.now(), stop.id, frame.id, frame.why_cancelled(reason)))
            raise
        finally:
            held.release()

    def _resume(
        self, held: Held, verb: str, verdict: Verdict, goal: Goal | None = None, targets: tuple[str, ...] = ()
    ) -> None:
        run, stop = self._running(), held.stop
        del self._held[stop.id]
        if goal is not None:
            self._goals.append(goal)
            self._refresh_gate()
        self._append(Resumed(run.now(), stop.id, stop.frame, verb, targets or (goal.targets if goal else ())))
        held.release()
        held.verdict.set_result(verdict)

    def _previous(self, stop: Stop) -> Stop | None:
        """The stop that this frame had before this one."""
        return next((each for each in reversed(self._past.get(stop.frame, ())) if each.id < stop.id), None)

    def _lease(self, held: Held, seconds: float, at_least_seconds: float = 0.0) -> None:
        """Let the stop end by itself when nobody has attended to it for so long."""
        loop = asyncio.get_running_loop()
        now = loop.time()
        if held.lease is not None:
            held.lease.cancel()
        held.lease_ends_at = max(now + at_least_seconds, min(now + seconds, held.began_at + LEASE_LIMIT_SECONDS))
        held.stop.lease_ends_at = self._running().now() + held.lease_ends_at - now
        held.lease = loop.call_at(held.lease_ends_at, self._end_lease, held)

    def _end_lease(self, held: Held) -> None:
        if held.verdict.done():
            return
        run, self._last_timed_out = self._running(), held.stop.id
        self._append(LeaseEnded(run.now(), held.stop.id, self.on_lease_end))
        if self.on_lease_end == "continue":
            self._resume(held, "continue", held.proceed())
        else:
            self._is_aborted = True
            run.abort(f"stop {held.stop.id} timed out")

    def _refresh_gate(self) -> None:
        is_moving = bool(self._goals or self._pausing or self._is_entry_due)
        is_open = is_moving or self._arrivals or self._returning or self._is_aborted
        if self._is_detached and not self._returning:
            self.gate.paths = self.gate.calls = frozenset()
        else:
            self.gate.paths = EVERYWHERE if is_open else self._breakpoints.gate()
            self.gate.calls = EVERYWHERE if is_open else self._breakpoints.call_gate()
        self.gate.passes = never_passes if is_open or self._remains is not None else self._passes
        self.gate.epoch += 1

    def _passes(self, path: str, frame: str, position: Position, values: Mapping[str, Any]) -> bool:
        return passes(self._breakpoints.candidates(path), frame, position, values, self._watched)

    def _tell_if_all_stopped(self) -> None:
        if self._held and self._live_frames == len(self._held) + len(self._waiting):
            self._append(AllStopped(self._running().now(), tuple(self._held)))

    def _append(self, event: AnyEvent) -> None:
        if self._run is not None and self._run.lost is not None:
            return  # the log is another's
        self.log.append(event)
        if is_intervention(event):
            self.interventions.append(event)

    def _running(self) -> RunContext:
        if self._run is None or not self._is_started or self._is_ended:
            raise NotRunning
        return self._run
