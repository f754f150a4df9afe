"""Stops: where a frame stands still, and what may be done there."""

import asyncio
from collections.abc import Mapping
from typing import Any, Literal

from msgspec import Struct, field

from pitstop.debugger.stepping import Goal
from pitstop.engine.body import Start
from pitstop.engine.frame import Activation, Point
from pitstop.engine.verdict import Again, Force, Position, Proceed, Verdict
from pitstop.events.outcome import Outcome, Status
from pitstop.events.types import Stopped
from pitstop.plan.addresses import TOOL_CALL
from pitstop.plan.plan import Source, Step
from pitstop.plan.scope import Edit, Snapshot

ESCALATED = "escalated"  # the reason of a stop where a step gave up and asks for a user
MOVING = ("continue", "step_into", "step_over", "step_out", "run_to")
LOOKING = ("evaluate", "set", "unset", "undo")
BEFORE = (*MOVING, "skip", "force", "config", "inject", "rewind", "goto", *LOOKING)
AFTER = (*MOVING, "retry", "force", "config", "inject", "rewind", "goto", *LOOKING)
BEFORE_CALL = (*MOVING, "skip", "force", "config", "inject", "rewind", *LOOKING)
AFTER_CALL = (*MOVING, "force", "rewind", *LOOKING)
GAVE_UP = (*MOVING, "decide", "force", "rewind", *LOOKING)
CHOICES = ("take_over", "guide", "roll_back", "skip", "stop")  # where a step gave up
COMPLETED = ("continue", "rewind", "evaluate")


class Stop(Struct, eq=False):
    """A frame that is paused at a point, until a command resumes it or its lease expires."""

    id: int  # its number in the session
    frame: str  # the id of the frame
    step: str  # the path of the step
    occurrence: str  # the address of this execution of the step
    position: Position  # `before`, `after` or `error`
    reasons: tuple[str, ...]  # why it stopped: every reason that applies
    breakpoints: tuple[int, ...]  # the ids of those that caused it
    problems: tuple[str, ...]  # conditions and log texts that could not be evaluated, and why
    scope: Snapshot  # what the step sees; it follows your edits until the stop ends
    outcome: Outcome | None  # how the step ended, at `after` and `error`
    allowed: tuple[str, ...]  # the commands that are possible here
    will_run: bool = True  # what the step's `if` evaluates to now
    is_cleanup: bool = False
    is_injected: bool = False
    source: Source | None = None  # where the step is written
    after_event: int = 0  # its number in the log: what a rewind to it keeps
    is_over: bool = False
    lease_ends_at: float = 0.0  # when the lease expires, in seconds since 1970
    notes: tuple[str, ...] = ()  # those of the breakpoints
    starts: Mapping[str, Start] = field(default_factory=dict)  # how each enclosing step began, by address
    first_scope: Snapshot | None = None  # what the step saw before you edited anything here
    is_call: bool = False  # it is at a tool call inside the step, which `.tool` describes

    @property
    def positions(self) -> tuple[Literal["before", "after"], ...]:
        """Where a step can be injected here."""
        if "inject" not in self.allowed:
            return ()
        if self.is_call:
            return ("before",)
        return ("before", "after") if self.position == "before" else ("after",)


class Way(Struct, frozen=True):
    """Where a command that goes back, or one that undoes that, leads."""

    step: str
    occurrence: str
    position: Position
    steps: int  # how many executions of steps it undoes, or lets count again
    restores_files: bool


class FrameInfo(Struct, frozen=True):
    """A frame as doors show it."""

    id: str
    name: str
    parent: str | None  # the frame that opened it
    state: str  # `running`, `pausing`, `paused` (at a stop) or `done`
    step: str | None = None  # the path of its current step, if it has one
    occurrence: str | None = None


class HistoryPoint(Struct, frozen=True, gc=False):
    """A point in a run's past, which `rewind` can return to."""

    number: int  # what `rewind` calls it
    frame: str
    step: str
    occurrence: str
    position: Position
    at: float  # when, in seconds since 1970
    keeps: int  # the last event that a rewind to it keeps
    status: Status | None = None  # how the step ended, if this is its end
    stop: int | None = None  # the stop that was here, if there was one
    snapshot: str | None = None  # the workspace snapshot taken here, if any


class Held(Struct, eq=False):
    """A stop while it lasts: who waits, and what was decided so far."""

    stop: Stop
    point: Point
    verdict: asyncio.Future[Verdict]
    edits: list[Edit] = field(default_factory=list)
    config: dict[str, Any] | None = None
    done: list[Edit | dict[str, Any] | None] = field(default_factory=list)  # to undo: edits, and configs as they were
    inject_before: list[Step] = field(default_factory=list)
    inject_after: list[Step] = field(default_factory=list)
    lease: asyncio.TimerHandle | None = None
    lease_ends_at: float = 0.0
    began_at: float = 0.0
    ended: tuple[Goal, ...] = ()  # the steps that were on their way, and that this stop has ended
    is_attended: bool = False  # a command or a question has named it
    is_released: bool = False

    def release(self) -> None:
        """Let the clocks of the step run again and end the lease; once, whoever comes first."""
        if not self.is_released:
            self.is_released = True
            self.stop.is_over = True
            self.point.activation.release()
            if self.lease is not None:
                self.lease.cancel()

    def proceed(self) -> Proceed:
        return Proceed(tuple(self.inject_before), tuple(self.inject_after), self.config)

    def force(self, outcome: Outcome) -> Force:
        return Force(outcome, tuple(self.inject_before), tuple(self.inject_after), tuple(self.edits))

    def again(self) -> Again:
        return Again(tuple(self.edits), self.config, inject_after=tuple(self.inject_after))


def _starts(activation: Activation) -> dict[str, Start]:
    starts: dict[str, Start] = {}
    around: Activation | None = activation
    while around is not None:
        if around.start is not None:
            starts[around.base] = around.start
        around = around.parent
    return starts


def describe(point: Point, event: Stopped, after_event: int) -> Stop:
    """The stop that the event tells of, at its point, with the verbs that fit it."""
    activation, step = point.activation, point.activation.step
    is_call = step.kind == TOOL_CALL
    before, after = (BEFORE_CALL, AFTER_CALL) if is_call else (BEFORE, AFTER)
    allowed: tuple[str, ...] = before if point.position == "before" else after
    if not step.path:  # the whole run: it has nothing beside it to step to
        allowed = COMPLETED if "completed" in event.reasons else (*COMPLETED, "force", *LOOKING)
    if ESCALATED in event.reasons:
        allowed = GAVE_UP
    scope = activation.scope.snapshot()
    return Stop(
        id=event.stop,
        frame=activation.frame.id,
        step=step.path,
        occurrence=activation.occurrence,
        position=point.position,
        reasons=event.reasons,
        breakpoints=event.breakpoints,
        problems=event.problems,
        notes=event.notes,
        scope=scope,
        outcome=point.outcome,
        allowed=allowed,
        will_run=point.will_run,
        is_cleanup=step.is_cleanup,
        is_injected=step.is_injected,
        source=step.source,
        after_event=after_event,
        starts=_starts(activation),
        first_scope=scope,
        is_call=is_call,
    )
