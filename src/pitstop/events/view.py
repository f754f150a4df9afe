"""The state of a run: a fold over its events, and nothing else."""

from collections.abc import Iterable, Iterator

from msgspec import Struct, field
from msgspec.structs import replace as copy

from pitstop.events.counting import frames_after, frames_again, opened_still
from pitstop.events.durations import Clock, LiveFrame, paused_in
from pitstop.events.outcome import Outcome, Status
from pitstop.events.types import (
    INTERVENTIONS,
    Aborted,
    AllContinued,
    AllStopped,
    AnyEvent,
    BreakpointHit,
    BreakpointRemoved,
    BreakpointSet,
    BreakpointsMuted,
    Detached,
    Event,
    FrameEnded,
    FrameOpened,
    LeaseEnded,
    OutcomeForced,
    PauseAsked,
    PauseCancelled,
    Resumed,
    RewindUndone,
    Rewound,
    RunEnded,
    RunStarted,
    SessionOpened,
    ShellClosed,
    StepFinished,
    StepInjected,
    StepInterrupted,
    StepRetried,
    StepStarted,
    StepUninjected,
    StopEnded,
    Stopped,
    WatchesChanged,
)
from pitstop.plan.addresses import is_call


class StepView(Struct):
    """One occurrence as the log tells it."""

    occurrence: str
    step: str
    frame: str
    started_at: float | None = None
    ended_at: float | None = None
    outcome: Outcome | None = None
    is_retried: bool = False
    is_interrupted: bool = False  # its process ended under it, and it has not begun again yet
    started_event: int = 0
    ended_event: int = 0
    clock: Clock = field(default_factory=lambda: Clock(0.0, 0.0))

    @property
    def status(self) -> str:
        if self.outcome is not None:
            return self.outcome.status.value
        return "interrupted" if self.is_interrupted else "paused" if self.clock.is_paused else "running"


class FrameView(Struct):
    """One frame as the log tells it. `own_state` is without regard to the frames that it waits for."""

    id: str
    name: str
    parent: str | None
    opener: str | None
    clock: Clock
    own_state: str = "running"
    ended_because: str | None = None

    @property
    def state(self) -> str:
        """Running, pausing, paused or done. A frame is paused, too, when all that it waits for is."""
        return "paused" if self.clock.is_paused and self.own_state != "done" else self.own_state


_Undone = tuple[Rewound, list[StepView], dict[str, tuple[int, str | None]]]  # a rewind, its steps, all frames before


class RunView(Struct):
    """A run as its log tells it. `apply` takes the next event; unknown kinds change nothing but the count.

    A run that is started again goes on with the same session: stops last, and so do pauses that were asked for. The
    first `carried_over` events are those of another run.
    """

    carried_over: int = 0
    last_event: int = 0
    plan: str = ""
    status: str = "pending"
    outcome: Outcome | None = None
    clock: Clock | None = None  # of the run
    last_at: float = 0.0  # when the last event was
    is_own: bool = False  # whether the events that follow are those of this run, and not of the one it goes on from
    has_paused: bool = False  # whether anything is paused as a whole
    waiting_frames: set[str] = field(default_factory=set)  # while anything is paused: those at a stop, or with frames
    steps: dict[str, StepView] = field(default_factory=dict)
    frames: dict[str, FrameView] = field(default_factory=dict)
    opened: dict[str, tuple[int, str | None]] = field(default_factory=dict)  # each frame's first event, and parent
    frames_before: dict[str, FrameView] = field(default_factory=dict)  # at the last start, until each is opened again
    running: dict[str, dict[str, str]] = field(default_factory=dict)  # by frame, open occurrences and their steps
    stops: dict[int, Stopped] = field(default_factory=dict)
    held_before: dict[str, float] = field(default_factory=dict)  # seconds that each occurrence was paused before it
    breakpoints: dict[int, dict[str, object]] = field(default_factory=dict)
    watches: tuple[str, ...] = ()
    interventions: list[Event] = field(default_factory=list)
    injected: dict[str, StepInjected] = field(default_factory=dict)  # by path, those that ran or may run yet
    closed_shells: dict[int, ShellClosed] = field(default_factory=dict)  # by the number of the shell
    is_muted: bool = False
    is_detached: bool = False
    had_session: bool = False
    last_stop: int = 0
    timed_out_stop: int | None = None
    _undone: dict[int, _Undone] = field(default_factory=dict)  # by the number of each rewind

    @property
    def intervened(self) -> bool:
        return bool(self.interventions)

    def apply(self, event: AnyEvent) -> None:
        self.last_event += 1
        last_at, self.last_at = self.last_at, event.at
        if is_intervention(event):
            self.interventions.append(event)
        match event:
            case StepStarted():
                self._begin_step(event)
            case StepFinished():
                self._finish(event)
                self.running.get(event.frame, {}).pop(event.occurrence, None)
            case RunStarted():
                self._start(event, last_at)
            case RunEnded():
                self.status, self.outcome = event.outcome.status.value, event.outcome
                for clock in self._clocks():
                    clock.end(event.at)
            case FrameOpened():
                self.opened.setdefault(event.frame, (self.last_event, event.parent))
                self._open_frame(event)
            case FrameEnded():
                frame = self.frames[event.frame]
                frame.own_state, frame.ended_because = "done", event.reason
                frame.clock.end(event.at)
            case StepRetried():
                self.steps[event.occurrence].is_retried = True
            case StepInterrupted():
                self.steps[event.occurrence].is_interrupted = True
            case OutcomeForced():
                if not is_call(event.occurrence):
                    self._finish(event)
            case RewindUndone():
                self._undo_rewind(event)
                self._rewind(event)
            case Rewound():
                self._undone[self.last_event] = self._rewind(event)
            case _:
                self._apply_debugger(event)
        if (self.stops or self.has_paused) and self._can_change_paused(event):
            self._set_paused(event.at)

    def _start(self, event: RunStarted, last_at: float) -> None:
        """Begin the run, or go on with it in another process."""
        self.plan, self.status, self.outcome = event.plan, "running", None
        is_first = not self.is_own and self.last_event > self.carried_over
        self.is_own = self.is_own or is_first
        if self.clock is None:
            self.clock = Clock(event.at, event.at)
        for clock in self._clocks():
            clock.pass_to(last_at if event.left_at is None else max(last_at, min(event.left_at, event.at)))
            clock.go_on(event.at)
        if is_first and self.carried_over:
            self._begin_again(event.at)
        self.frames_before |= self.frames  # of a process that is gone, if it is not the first start
        self.frames = {}

    def _begin_again(self, at: float) -> None:
        """What another run had begun begins in this one now."""
        self.clock = Clock(at, at)
        for frame in self.frames.values():
            frame.clock = Clock(at, at)
        for step in self._open_steps():
            step.clock, step.started_at = Clock(at, at), at

    def _open_frame(self, event: FrameOpened) -> None:
        before = self.frames_before.get(event.frame)
        clock = Clock(event.at, event.at) if before is None else before.clock
        clock.go_on(event.at)
        state = self._first_state(event)
        self.frames[event.frame] = FrameView(event.frame, event.name, event.parent, event.step, clock, state)

    def _open_steps(self) -> Iterator[StepView]:
        """Those that have begun and not ended."""
        for names in self.running.values():
            yield from (self.steps[name] for name in names)

    def _clocks(self) -> Iterator[Clock]:
        """Those that go on."""
        if self.clock is not None:
            yield self.clock
        yield from (frame.clock for frame in self.frames.values() if frame.own_state != "done")
        yield from (step.clock for step in self._open_steps())

    def _can_change_paused(self, event: AnyEvent) -> bool:
        """False for a step that starts or ends in a frame that is not waiting: such a frame runs before and after."""
        if isinstance(event, (StepStarted, StepFinished)):
            return event.frame in self.waiting_frames
        return not isinstance(event, AllStopped)  # which only says what the stops say

    def _set_paused(self, at: float) -> None:
        """Let the clocks, and with them the states, follow the stops."""
        at_stop = {stop.frame for stop in self.stops.values()}
        live = [
            LiveFrame(each.id, each.parent, each.opener, tuple(self.running.get(each.id, ())), each.id in at_stop)
            for each in self.frames.values()
            if each.own_state != "done"
        ]
        frames, steps = paused_in(live)
        for frame in live:
            self.frames[frame.id].clock.set_paused(frame.id in frames, at)
            for name in frame.steps:
                self.steps[name].clock.set_paused(name in steps, at)
        if self.clock is not None:
            self.clock.set_paused(any(frame.parent is None and frame.id in frames for frame in live), at)
        self.has_paused = bool(frames or steps)
        self.waiting_frames = at_stop.union(frame.parent for frame in live if frame.parent is not None)

    def _apply_debugger(self, event: AnyEvent) -> None:
        match event:
            case Stopped():
                self.stops[event.stop] = event
                self.last_stop = event.stop
                self.frames[event.frame].own_state = "paused"
                ended = self.steps.get(event.occurrence)
                if ended is not None and event.position != "before":
                    ended.clock.pass_to(event.at)  # a step that gave up has not ended
                    ended.clock.go_on(event.at, is_paused=True)
            case Resumed() | StopEnded():
                self._end_stop(self.stops.pop(event.stop), event.at)
                frame = self.frames.get(event.frame)  # none while nothing runs, before it is opened again
                if frame is not None and frame.own_state == "paused":
                    frame.own_state = "running"
            case PauseAsked():
                for each in (*self.frames.values(), *self.frames_before.values()):
                    if each.own_state == "running" and event.frame in (None, each.id):
                        each.own_state = "pausing"
            case PauseCancelled():
                self._forget_pauses(event.frame)
            case BreakpointSet():
                self.breakpoints[int(event.breakpoint["id"])] = {"hit_count": 0, **event.breakpoint}
            case BreakpointRemoved():
                del self.breakpoints[event.breakpoint]
            case BreakpointHit():
                self.breakpoints[event.breakpoint]["hit_count"] = event.hits
            case BreakpointsMuted():
                self.is_muted = event.muted
            case WatchesChanged():
                self.watches = event.watches
            case AllContinued() | Detached() | Aborted():
                self.is_detached = self.is_detached or isinstance(event, Detached)
                self._forget_pauses()
            case LeaseEnded():
                self.timed_out_stop = event.stop
            case StepInjected():
                self.injected[event.step] = event
            case StepUninjected():
                del self.injected[event.step]
            case ShellClosed():
                self.closed_shells[event.shell] = event
            case SessionOpened():
                self.had_session = True
                self.breakpoints, self.watches, self.is_muted, self.is_detached = {}, (), False, False
                self._forget_pauses()
            case _:
                pass

    def _first_state(self, event: FrameOpened) -> str:
        """A frame that is opened again after a restart is as it was; a new one pauses with the one that opened it."""
        before = self.frames_before.pop(event.frame, None)
        if any(stop.frame == event.frame for stop in self.stops.values()):
            return "paused"
        if before is not None:
            return "pausing" if before.own_state == "pausing" else "running"
        opener = self.frames.get(event.parent) if event.parent is not None else None
        return "pausing" if opener is not None and opener.own_state == "pausing" else "running"

    def _forget_pauses(self, only: str | None = None) -> None:
        for frame in (*self.frames.values(), *self.frames_before.values()):
            if frame.own_state == "pausing" and only in (None, frame.id):
                frame.own_state = "running"

    def _begin_step(self, event: StepStarted) -> None:
        before = self.steps.get(event.occurrence)
        step = StepView(event.occurrence, event.step, event.frame, event.at)
        step.started_event = self.last_event
        step.clock = self._new_clock(event.occurrence, event.at)
        if before is not None and before.outcome is None:  # it was interrupted
            step.started_event = before.started_event
            step.clock = before.clock if before.started_event > self.carried_over else step.clock
            step.clock.go_on(event.at)
        self.steps[event.occurrence] = step
        self.running.setdefault(event.frame, {})[event.occurrence] = event.step

    def _new_clock(self, occurrence: str, at: float) -> Clock:
        """Of a step that begins, with the time at the stop before it."""
        waited = self.held_before.get(occurrence, 0.0)
        return Clock(at - waited, at, paused_seconds=waited)

    def _end_stop(self, stop: Stopped, at: float) -> None:
        step = self.steps.get(stop.occurrence)
        if stop.position == "before":
            held = self.held_before.get(stop.occurrence, 0.0)
            self.held_before[stop.occurrence] = held + at - stop.at
        elif step is not None and step.outcome is not None:
            step.clock.end(at)

    def _finish(self, event: StepFinished | OutcomeForced) -> None:
        step = self.steps.get(event.occurrence)
        if step is None:
            step = self.steps[event.occurrence] = StepView(event.occurrence, event.step, event.frame, event.at)
            step.started_event = self.last_event
            step.clock = self._new_clock(event.occurrence, event.at)
        step.clock.end(event.at)
        step.ended_at, step.outcome, step.ended_event = event.at, event.outcome, self.last_event

    def _undo_rewind(self, event: RewindUndone) -> None:
        """Let what a rewind has undone count again, and what its frames did since then no longer."""
        if event.undoes not in self._undone:
            return
        rewound, steps, opened = self._undone.pop(event.undoes)
        self._rewind(copy(rewound, at=event.at, after=event.undoes))
        steps_by_name = {**self.steps, **{step.occurrence: step for step in steps}}
        self.steps = dict(sorted(steps_by_name.items(), key=lambda each: each[1].started_event))
        self.opened = {**self.opened, **opened}
        for step in steps:
            if step.outcome is None:
                step.clock.go_on(event.at)
                self._reopen_step(step)

    def _rewind(self, event: Rewound) -> _Undone:
        """Undo what does not count any more; returns it, as it was."""
        undone, opened = [], self.opened
        cut = frames_after(self.opened, event.point_frame, event.frame, event.after)
        for name, step in list(self.steps.items()):
            if step.frame in cut and max(step.started_event, step.ended_event) > event.after:
                undone.append(copy(step, clock=copy(step.clock)))
            if step.frame in cut and step.started_event > event.after:
                del self.steps[name]
            elif step.ended_event > event.after and (step.frame in cut or step.status == Status.CANCELLED):
                step.ended_at, step.outcome, step.is_retried = None, None, False
                step.clock.go_on(event.at)
                self._reopen_step(step)
        for running in self.running.values():
            for name in [name for name in running if name not in self.steps or self.steps[name].outcome is not None]:
                del running[name]
        for name in frames_again(self.opened, event.frame, event.since) - {event.frame}:
            self.frames.pop(name, None)
            self.frames_before.pop(name, None)
        self.opened = opened_still(self.opened, cut, event)
        return event, undone, opened

    def _reopen_step(self, step: StepView) -> None:
        """Put it among the open steps of its frame again, from the outermost to the innermost."""
        names = {**self.running.get(step.frame, {}), step.occurrence: step.step}
        known = {name: path for name, path in names.items() if name in self.steps}
        self.running[step.frame] = dict(sorted(known.items(), key=lambda each: self.steps[each[0]].started_event))


def is_intervention(event: AnyEvent) -> bool:
    """Whether somebody had a hand in it: a run with one of these did not pass by itself."""
    return type(event) in INTERVENTIONS or (type(event) is StepRetried and event.by_hand)


def interventions_in(events: Iterable[AnyEvent]) -> tuple[Event, ...]:
    return tuple(event for event in events if is_intervention(event))


def fold(events: Iterable[AnyEvent], carried_over: int = 0) -> RunView:
    """The state that these events add up to; the first of them may be those of another run."""
    view = RunView(carried_over)
    for event in events:
        view.apply(event)
    return view


def failed_steps(view: RunView) -> list[StepView]:
    """The occurrences whose failure counts, in the order they ended."""
    return [
        step
        for step in view.steps.values()
        if step.outcome is not None and step.outcome.is_failure and not step.is_retried
    ]
