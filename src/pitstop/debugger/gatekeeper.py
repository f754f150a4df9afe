"""The engine's side of a session: at each point, go on or hold the frame until somebody decides."""

import asyncio
from collections import deque
from collections.abc import Sequence
from typing import Literal

from pitstop.debugger.breakpoints import EVERYWHERE, Breakpoint, BreakpointTable
from pitstop.debugger.matching import Watched, hits_at, take_watched
from pitstop.debugger.stepping import Goal, after_frame, at_fork, is_ended_by, rests_at
from pitstop.debugger.stops import Held, Stop, describe
from pitstop.engine.frame import Activation, Frame
from pitstop.engine.hook import PROCEED, Gate, Point, Position, Verdict
from pitstop.engine.run import Run
from pitstop.errors import NotRunning, SessionInUse
from pitstop.events.log import EventLog, MemoryLog
from pitstop.events.outcome import Outcome
from pitstop.events.types import (
    AllStopped,
    AnyEvent,
    BreakpointHit,
    BreakpointRemoved,
    BreakpointSet,
    Event,
    LeaseEnded,
    Logged,
    Resumed,
    StopEnded,
    Stopped,
    WatchesChanged,
)
from pitstop.events.view import is_intervention
from pitstop.plan.plan import Step
from pitstop.plan.scope import Edit, Scope

LeasePolicy = Literal["abort", "continue"]

LEASE_LIMIT_SECONDS = 4 * 3600.0
ORDER = ("entry", "pause", "breakpoint", "failure", "step", "completed")


class Gatekeeper:
    """A hook: knows the frames, the breakpoints and the steps on their way, and holds whom it has to."""

    def __init__(
        self, *, stop_at_entry: bool, stop_at_end: bool, lease_seconds: float, on_lease_end: LeasePolicy
    ) -> None:
        self.gate = Gate()
        self.stop_at_entry = stop_at_entry
        self.stop_at_end = stop_at_end
        if on_lease_end not in ("abort", "continue"):
            raise ValueError(f"on_lease_end is 'abort' or 'continue', not {on_lease_end!r}")
        self.lease_seconds = min(lease_seconds, LEASE_LIMIT_SECONDS)
        self.on_lease_end = on_lease_end
        self.watches: tuple[str, ...] = ()
        self.log: EventLog = MemoryLog()
        self.interventions: list[Event] = []
        self._past: dict[str, list[Stop]] = {}  # the stops that each frame, as it is now, has behind it
        self._breakpoints = BreakpointTable()
        self._run: Run | None = None
        self._is_ended = False
        self._is_detached = False
        self._is_aborted = False
        self._is_entry_due = stop_at_entry
        self._frames: dict[str, Frame] = {}
        self._pausing: set[str] = set()
        self._goals: list[Goal] = []
        self._arrivals: dict[tuple[str, str], str] = {}  # the points that are gone back to, and their frames
        self._held: dict[int, Held] = {}
        self._live_frames = 0
        self._waiting: dict[str, set[str]] = {}  # frames that wait for those they opened
        self._edits: list[tuple[int, str, Edit, Scope]] = []  # each with its number in the log and its frame
        self._last_stop = 0
        self._unseen: deque[Stop] = deque()
        self._news = asyncio.Event()
        self._watched: Watched = {}

    # What the engine asks

    def wants(self, step: Step, position: Position) -> bool:
        if self._is_detached:
            return False
        return position == "error" or step.path in self.gate.paths or step.is_injected or step.on_success == "pause"

    def returns_to(self, occurrence: str, position: Position) -> bool:
        return (occurrence, position) in self._arrivals

    async def at(self, point: Point) -> Verdict:
        activation = point.activation
        frame = activation.frame
        here = (activation.occurrence, point.position)
        has_arrived = here in self._arrivals
        if self._is_detached or (point.is_replayed and not has_arrived):
            return PROCEED
        reasons: set[str] = set()
        hit: list[Breakpoint] = []
        problems: list[str] = []
        if has_arrived:
            del self._arrivals[here]
            reasons.add("step")
        elif not point.is_repeated:
            hit, problems = await self._hit_breakpoints(point)
            if self._is_detached:
                return PROCEED
            reasons |= {"failure" if each.position == "error" else "breakpoint" for each in hit}
        if point.will_run:
            if frame.id in self._pausing or _asks_for_pause(point):
                reasons.add("pause")
            if self._is_entry_due and point.position == "before":
                reasons.add("entry")
            if point.position == "before" and self._rests(activation):
                reasons.add("step")
            if point.position == "error" and activation.step.is_injected:
                reasons.add("failure")
        if not reasons:
            self._refresh_gate()
            return PROCEED
        for each in hit:
            self._use_up(each)
        verdict = await self._hold(point, reasons, [each.id for each in hit], problems)
        await take_watched(self._breakpoints.watching, activation, self._watched)
        return verdict

    def attach(self, run: Run) -> None:
        if self._run is not None:
            raise SessionInUse
        self._run = run
        if run.log is not None:
            self.log = run.log
            stops = (event.stop for event in run.log.read() if isinstance(event, Stopped))
            self._last_stop = max(stops, default=0)
        self._breakpoints.find_places(run.plan)

    def run_started(self) -> None:
        run = self._running()
        for breakpoint in self._breakpoints:
            self._append(BreakpointSet(run.now(), breakpoint.as_dict()))
        if self.watches:
            self._append(WatchesChanged(run.now(), self.watches))
        self._refresh_gate()

    def frames_opened(self, frames: Sequence[Frame], opener: str, *, is_waited_for: bool) -> None:
        parent = frames[0].parent if frames else None
        self._live_frames += len(frames)
        if parent is not None and is_waited_for:
            self._waiting[parent.id] = {frame.id for frame in frames}
        for frame in frames:
            self._frames[frame.id] = frame
            if parent is not None and parent.id in self._pausing:
                self._pausing.add(frame.id)
        if parent is not None and self._goals:
            children = [frame.id for frame in frames]
            self._goals = [new for goal in self._goals for new in at_fork(goal, parent.id, opener, children)]
            self._refresh_gate()

    def frame_ended(self, frame: Frame) -> None:
        self._pausing.discard(frame.id)
        self._live_frames -= 1
        parent = frame.parent.id if frame.parent is not None else None
        if parent in self._waiting:
            self._waiting[parent].discard(frame.id)
            if not self._waiting[parent]:
                del self._waiting[parent]
        if self._goals:
            kept = [after_frame(goal, frame.id, parent) for goal in self._goals]
            self._goals = [goal for goal in kept if goal is not None]
        self._refresh_gate()
        self._tell_if_all_stopped()

    def frame_rewound(self, frame: Frame) -> None:
        self.interventions += [event for event in self.log.read(len(self.log) - 1) if is_intervention(event)]
        self._frames = {name: each for name, each in self._frames.items() if frame not in each.lineage()[1:]}
        self._refresh_gate()

    async def run_ending(self, root: Activation, outcome: Outcome) -> Verdict:
        if not self.stop_at_end or self._is_detached or self._is_aborted:
            return PROCEED
        return await self._hold(Point(root, "after", outcome), {"completed"}, [], [])

    def run_ended(self, outcome: Outcome) -> None:
        self._is_ended = True
        self._goals.clear()
        self._news.set()

    # What a stop is

    async def _hold(self, point: Point, reasons: set[str], breakpoints: list[int], problems: list[str]) -> Verdict:
        run, activation = self._running(), point.activation
        frame, loop = activation.frame, asyncio.get_running_loop()
        self._last_stop += 1
        told = tuple(reason for reason in ORDER if reason in reasons)
        self._append(
            Stopped(
                run.now(),
                self._last_stop,
                frame.id,
                activation.step.path,
                activation.occurrence,
                point.position,
                told,
                tuple(breakpoints),
                tuple(problems),
            )
        )
        stop = describe(
            point, self._last_stop, told, len(self.log), breakpoints=tuple(breakpoints), problems=tuple(problems)
        )
        if self._previous(stop) is not None:
            stop.allowed = (*stop.allowed, "step_back")
        held = Held(stop, point, loop.create_future(), began_at=loop.time())
        self._held[stop.id] = held
        self._is_entry_due = False
        self._pausing.discard(frame.id)
        lineage, path = [each.id for each in frame.lineage()], activation.step.path
        self._goals = [goal for goal in self._goals if not is_ended_by(goal, frame.id, lineage, activation.base, path)]
        self._past.setdefault(frame.id, []).append(stop)
        activation.hold()
        self._lease(held, self.lease_seconds)
        self._refresh_gate()
        self._tell_if_all_stopped()
        self._unseen.append(stop)
        self._news.set()
        try:
            return await held.verdict
        except asyncio.CancelledError:
            if self._held.pop(stop.id, None) is not None:
                self._append(StopEnded(run.now(), stop.id, frame.id, run.why_cancelled(frame)))
            raise
        finally:
            held.release()

    def _resume(self, held: Held, verb: str, verdict: Verdict, goal: Goal | None = None) -> None:
        run, stop = self._running(), held.stop
        del self._held[stop.id]
        if goal is not None:
            self._goals.append(goal)
            self._refresh_gate()
        self._append(Resumed(run.now(), stop.id, stop.frame, verb))
        held.release()
        held.verdict.set_result(verdict)

    async def _hit_breakpoints(self, point: Point) -> tuple[list[Breakpoint], list[str]]:
        """The breakpoints to stop for, and what is wrong with any. All that fit are counted; log texts are written."""
        run, activation = self._running(), point.activation
        hits = await hits_at(self._breakpoints.at(activation.step.path), point, self._watched)
        due: list[Breakpoint] = []
        for hit in hits:
            breakpoint = hit.breakpoint
            if breakpoint not in self._breakpoints or not breakpoint.enabled:
                continue  # while its condition was worked out it went away, or stopped another frame for once
            breakpoint.hit_count += 1
            self._append(BreakpointHit(run.now(), breakpoint.id, breakpoint.hit_count, activation.occurrence))
            if hit.problem is not None:
                due.append(breakpoint)
            elif not breakpoint.is_due():
                continue
            elif hit.message is None:
                due.append(breakpoint)
            else:
                where = (activation.frame.id, activation.step.path, activation.occurrence)
                self._append(Logged(run.now(), breakpoint.id, *where, hit.message))
                self._use_up(breakpoint)
        return due, [hit.problem for hit in hits if hit.problem is not None]

    def _use_up(self, breakpoint: Breakpoint) -> None:
        if breakpoint.once:
            self._breakpoints.remove(breakpoint.id)
            self._append(BreakpointRemoved(self._running().now(), breakpoint.id))

    def _rests(self, activation: Activation) -> bool:
        frame, base, path = activation.frame.id, activation.base, activation.step.path
        return any(rests_at(goal, frame, base, path) for goal in self._goals)

    def _previous(self, stop: Stop) -> Stop | None:
        """The stop that this frame had before this one."""
        return next((each for each in reversed(self._past.get(stop.frame, ())) if each.id < stop.id), None)

    def _lease(self, held: Held, seconds: float) -> None:
        """Let the stop end by itself when nobody has attended to it for so long."""
        loop = asyncio.get_running_loop()
        if held.lease is not None:
            held.lease.cancel()
        held.lease_ends_at = min(loop.time() + seconds, held.began_at + LEASE_LIMIT_SECONDS)
        held.lease = loop.call_at(held.lease_ends_at, self._end_lease, held)

    def _end_lease(self, held: Held) -> None:
        if held.verdict.done():
            return
        run = self._running()
        self._append(LeaseEnded(run.now(), held.stop.id, self.on_lease_end))
        if self.on_lease_end == "continue":
            self._resume(held, "continue", held.proceed())
        else:
            self._is_aborted = True
            run.abort(f"nobody attended to stop {held.stop.id}")

    def _refresh_gate(self) -> None:
        is_open = self._goals or self._pausing or self._is_entry_due or self._arrivals or self._is_aborted
        if self._is_detached:
            self.gate.paths = frozenset()
        else:
            self.gate.paths = EVERYWHERE if is_open else self._breakpoints.gate()
        self.gate.epoch += 1

    def _tell_if_all_stopped(self) -> None:
        if self._held and self._live_frames == len(self._held) + len(self._waiting):
            self._append(AllStopped(self._running().now(), tuple(self._held)))

    def _append(self, event: AnyEvent) -> None:
        self.log.append(event)
        if is_intervention(event):
            self.interventions.append(event)

    def _running(self) -> Run:
        if self._run is None or self._is_ended:
            raise NotRunning
        return self._run


def _asks_for_pause(point: Point) -> bool:
    """Whether the step itself was written to stop here: `on_success: pause`, `on_failure: pause`."""
    step = point.activation.step
    if point.position == "before" or point.is_repeated:
        return False
    return (step.on_failure if point.position == "error" else step.on_success) == "pause"
