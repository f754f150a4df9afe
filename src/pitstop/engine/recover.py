"""What a run need not do again, because its log says how it went."""

from collections.abc import Iterable
from typing import Any

from msgspec import Struct, field

from pitstop.events.counting import Numbered
from pitstop.events.outcome import Outcome, Status
from pitstop.events.types import (
    ChangedAtStop,
    ConfigOverridden,
    EditUndone,
    FrameCancelled,
    FrameEnded,
    FrameOpened,
    OutcomeForced,
    Resumed,
    ScopeEdited,
    StepEvent,
    StepFinished,
    StepInjected,
    StepInterrupted,
    StepRetried,
    StepRouted,
    StepStarted,
    StepUninjected,
    Stopped,
)
from pitstop.plan.plan import Step, injected_again
from pitstop.plan.scope import Edit

_Fact = StepEvent | ChangedAtStop


class Recorded(Struct):
    """What still counts of a frame's part of the log, by occurrence. What was taken is gone; empty in a fresh run."""

    started: set[str] = field(default_factory=set)
    interrupted: dict[str, bool] = field(default_factory=dict)  # began and never ended; and whether that was told
    outcomes: dict[str, Outcome] = field(default_factory=dict)
    retried: set[str] = field(default_factory=set)
    forced: set[str] = field(default_factory=set)
    routes: dict[str, tuple[str, ...]] = field(default_factory=dict)
    configs: dict[str, dict[str, Any]] = field(default_factory=dict)
    edits: dict[tuple[str, str], list[Edit]] = field(default_factory=dict)
    injected: dict[tuple[str, str], list[Step]] = field(default_factory=dict)
    cancelled: str | None = None  # why somebody has ended the whole frame
    unasked: str | None = None  # what ended last, when nothing says that the frame went on from there

    def __bool__(self) -> bool:
        """Whether anything is left to be taken."""
        some = self.outcomes or self.routes or self.edits or self.injected or self.configs or self.interrupted
        return bool(some) or self.cancelled is not None

    def forget(self, address: str) -> None:
        """Let an occurrence, and what is in it, run again."""
        for occurrence in [each for each in self.outcomes if each == address or each.startswith(f"{address}.")]:
            del self.outcomes[occurrence]

    def take_edits(self, occurrence: str, position: str) -> list[Edit]:
        return self.edits.pop((occurrence, position), [])

    def take_injected(self, occurrence: str, position: str) -> tuple[Step, ...]:
        return tuple(self.injected.pop((occurrence, position), ()))


NOTHING_RECORDED = Recorded()  # shared: taking from it changes nothing


def recorded_in(events: Iterable[Numbered], carried_over: int = 0, base: str = "") -> dict[str, Recorded]:
    """What events that count let each frame take over; with `base` only of the step with this address.

    A cancelled occurrence runs again, but not in a frame that somebody has ended. The first `carried_over` events are
    those of another run: what that one left at work was not interrupted here, and what was ended there may begin.
    """
    by_frame: dict[str, Recorded] = {}
    for number, event in events:
        if isinstance(event, _Fact):
            if base and not _is_at(event.occurrence, base):
                continue
            recorded = by_frame.setdefault(event.frame, Recorded())
            _keep(recorded, event)
            if isinstance(event, StepStarted) and number <= carried_over:
                recorded.interrupted.pop(event.occurrence)
        elif isinstance(event, FrameCancelled):
            if number > carried_over and (not base or _is_at(event.frame, base)):
                by_frame.setdefault(event.frame, Recorded()).cancelled = event.reason
        elif isinstance(event, Stopped | Resumed | FrameEnded) and event.frame in by_frame:
            by_frame[event.frame].unasked = None
        elif isinstance(event, FrameOpened) and event.parent in by_frame:
            by_frame[event.parent].unasked = None
    return by_frame


def _is_at(occurrence: str, base: str) -> bool:
    """Whether it is an occurrence of the step with this address, or in one."""
    return occurrence.startswith(base) and occurrence[len(base) : len(base) + 1] in ("", ".", "[", "#", "+", "@")


def _keep(recorded: Recorded, fact: _Fact) -> None:
    occurrence = fact.occurrence
    recorded.unasked = occurrence if isinstance(fact, StepFinished) else None
    match fact:
        case StepStarted():
            recorded.started.add(occurrence)
            recorded.interrupted[occurrence] = False
        case StepInterrupted():
            recorded.interrupted[occurrence] = True
        case StepFinished():
            recorded.interrupted.pop(occurrence, None)
            recorded.outcomes.pop(occurrence, None)
            if fact.outcome.status is not Status.CANCELLED:
                recorded.outcomes[occurrence] = fact.outcome
        case OutcomeForced():
            recorded.interrupted.pop(occurrence, None)
            recorded.outcomes[occurrence] = fact.outcome
            recorded.forced.add(occurrence)
        case StepRetried():
            recorded.retried.add(occurrence)
        case StepRouted():
            recorded.routes[occurrence] = fact.targets
        case ScopeEdited():
            edit = Edit(fact.layer, fact.path, fact.value, fact.removes)
            recorded.edits.setdefault((occurrence, fact.position), []).append(edit)
        case EditUndone():
            recorded.edits[occurrence, fact.position].pop()
        case ConfigOverridden():
            recorded.configs.pop(occurrence, None)
            if fact.config:
                recorded.configs[occurrence] = fact.config
        case StepInjected():
            step = injected_again(fact.step, fact.type, fact.config, fact.id, fact.more)
            recorded.injected.setdefault((occurrence, fact.position), []).append(step)
        case StepUninjected():
            steps = recorded.injected[occurrence, fact.position]
            steps[:] = [step for step in steps if step.path != fact.step]
