"""Taking a step, and all that comes after it, out of the log of a run: by the order of the flow, not by time.

What ran beside the step stays, whenever it ended: a sibling that passed need not run again.
"""

from collections.abc import Collection, Iterable, Sequence

import msgspec

from pitstop.events.counting import events_that_count
from pitstop.events.types import (
    AnyEvent,
    ChangedAtStop,
    ConfigOverridden,
    EditUndone,
    FrameEnded,
    FrameOpened,
    OutcomeForced,
    Rewound,
    RunStarted,
    ScopeEdited,
    ShellClosed,
    ShellOpened,
    SnapshotTaken,
    StepEvent,
    StepFinished,
    StepInjected,
    StepNoted,
    StepStarted,
    StepUninjected,
    Stopped,
)
from pitstop.plan.plan import Plan, Step

_Fact = StepEvent | StepNoted | SnapshotTaken | ChangedAtStop | ShellOpened | ShellClosed


class _Part(msgspec.Struct, frozen=True):
    """One part of an address: the step, which attempt of it, and which turn of a loop."""

    local: str
    attempt: int
    turn: int | None


def occurrences_of(events: Iterable[AnyEvent], paths: Collection[str], occurrence: str | None = None) -> list[str]:
    """The occurrences of steps with these paths that were come to, or the one that is named."""
    found: dict[str, None] = {}
    for event in events:
        if not isinstance(event, StepStarted | StepFinished | OutcomeForced | Stopped):
            continue
        if event.step in paths or event.occurrence == occurrence:
            found[event.occurrence] = None
    return list(found)


def events_without(plan: Plan, events: Sequence[AnyEvent], targets: Iterable[str]) -> list[AnyEvent]:
    """What a run needs to go on before these occurrences: facts of all that neither is one of them nor follows one.

    That somebody had a hand in the run is kept for good; how they looked at it is not.
    """
    undoing = _Undoing(plan, events, targets)
    kept: list[AnyEvent] = []
    for _, event in events_that_count(events):
        match event:
            case RunStarted() if not kept:
                kept.append(event)
            case FrameOpened() | FrameEnded():
                kept.append(event)
            case Rewound():  # what it undid is left out already
                since = len(kept) if event.since else 0
                kept.append(msgspec.structs.replace(event, after=len(kept), since=since))
            case _ if isinstance(event, _Fact) and not undoing.undoes(event):
                kept.append(event)
    return kept


class _Undoing:
    """Decides what comes after some occurrences."""

    def __init__(self, plan: Plan, events: Sequence[AnyEvent], targets: Iterable[str]) -> None:
        self._plan = plan
        self._came_at: dict[str, int] = {}
        for number, event in enumerate(events):
            if isinstance(event, StepStarted | StepFinished):
                self._came_at.setdefault(event.occurrence, number)
        self._targets = list(targets)
        self._known: dict[str, bool] = {}
        self._around: set[str] = set()  # occurrences that a target is in: they have begun, and not ended

    def undoes(self, fact: _Fact) -> bool:
        occurrence = fact.occurrence
        if occurrence not in self._known:
            inside = tuple(f"{occurrence}{sign}" for sign in ".[")
            apart = [target for target in self._targets if not target.startswith(inside)]
            self._known[occurrence] = any(self._follows(occurrence, target) for target in apart)
            if len(apart) < len(self._targets):
                self._around.add(occurrence)
        return self._known[occurrence] or (occurrence in self._around and not _is_of_its_beginning(fact))

    def _follows(self, occurrence: str, target: str) -> bool:
        """Whether an occurrence is at, in or after another one."""
        around = self._plan.root
        for part, wanted in zip(_parts_of(occurrence), _parts_of(target), strict=False):
            local = part.local.partition("+")[0]
            if local != wanted.local.partition("+")[0]:
                return self._comes_after(around, local, wanted.local.partition("+")[0], occurrence, target)
            step = self._plan.steps.get(f"{around.path}.{local}" if around.path else local)
            if step is None:
                return True
            around = step
            if part.attempt != wanted.attempt:
                return part.attempt > wanted.attempt
            if part.turn is not None and wanted.turn is not None and part.turn != wanted.turn:
                is_beside = around.kind == "matrix" and around.config.get("parallel", False)
                return not is_beside and part.turn > wanted.turn
        return True

    def _comes_after(self, around: Step, local: str, wanted: str, occurrence: str, target: str) -> bool:
        """Whether one step that is directly in another comes after its sibling."""
        cleanup = [step.local for step in around.cleanup]
        if local in cleanup:
            return wanted not in cleanup or cleanup.index(local) > cleanup.index(wanted)
        if wanted in cleanup or around.kind == "parallel":
            return False
        if around.kind == "graph":
            return self._came_at.get(occurrence, 0) > self._came_at.get(target, 0)
        order = [step.local for step in around.children]
        return local in order and wanted in order and order.index(local) > order.index(wanted)


def _is_of_its_beginning(fact: _Fact) -> bool:
    match fact:
        case StepStarted() | ConfigOverridden():
            return True
        case ScopeEdited() | EditUndone() | StepInjected() | StepUninjected() | ShellOpened() | ShellClosed():
            return fact.position == "before"
    return False


def _parts_of(occurrence: str) -> list[_Part]:
    return [_part(each) for each in occurrence.split(".")]


def _part(text: str) -> _Part:
    """`checks#2[0]` is the first turn of the second attempt."""
    text, _, turn = text.partition("[")
    local, _, attempt = text.partition("#")
    return _Part(local, int(attempt or 1), int(turn.rstrip("]")) if turn else None)
