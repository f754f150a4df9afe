"""The engine's side of a session: at each point, go on or hold the frame until somebody decides."""

import asyncio
from collections.abc import Iterable, Sequence

from pitstop.debugger.breakpoints import Breakpoint
from pitstop.debugger.matching import hits_at, take_watched
from pitstop.debugger.remains import remains_of
from pitstop.debugger.returning import Returning
from pitstop.debugger.stepping import after_frame, at_fork, is_ended_by, rests_at
from pitstop.debugger.stops import Held, describe
from pitstop.engine.calls import host_of
from pitstop.engine.frame import MAIN, Activation, Frame, Point, RunContext
from pitstop.engine.verdict import PROCEED, Position, Verdict
from pitstop.errors import SessionInUse
from pitstop.events.outcome import Outcome
from pitstop.events.types import (
    AnyEvent,
    BreakpointHit,
    BreakpointRemoved,
    BreakpointSet,
    BreakpointsMuted,
    Logged,
    Rewound,
    SessionOpened,
    ShellOpened,
    StepInjected,
    StepStopped,
    StopEnded,
    Stopped,
    WatchesChanged,
)
from pitstop.events.view import fold, interventions_in
from pitstop.plan.plan import Step

ORDER = ("entry", "pause", "interrupted", "breakpoint", "failure", "escalated", "step", "completed")


class Gatekeeper(Returning):
    """A hook: knows the frames, the breakpoints and the steps on their way, and holds whom it has to."""

    # What the engine asks

    def can_pause(self) -> bool:
        return not self._is_detached

    def wants_snapshot(self, step: Step) -> bool:
        return self.snapshots and not self._is_detached

    def wants(self, step: Step, position: Position) -> bool:
        if self._is_detached and not self._returning:
            return False
        return position == "error" or step.path in self.gate.paths or step.is_injected or step.on_success == "pause"

    def returns_to(self, occurrence: str, position: Position) -> bool:
        here = (occurrence, position)
        return here in self._arrivals or here in self._returning or here in self._revisits

    async def at(self, point: Point) -> Verdict:
        activation = point.activation
        frame = activation.frame
        here = (activation.occurrence, point.position)
        if self._remains is not None:
            await self._revisit(point)
            if here in self._returning:
                return await self._hold_again(point, self._returning[here])
        has_arrived = here in self._arrivals
        if self._is_detached or (point.is_replayed and not has_arrived):
            return PROCEED
        reasons: set[str] = set()
        hit: list[Breakpoint] = []
        problems: list[str] = []
        is_passed = self._passed.pop(here, None) is not None
        was_passed = is_passed or here in self._begun
        if has_arrived:
            del self._arrivals[here]
            reasons.add("step")
            problem, self._running().workspace_problem = self._running().workspace_problem, None
            problems += [problem] if problem is not None else []
        elif not point.is_repeated and not was_passed:
            hit, problems = await self._hit_breakpoints(point)
            if self._is_detached:
                return PROCEED
            reasons |= {"failure" if each.position == "error" else "breakpoint" for each in hit}
        if point.reason is not None:
            reasons.add(point.reason)
        if point.will_run:
            if frame.id in self._pausing or _asks_for_pause(point):
                reasons.add("pause")
            if self._is_entry_due and point.position == "before":
                reasons.add("entry")
            is_undecided = point.is_interrupted and not is_passed and not point.is_repeated
            if is_undecided and activation.step.on_interrupt == "pause":
                reasons.add("interrupted")
            if point.position == "before" and not was_passed and self._rests(activation):
                reasons.add("step")
            if point.position == "error" and (activation.step.is_injected or here[0] in self._stopped_steps):
                reasons.add("failure")
                self._stopped_steps.discard(here[0])
        if not reasons:
            self._refresh_gate()
            return PROCEED
        for each in hit:
            self._use_up(each)
        if self.snapshots and not has_arrived:  # whoever stops here may change files
            problem = await self._running().keep_workspace(activation, point.position)
            if self._is_detached:
                return PROCEED
            problems += [problem] if problem is not None else []
        verdict = await self._hold(point, reasons, hit, problems)
        await take_watched(self._breakpoints.watching, activation, self._watched)
        return verdict

    def attach(self, run: RunContext) -> None:
        """Become the run's hook; where its log tells of a session, as that one was when its process ended."""
        if self._run is not None:
            raise SessionInUse
        self._run = run
        if run.log is not None:
            self.log = run.log
            events = run.log.read()
            self._last_stop = max((event.stop for event in events if isinstance(event, Stopped)), default=0)
            self._last_shell = max((event.shell for event in events if isinstance(event, ShellOpened)), default=0)
            self._last_injected = sum(isinstance(event, StepInjected) for event in events)
            self.interventions = list(interventions_in(events))
            self._stopped_steps = stopped_steps_in(events[run.carried_over :])
            self._remains = remains_of(events, run.carried_over)
        if self._remains is not None:
            self._take_up(run, self._remains)
        self._breakpoints.find_places(run.plan)
        self._know(run.frames.values())

    def run_started(self) -> None:
        self._is_started = True
        run, remains = self._running(), self._remains
        self._news.set()
        if remains is None:
            for left in fold(self.log.read()).stops.values():
                self._append(StopEnded(run.now(), left.stop, left.frame, "another session started"))
            options = (self.stop_at_entry, self.stop_at_end, self.lease_seconds, self.on_lease_end)
            self._append(SessionOpened(run.now(), *options, self.snapshots))
        told = remains.view.breakpoints if remains is not None else {}
        now = run.now()
        for shown in self._breakpoints.shown() if run.lost is None else ():
            if not told or told.get(shown["id"]) != {"hit_count": 0, **shown}:
                self.log.append(BreakpointSet(now, shown))
        if self._breakpoints.is_muted != (remains is not None and remains.view.is_muted):
            self._append(BreakpointsMuted(run.now(), self._breakpoints.is_muted))
        if self.watches != (remains.view.watches if remains is not None else ()):
            self._append(WatchesChanged(run.now(), self.watches))
        if remains is not None:
            self._go_on(run, remains)
        self._refresh_gate()

    def _know(self, frames: Iterable[Frame]) -> None:
        for frame in frames:
            self._frames[frame.id] = frame
            if not frame.is_done:
                self._live_frames += 1
                if frame.parent is not None and frame.is_waited_for:
                    self._waiting.setdefault(frame.parent.id, set()).add(frame.id)

    def frames_opened(self, frames: Sequence[Frame], opener: str) -> None:
        parent = frames[0].parent if frames else None
        self._know(frames)
        for frame in frames:
            was_open = self._reopening.pop(frame.id, None) is not None
            if parent is not None and parent.id in self._pausing and not was_open:
                self._pausing.add(frame.id)
        children = [frame.id for frame in frames if frame.id not in self._forked]
        self._forked -= {frame.id for frame in frames}
        if parent is not None and self._goals and children:
            self._goals = [new for goal in self._goals for new in at_fork(goal, parent.id, opener, children)]
            self._refresh_gate()

    def frame_ended(self, frame: Frame) -> None:
        if self._returning:
            left = [each for each in self._returning.values() if frame.id in (each.event.frame, MAIN)]
            reason = frame.cancel_reason or self._running().abort_reason or "the run did not reach its step again"
            self._end_returning(left, reason)
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

    def frame_rewound(self, frame: Frame, event: Rewound) -> None:
        self.interventions.append(event)
        counting = self._running().what_counts()
        stay = {name for name, (number, _) in counting.opened.items() if number <= event.since}
        self._frames = {
            name: each for name, each in self._frames.items() if name in stay or frame not in each.lineage()[1:]
        }
        if frame.id == MAIN and not event.since:
            self._is_aborted = False
        under = counting.under(frame.id) - stay
        self._arrivals = {place: where for place, where in self._arrivals.items() if where not in under}
        if not self._is_detached:
            self._arrivals[event.occurrence, event.position] = event.point_frame
        left = [each for each in self._returning.values() if each.event.frame in under]
        self._end_returning(left, f"the run was rewound in {frame.name}")
        self._forked -= under
        self._reopening = {name: state for name, state in self._reopening.items() if name not in under}
        self._refresh_gate()

    async def run_ending(self, root: Activation, outcome: Outcome) -> Verdict:
        if not self.stop_at_end or self._is_detached or self._is_aborted:
            return PROCEED
        point, here = Point(root, "after", outcome), ("", "after")
        await self._revisit(point)
        if here in self._returning:
            return await self._hold_again(point, self._returning[here])
        if self._passed.pop(here, None) is not None:
            return PROCEED
        return await self._hold(point, {"completed"}, [], [])

    def run_ended(self, outcome: Outcome) -> None:
        self._is_ended = True
        self._goals.clear()
        self._news.set()

    # What a stop is

    async def _hold(self, point: Point, reasons: set[str], hit: Sequence[Breakpoint], problems: list[str]) -> Verdict:
        run, activation = self._running(), point.activation
        frame, base, path, occurrence = activation.frame, activation.base, activation.step.path, activation.occurrence
        if self._returning:
            left = [each for each in self._returning.values() if each.event.frame == frame.id]
            self._end_returning(left, "the run did not reach its step again")
        lineage = [each.id for each in frame.lineage()]
        names = (path, occurrence)
        ended = tuple([goal for goal in self._goals if is_ended_by(goal, frame.id, lineage, base, names)])
        self._goals = [goal for goal in self._goals if goal not in ended]
        self._last_stop += 1
        told = tuple([reason for reason in ORDER if reason in reasons])
        where = (frame.id, path, occurrence, point.position)
        breakpoints = tuple([each.id for each in hit])
        notes = tuple([each.note for each in hit if each.note is not None])
        event = Stopped(run.now(), self._last_stop, *where, told, breakpoints, tuple(problems), notes)
        self._append(event)
        stop = describe(point, event, len(self.log))
        loop = asyncio.get_running_loop()
        held = Held(stop, point, loop.create_future(), began_at=loop.time(), ended=ended)
        return await self._keep(held, self.lease_seconds)

    async def _hit_breakpoints(self, point: Point) -> tuple[list[Breakpoint], list[str]]:
        """The breakpoints to stop for, and what is wrong with any. All that fit are counted; log texts are written."""
        run, activation = self._running(), point.activation
        hits = await hits_at(self._candidates(activation), point, self._watched)
        due: list[Breakpoint] = []
        place = (activation.occurrence, point.position)
        counted = self._remains.counted.pop(place, ()) if self._remains is not None else ()
        for hit in hits:
            breakpoint = hit.breakpoint
            if breakpoint not in self._breakpoints or not breakpoint.enabled:
                continue  # while its condition was worked out it went away, or stopped another frame for once
            if breakpoint.id not in counted:
                breakpoint.hit_count += 1
                self._append(BreakpointHit(run.now(), breakpoint.id, breakpoint.hit_count, *place))
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

    def _candidates(self, activation: Activation) -> Iterable[Breakpoint]:
        host = host_of(activation)
        if host is activation:
            return self._breakpoints.at(activation.step.path, activation.occurrence)
        return self._breakpoints.at_call(host.step.path, host.occurrence)

    def _use_up(self, breakpoint: Breakpoint) -> None:
        if breakpoint.once:
            self._breakpoints.remove(breakpoint.id)
            self._append(BreakpointRemoved(self._running().now(), breakpoint.id))

    def _rests(self, activation: Activation) -> bool:
        frame, base, names = activation.frame.id, activation.base, (activation.step.path, activation.occurrence)
        return any(rests_at(goal, frame, base, names) for goal in self._goals)


def stopped_steps_in(events: Sequence[AnyEvent]) -> set[str]:
    """The occurrences that were stopped and have not paused at their failure yet."""
    stopped: set[str] = set()
    for event in events:
        if isinstance(event, StepStopped):
            stopped.add(event.occurrence)
        elif isinstance(event, Stopped):
            stopped.discard(event.occurrence)
    return stopped


def _asks_for_pause(point: Point) -> bool:
    """Whether the step itself was written to stop here: `on_success: pause`, `on_failure: pause`."""
    step = point.activation.step
    if point.position == "before" or point.is_repeated:
        return False
    return (step.on_failure if point.position == "error" else step.on_success) == "pause"
