"""The state of a run: a fold over its events, and nothing else."""

from collections.abc import Iterable

from msgspec import Struct, field

from pitstop.events.counting import frames_after, frames_again, opened_still
from pitstop.events.outcome import Outcome, Status
from pitstop.events.types import (
    INTERVENTIONS,
    Aborted,
    AllContinued,
    AnyEvent,
    BreakpointHit,
    BreakpointRemoved,
    BreakpointSet,
    Detached,
    Event,
    FrameEnded,
    FrameOpened,
    LeaseEnded,
    OutcomeForced,
    PauseAsked,
    PauseCancelled,
    Resumed,
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

    @property
    def status(self) -> str:
        if self.outcome is not None:
            return self.outcome.status.value
        return "interrupted" if self.is_interrupted else "running"


class FrameView(Struct):
    """One frame as the log tells it: running, pausing, paused or done."""

    id: str
    name: str
    parent: str | None
    state: str = "running"
    ended_because: str | None = None


class RunView(Struct):
    """A run as its log tells it. `apply` takes the next event; unknown kinds change nothing but the count.

    A run that is started again goes on with the same session: stops last, and so do pauses that were asked for.
    """

    last_event: int = 0
    plan: str = ""
    status: str = "pending"
    outcome: Outcome | None = None
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
    is_detached: bool = False
    had_session: bool = False
    last_stop: int = 0
    timed_out_stop: int | None = None

    @property
    def intervened(self) -> bool:
        return bool(self.interventions)

    def apply(self, event: AnyEvent) -> None:
        self.last_event += 1
        if is_intervention(event):
            self.interventions.append(event)
        match event:
            case StepStarted():
                before = self.steps.get(event.occurrence)
                step = StepView(event.occurrence, event.step, event.frame, event.at)
                is_again = before is not None and before.outcome is None  # it was interrupted
                step.started_event = before.started_event if before is not None and is_again else self.last_event
                self.steps[event.occurrence] = step
                self.running.setdefault(event.frame, {})[event.occurrence] = event.step
            case StepFinished():
                self._finish(event)
                self.running.get(event.frame, {}).pop(event.occurrence, None)
            case RunStarted():
                self.plan, self.status, self.outcome = event.plan, "running", None
                self.frames_before |= self.frames  # of a process that is gone, if it is not the first start
                self.frames, self.running = {}, {}
            case RunEnded():
                self.status, self.outcome = event.outcome.status.value, event.outcome
            case FrameOpened():
                self.opened.setdefault(event.frame, (self.last_event, event.parent))
                self.frames[event.frame] = FrameView(event.frame, event.name, event.parent, self._first_state(event))
            case FrameEnded():
                frame = self.frames[event.frame]
                frame.state, frame.ended_because = "done", event.reason
            case StepRetried():
                self.steps[event.occurrence].is_retried = True
            case StepInterrupted():
                self.steps[event.occurrence].is_interrupted = True
            case OutcomeForced():
                self._finish(event)
            case Rewound():
                self._rewind(event)
            case _:
                self._apply_debugger(event)

    def _apply_debugger(self, event: AnyEvent) -> None:
        match event:
            case Stopped():
                self.stops[event.stop] = event
                self.last_stop = event.stop
                self.frames[event.frame].state = "paused"
            case Resumed() | StopEnded():
                stop = self.stops.pop(event.stop)
                if stop.position == "before":
                    held = self.held_before.get(stop.occurrence, 0.0)
                    self.held_before[stop.occurrence] = held + event.at - stop.at
                frame = self.frames.get(event.frame)  # none while nothing runs, before it is opened again
                if frame is not None and frame.state == "paused":
                    frame.state = "running"
            case PauseAsked():
                for each in (*self.frames.values(), *self.frames_before.values()):
                    if each.state == "running" and event.frame in (None, each.id):
                        each.state = "pausing"
            case PauseCancelled():
                self._forget_pauses(event.frame)
            case BreakpointSet():
                self.breakpoints[int(event.breakpoint["id"])] = {"hit_count": 0, **event.breakpoint}
            case BreakpointRemoved():
                del self.breakpoints[event.breakpoint]
            case BreakpointHit():
                self.breakpoints[event.breakpoint]["hit_count"] = event.hits
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
                self.breakpoints, self.watches, self.is_detached = {}, (), False
                self._forget_pauses()
            case _:
                pass

    def _first_state(self, event: FrameOpened) -> str:
        """A frame that is opened again after a restart is as it was; a new one pauses with the one that opened it."""
        before = self.frames_before.pop(event.frame, None)
        if any(stop.frame == event.frame for stop in self.stops.values()):
            return "paused"
        if before is not None:
            return "pausing" if before.state == "pausing" else "running"
        opener = self.frames.get(event.parent) if event.parent is not None else None
        return "pausing" if opener is not None and opener.state == "pausing" else "running"

    def _forget_pauses(self, only: str | None = None) -> None:
        for frame in (*self.frames.values(), *self.frames_before.values()):
            if frame.state == "pausing" and only in (None, frame.id):
                frame.state = "running"

    def _finish(self, event: StepFinished | OutcomeForced) -> None:
        step = self.steps.get(event.occurrence)
        if step is None:
            step = self.steps[event.occurrence] = StepView(event.occurrence, event.step, event.frame, event.at)
            step.started_event = self.last_event
        step.ended_at, step.outcome, step.ended_event = event.at, event.outcome, self.last_event

    def _rewind(self, event: Rewound) -> None:
        cut = frames_after(self.opened, event.point_frame, event.frame, event.after)
        for name, step in list(self.steps.items()):
            if step.frame in cut and step.started_event > event.after:
                del self.steps[name]
            elif step.ended_event > event.after and (step.frame in cut or step.status == Status.CANCELLED):
                step.ended_at, step.outcome, step.is_retried = None, None, False
        for running in self.running.values():
            for name in [name for name in running if name not in self.steps or self.steps[name].outcome is not None]:
                del running[name]
        for name in frames_again(self.opened, event.frame, event.since) - {event.frame}:
            self.frames.pop(name, None)
            self.frames_before.pop(name, None)
        self.opened = opened_still(self.opened, cut, event)


def is_intervention(event: AnyEvent) -> bool:
    """Whether somebody had a hand in it: a run with one of these did not pass by itself."""
    return isinstance(event, INTERVENTIONS) or (isinstance(event, StepRetried) and event.by_hand)


def interventions_in(events: Iterable[AnyEvent]) -> tuple[Event, ...]:
    return tuple(event for event in events if is_intervention(event))


def fold(events: Iterable[AnyEvent]) -> RunView:
    """The state that these events add up to."""
    view = RunView()
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
