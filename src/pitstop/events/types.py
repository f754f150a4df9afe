"""Every event: a small fact in the past tense, never renamed; readers ignore kinds they do not know."""

from typing import Any

import msgspec

from pitstop.events.outcome import Outcome


class Event(msgspec.Struct, frozen=True, gc=False, tag_field="kind"):
    """A fact and its time, in seconds since 1970. Its number is its position in the log, counting from 1.

    Without `gc` a long log costs the collector nothing: an event never changes, so it is never part of a cycle.
    """

    at: float


# The life of a run


class RunStarted(Event, frozen=True, gc=False, tag="run.started"):
    """The run started, or another process resumed it from its log."""

    plan: str  # the name of the plan
    inputs: dict[str, Any]  # the first values of the scope; for a graph, its first state
    left_at: float | None = None  # when the process before this one was last seen, if that is known


class RunEnded(Event, frozen=True, gc=False, tag="run.ended"):
    """The run ended, cleanup included."""

    outcome: Outcome


class FrameOpened(Event, frozen=True, gc=False, tag="frame.opened"):
    """A frame was opened: the main one, or a branch."""

    frame: str
    name: str  # what to show
    parent: str | None  # the frame that opened it; None for the main one
    step: str | None  # the occurrence that opened it


class FrameEnded(Event, frozen=True, gc=False, tag="frame.ended"):
    """A frame ended."""

    frame: str
    reason: str | None = None  # why it was cancelled, if it was


class StepEvent(Event, frozen=True, gc=False):
    """A fact in the life of one occurrence of a step."""

    frame: str
    step: str
    occurrence: str


class StepStarted(StepEvent, frozen=True, gc=False, tag="step.started"):
    """An attempt of a step began."""


class StepFinished(StepEvent, frozen=True, gc=False, tag="step.finished"):
    """An attempt of a step ended. This outcome counts unless a retry or a rewind follows."""

    outcome: Outcome


class StepRetried(StepEvent, frozen=True, gc=False, tag="step.retried"):
    """The occurrence's outcome does not count: another attempt follows."""

    by_hand: bool = False  # retried in the debugger, which is an intervention


class StepInterrupted(StepEvent, frozen=True, gc=False, tag="step.interrupted"):
    """The occurrence was running when the run's process ended, and how far it got is unknown."""


class StepRouted(StepEvent, frozen=True, gc=False, tag="step.routed"):
    """A conditional edge chose what follows the occurrence."""

    targets: tuple[str, ...]  # the names of the nodes


class StepNoted(Event, frozen=True, gc=False, tag="step.noted"):
    """Something that a step reports while it runs: `note` names it, `data` is JSON."""

    frame: str
    occurrence: str
    note: str
    data: dict[str, Any]


class SnapshotTaken(Event, frozen=True, gc=False, tag="snapshot.taken"):
    """The workspace was saved when the frame reached this point."""

    frame: str
    step: str
    occurrence: str
    snapshot: str  # its id
    position: str = "before"


# What a debugger did to it


class SessionOpened(Event, frozen=True, gc=False, tag="debug.session_opened"):
    """A new debug session began. It lasts across restarts of the run; an earlier session's stops do not come back."""

    stop_at_entry: bool
    stop_at_end: bool
    lease_seconds: float
    on_lease_end: str  # `abort` or `continue`
    snapshots: bool = False


class Stopped(Event, frozen=True, gc=False, tag="debug.stopped"):
    """A frame is paused at a stop."""

    stop: int  # its number in the session
    frame: str
    step: str
    occurrence: str
    position: str
    # `entry`, `pause`, `breakpoint`, `failure`, `escalated`, `step`, `interrupted` or `completed`
    reasons: tuple[str, ...]
    breakpoints: tuple[int, ...] = ()  # the ids of those that caused it
    problems: tuple[str, ...] = ()  # conditions and log texts that could not be evaluated, and why
    notes: tuple[str, ...] = ()  # those of the breakpoints


class Resumed(Event, frozen=True, gc=False, tag="debug.resumed"):
    """A command ended a stop."""

    stop: int
    frame: str
    verb: str  # the command, such as `step_over`
    targets: tuple[str, ...] = ()  # the steps that `run_to` runs to, or the occurrence that `goto` jumps ahead to


class StopEnded(Event, frozen=True, gc=False, tag="debug.stop_ended"):
    """A stop ended without a command: its branch was cancelled, or its point was not reached again after a restart."""

    stop: int
    frame: str
    reason: str


class AllStopped(Event, frozen=True, gc=False, tag="debug.all_stopped"):
    """Nothing in the run can move until a stop is resumed."""

    stops: tuple[int, ...]


class PauseAsked(Event, frozen=True, gc=False, tag="debug.pause_asked"):
    """A pause was requested. Each frame stops at its next point."""

    frame: str | None  # None for every frame


class PauseCancelled(Event, frozen=True, gc=False, tag="debug.pause_cancelled"):
    """A pending pause was taken back."""

    frame: str | None  # None for every frame


class AllContinued(Event, frozen=True, gc=False, tag="debug.all_continued"):
    """Every stop was resumed, and pending pauses and step commands were dropped."""


class BreakpointSet(Event, frozen=True, gc=False, tag="debug.breakpoint_set"):
    """A breakpoint was added, changed, enabled or disabled."""

    breakpoint: dict[str, Any]  # all of its parts, with its id


class BreakpointRemoved(Event, frozen=True, gc=False, tag="debug.breakpoint_removed"):
    """A breakpoint was removed."""

    breakpoint: int


class BreakpointsMuted(Event, frozen=True, gc=False, tag="debug.breakpoints_muted"):
    """All breakpoints are ignored from now on, or no longer."""

    muted: bool


class BreakpointHit(Event, frozen=True, gc=False, tag="debug.breakpoint_hit"):
    """A breakpoint matched and counted a hit, whether or not it then stopped the frame."""

    breakpoint: int
    hits: int  # how many it has counted by now
    occurrence: str
    position: str = ""


class Logged(Event, frozen=True, gc=False, tag="debug.logged"):
    """A log point wrote its message."""

    breakpoint: int
    frame: str
    step: str
    occurrence: str
    message: str


class PythonWaited(Event, frozen=True, gc=False, tag="debug.python_waited"):
    """A Python function that was stepped into waits at its first line for a Python debugger."""

    frame: str
    step: str
    occurrence: str
    host: str  # where the debugger attaches
    port: int
    file: str | None = None  # where the function is written
    line: int | None = None


class ScopeEdited(Event, frozen=True, gc=False, tag="debug.scope_edited"):
    """A value was set or removed at a stop."""

    stop: int
    frame: str
    step: str
    occurrence: str
    position: str
    layer: str  # the scope layer that changed
    path: tuple[str | int, ...]  # the keys and indexes that lead to the value
    value: Any = None
    removes: bool = False


class EditUndone(Event, frozen=True, gc=False, tag="debug.edit_undone"):
    """The last edit of the scope at this stop was undone."""

    stop: int
    frame: str
    occurrence: str
    position: str


class ConfigOverridden(Event, frozen=True, gc=False, tag="debug.config_overridden"):
    """Keys of the step's config were replaced for its next attempt."""

    stop: int
    frame: str
    step: str
    occurrence: str  # the attempt that runs with them
    config: dict[str, Any]  # all replaced keys; empty when the step has its own config again
    undoes: bool = False  # whether this undoes the last change at this stop


class OutcomeForced(Event, frozen=True, gc=False, tag="debug.outcome_forced"):
    """The outcome of the occurrence was decided in the debugger."""

    stop: int
    frame: str
    step: str
    occurrence: str
    verb: str  # `skip`, `force` or `goto`
    outcome: Outcome


class FrameCancelled(Event, frozen=True, gc=False, tag="debug.frame_cancelled"):
    """A branch was ended in the debugger. Its siblings continue or end as the flow says."""

    frame: str
    reason: str


class StepStopped(StepEvent, frozen=True, gc=False, tag="debug.step_stopped"):
    """A running step was stopped in the debugger: it fails, and its frame pauses there."""

    reason: str


class StepDecided(StepEvent, frozen=True, gc=False, tag="debug.step_decided"):
    """A user said how a step that gave up continues."""

    stop: int
    choice: str  # `take_over`, `guide`, `roll_back`, `skip` or `stop`
    text: str = ""  # the guidance, the iteration to go back to, or the reason


class StepInjected(Event, frozen=True, gc=False, tag="debug.step_injected"):
    """A step was inserted, to run once before or after the occurrence."""

    stop: int
    frame: str
    occurrence: str
    position: str  # `before` or `after`
    step: str  # the path of the new step
    type: str  # its step type
    config: dict[str, Any]
    id: str | None = None
    more: dict[str, Any] = {}  # its other options and the steps in it, as the plan has them


class StepUninjected(Event, frozen=True, gc=False, tag="debug.step_uninjected"):
    """An injected step that had not run yet was removed."""

    stop: int
    frame: str
    occurrence: str
    position: str
    step: str  # its path


class ShellOpened(Event, frozen=True, gc=False, tag="debug.shell_opened"):
    """A shell that can change files was opened, at a stop or in a step that runs. A read-only shell has no event."""

    shell: int  # its number in the run
    stop: int | None  # None in a step that runs
    frame: str
    step: str
    occurrence: str
    position: str
    by: str  # the name of the caller


class ShellClosed(Event, frozen=True, gc=False, tag="debug.shell_closed"):
    """A shell that could change files ended, or a command to Pitstop was entered in it. The last one counts."""

    shell: int
    frame: str
    occurrence: str
    position: str
    changed: tuple[str, ...] | None = None  # the first changed files; None if they are not known
    changed_count: int = 0


class Rewound(Event, frozen=True, gc=False, tag="debug.rewound"):
    """A frame went back to a point: its events after number `after` no longer count.

    Events up to number `since` are not replayed, and frames opened by then stay open; 0 replays the whole frame.
    """

    frame: str  # the frame that starts again
    point_frame: str  # the frame of the point, which is this frame or below it
    occurrence: str  # the point's occurrence
    position: str
    after: int
    snapshot: str | None = None  # the workspace snapshot that is restored
    since: int = 0


class RewindUndone(Rewound, frozen=True, gc=False, tag="debug.rewind_undone"):
    """A frame returned to where it went back from: what that rewind undid counts again, up to number `after`.

    What happened since then in the frames that went back no longer counts.
    """

    undoes: int = 0  # the number of the rewind


class WatchesChanged(Event, frozen=True, gc=False, tag="debug.watches_changed"):
    """The list of watched expressions changed."""

    watches: tuple[str, ...]  # all of them


class LeaseExtended(Event, frozen=True, gc=False, tag="debug.lease_extended"):
    """Every current stop got a new lease."""

    seconds: float  # from now


class LeaseEnded(Event, frozen=True, gc=False, tag="debug.lease_ended"):
    """A stop's lease expired."""

    stop: int
    policy: str  # what follows: `abort` or `continue`


class Detached(Event, frozen=True, gc=False, tag="debug.detached"):
    """The debugger detached: every frame continues, and the session stops none again."""


class Aborted(Event, frozen=True, gc=False, tag="debug.aborted"):
    """The run was aborted: every frame is cancelled, then cleanup runs."""

    reason: str


class Unknown(Event, frozen=True, gc=False, tag="unknown"):
    """An event of a later version. It has no effect, and holds its position in the log."""

    was: str  # its kind


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
    | PauseCancelled
    | AllContinued
    | BreakpointSet
    | BreakpointRemoved
    | BreakpointsMuted
    | BreakpointHit
    | Logged
    | PythonWaited
    | ScopeEdited
    | EditUndone
    | ConfigOverridden
    | OutcomeForced
    | FrameCancelled
    | StepStopped
    | StepDecided
    | StepInjected
    | StepUninjected
    | ShellOpened
    | ShellClosed
    | Rewound
    | RewindUndone
    | WatchesChanged
    | LeaseExtended
    | LeaseEnded
    | Detached
    | Aborted
    | Unknown
)

ChangedAtStop = ScopeEdited | EditUndone | ConfigOverridden | OutcomeForced | StepInjected | StepUninjected
INTERVENTIONS = frozenset(
    (
        *(ScopeEdited, ConfigOverridden, OutcomeForced, FrameCancelled, StepStopped, StepInjected, ShellOpened),
        *(StepDecided, Rewound, RewindUndone),
    )
)
