"""Stops: where a frame stands still, and what may be done there."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pitstop.debugger.stepping import Goal
from pitstop.engine.body import Start
from pitstop.engine.frame import Activation, Point
from pitstop.engine.verdict import Again, Force, Position, Proceed, Verdict
from pitstop.events.outcome import Outcome
from pitstop.plan.plan import Source, Step
from pitstop.plan.scope import Edit, Snapshot

MOVING = ("continue", "step_into", "step_over", "step_out", "run_to")
LOOKING = ("evaluate", "set", "unset", "undo")
BEFORE = (*MOVING, "skip", "force", "config", "inject", "rewind", "goto", *LOOKING)
AFTER = (*MOVING, "retry", "force", "config", "inject", "rewind", "goto", *LOOKING)
COMPLETED = ("continue", "rewind", "evaluate")


@dataclass(slots=True, eq=False)
class Stop:
    """A frame that stands still, as it is told to people. `scope` follows the edits made here, and then stays.

    `allowed` has the verbs that are possible now; `will_run` is what the step's `if` says.
    """

    id: int
    frame: str
    step: str
    occurrence: str
    position: Position
    reasons: tuple[str, ...]
    breakpoints: tuple[int, ...]
    problems: tuple[str, ...]
    scope: Snapshot
    outcome: Outcome | None
    allowed: tuple[str, ...]
    will_run: bool = True
    is_cleanup: bool = False
    is_injected: bool = False
    source: Source | None = None
    after_event: int = 0  # its number in the log: what a rewind to it keeps
    is_over: bool = False
    lease_ends_at: float = 0.0  # when it ends by itself, in seconds since the epoch
    starts: Mapping[str, Start] = field(default_factory=dict)  # of the steps that it is in, by address


@dataclass(frozen=True, slots=True)
class FrameInfo:
    """A frame as it is told to people: running, pausing, paused or done."""

    id: str
    name: str
    parent: str | None
    state: str
    step: str | None = None  # where it is now, as far as it is at a step at all
    occurrence: str | None = None


@dataclass(slots=True, eq=False)
class Held:
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


def describe(point: Point, number: int, reasons: tuple[str, ...], after_event: int, **more: Any) -> Stop:
    """The stop at a point, with the verbs that fit it."""
    activation, step = point.activation, point.activation.step
    allowed: tuple[str, ...] = BEFORE if point.position == "before" else AFTER
    if not step.path:  # the whole run: it has nothing beside it to step to
        allowed = COMPLETED if "completed" in reasons else (*COMPLETED, "force", *LOOKING)
    return Stop(
        id=number,
        frame=activation.frame.id,
        step=step.path,
        occurrence=activation.occurrence,
        position=point.position,
        reasons=reasons,
        scope=activation.scope.snapshot(),
        outcome=point.outcome,
        allowed=allowed,
        will_run=point.will_run,
        is_cleanup=step.is_cleanup,
        is_injected=step.is_injected,
        source=step.source,
        after_event=after_event,
        starts=_starts(activation),
        **more,
    )
