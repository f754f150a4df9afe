"""Every event: a small fact in the past tense, never renamed; readers ignore kinds they do not know."""

from typing import Any

import msgspec

from pitstop.events.outcome import Outcome


class Event(msgspec.Struct, frozen=True, gc=False, tag_field="kind"):
    """A fact with its time, in seconds since the epoch. Its number is its place in the log, from 1.

    Without `gc` a long log costs the collector nothing; an event is in no cycle, for it is made last and never changed.
    """

    at: float


# The life of a run


class RunStarted(Event, frozen=True, gc=False, tag="run.started"):
    """Told again by each process that goes on with the run; it knows perhaps how long the one before was there."""

    plan: str
    inputs: dict[str, Any]
    left_at: float | None = None


class RunEnded(Event, frozen=True, gc=False, tag="run.ended"):
    outcome: Outcome


class FrameOpened(Event, frozen=True, gc=False, tag="frame.opened"):
    frame: str
    name: str
    parent: str | None
    step: str | None  # the occurrence that opened it


class FrameEnded(Event, frozen=True, gc=False, tag="frame.ended"):
    frame: str
    reason: str | None = None  # why it was cancelled, if it was


class StepStarted(Event, frozen=True, gc=False, tag="step.started"):
    frame: str
    step: str
    occurrence: str


class StepFinished(Event, frozen=True, gc=False, tag="step.finished"):
    frame: str
    step: str
    occurrence: str
    outcome: Outcome


class StepRetried(Event, frozen=True, gc=False, tag="step.retried"):
    """The occurrence's outcome does not count: another attempt follows."""

    frame: str
    step: str
    occurrence: str
    by_hand: bool = False


class StepInterrupted(Event, frozen=True, gc=False, tag="step.interrupted"):
    """The occurrence was at work when the run's process ended: nobody knows how far it came."""

    frame: str
    step: str
    occurrence: str


class StepRouted(Event, frozen=True, gc=False, tag="step.routed"):
    """A conditional edge chose what comes after the occurrence."""

    frame: str
    step: str
    occurrence: str
    targets: tuple[str, ...]


class StepNoted(Event, frozen=True, gc=False, tag="step.noted"):
    """Something that a step reports while it runs: `note` names it, `data` is JSON."""

    frame: str
    occurrence: str
    note: str
    data: dict[str, Any]


class SnapshotTaken(Event, frozen=True, gc=False, tag="snapshot.taken"):
    """The workspace is kept as it was when the frame came to this place."""

    frame: str
    step: str
    occurrence: str
    snapshot: str
    position: str = "before"


# What a debugger did to it


class SessionOpened(Event, frozen=True, gc=False, tag="debug.session_opened"):
    """A session that knows nothing of one before it: what follows is its own, over every restart of the run."""

    stop_at_entry: bool
    stop_at_end: bool
    lease_seconds: float
    on_lease_end: str
    snapshots: bool = False


class Stopped(Event, frozen=True, gc=False, tag="debug.stopped"):
    stop: int
    frame: str
    step: str
    occurrence: str
    position: str
    reasons: tuple[str, ...]
    breakpoints: tuple[int, ...] = ()
    problems: tuple[str, ...] = ()


class Resumed(Event, frozen=True, gc=False, tag="debug.resumed"):
    stop: int
    frame: str
    verb: str
    targets: tuple[str, ...] = ()  # the steps that a `run_to` goes to, or the occurrence that a `goto` goes ahead to


class StopEnded(Event, frozen=True, gc=False, tag="debug.stop_ended"):
    """A stop that was not resumed: its branch was cancelled meanwhile, or its place did not come again; and why."""

    stop: int
    frame: str
    reason: str


class AllStopped(Event, frozen=True, gc=False, tag="debug.all_stopped"):
    stops: tuple[int, ...]


class PauseAsked(Event, frozen=True, gc=False, tag="debug.pause_asked"):
    frame: str | None  # None: all of them


class AllContinued(Event, frozen=True, gc=False, tag="debug.all_continued"):
    """Every stop is let go, and pauses and steps on their way are forgotten."""


class BreakpointSet(Event, frozen=True, gc=False, tag="debug.breakpoint_set"):
    breakpoint: dict[str, Any]


class BreakpointRemoved(Event, frozen=True, gc=False, tag="debug.breakpoint_removed"):
    breakpoint: int


class BreakpointHit(Event, frozen=True, gc=False, tag="debug.breakpoint_hit"):
    breakpoint: int
    hits: int
    occurrence: str
    position: str = ""


class Logged(Event, frozen=True, gc=False, tag="debug.logged"):
    breakpoint: int
    frame: str
    step: str
    occurrence: str
    message: str


class PythonWaited(Event, frozen=True, gc=False, tag="debug.python_waited"):
    """A function that was stepped into waits at its first line for a Python debugger to come."""

    frame: str
    step: str
    occurrence: str
    host: str
    port: int
    file: str | None = None
    line: int | None = None


class ScopeEdited(Event, frozen=True, gc=False, tag="debug.scope_edited"):
    stop: int
    frame: str
    step: str
    occurrence: str
    position: str
    layer: str
    path: tuple[str | int, ...]
    value: Any = None
    removes: bool = False


class EditUndone(Event, frozen=True, gc=False, tag="debug.edit_undone"):
    stop: int
    frame: str
    occurrence: str
    position: str


class ConfigOverridden(Event, frozen=True, gc=False, tag="debug.config_overridden"):
    stop: int
    frame: str
    step: str
    occurrence: str
    config: dict[str, Any]
    undoes: bool = False  # it takes the last one at this stop back


class OutcomeForced(Event, frozen=True, gc=False, tag="debug.outcome_forced"):
    """A person decided how the occurrence ended, by skipping it or by saying so."""

    stop: int
    frame: str
    step: str
    occurrence: str
    verb: str
    outcome: Outcome


class FrameCancelled(Event, frozen=True, gc=False, tag="debug.frame_cancelled"):
    """Somebody wants this branch ended; those beside it go on as the flow says."""

    frame: str
    reason: str


class StepInjected(Event, frozen=True, gc=False, tag="debug.step_injected"):
    """A step that runs once, before or after the occurrence at which it was put in."""

    stop: int
    frame: str
    occurrence: str
    position: str
    step: str
    type: str
    config: dict[str, Any]
    id: str | None = None


class Rewound(Event, frozen=True, gc=False, tag="debug.rewound"):
    """A frame went back to a point: what came after event number `after` in it does not count any more.

    It starts again with what came after event number `since`, and the frames that were opened by then stay; 0 for all.
    """

    frame: str
    point_frame: str
    occurrence: str
    position: str
    after: int
    snapshot: str | None = None  # of the workspace as it was there, which is put back
    since: int = 0


class WatchesChanged(Event, frozen=True, gc=False, tag="debug.watches_changed"):
    watches: tuple[str, ...]


class LeaseExtended(Event, frozen=True, gc=False, tag="debug.lease_extended"):
    seconds: float


class LeaseEnded(Event, frozen=True, gc=False, tag="debug.lease_ended"):
    stop: int
    policy: str


class Detached(Event, frozen=True, gc=False, tag="debug.detached"):
    pass


class Aborted(Event, frozen=True, gc=False, tag="debug.aborted"):
    reason: str


class Unknown(Event, frozen=True, gc=False, tag="unknown"):
    """An event of a later version: it changes nothing here, but keeps its number."""

    was: str


AnyEvent = (
    RunStarted
    | RunEnded
    | FrameOpened
    | FrameEnded
    | StepStarted
    | StepFinished
    | StepRetried
    | StepInterrupted
    | StepRouted
    | StepNoted
    | SnapshotTaken
    | SessionOpened
    | Stopped
    | Resumed
    | StopEnded
    | AllStopped
    | PauseAsked
    | AllContinued
    | BreakpointSet
    | BreakpointRemoved
    | BreakpointHit
    | Logged
    | PythonWaited
    | ScopeEdited
    | EditUndone
    | ConfigOverridden
    | OutcomeForced
    | FrameCancelled
    | StepInjected
    | Rewound
    | WatchesChanged
    | LeaseExtended
    | LeaseEnded
    | Detached
    | Aborted
    | Unknown
)

INTERVENTIONS = (ScopeEdited, ConfigOverridden, OutcomeForced, FrameCancelled, StepInjected, Rewound)
