"""Points of the past: which there are, what going back to one would undo, and how a scope was there."""

import asyncio
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from msgspec import Struct

from pitstop.debugger.breakpoints import EVERYWHERE
from pitstop.debugger.stepping import is_under
from pitstop.debugger.stops import HistoryPoint, Stop, Way
from pitstop.engine.body import Start, restart_at
from pitstop.engine.clock import SystemClock
from pitstop.engine.frame import Activation, Frame, Gate, Point, RunContext
from pitstop.engine.ports import Evaluator, Ports
from pitstop.engine.run import Run
from pitstop.engine.verdict import PROCEED, GoBack, Position, Verdict
from pitstop.errors import UnknownPoint
from pitstop.events.counting import (
    STEP_EVENTS,
    Counting,
    Future,
    events_that_count,
    frames_after,
)
from pitstop.events.log import MemoryLog
from pitstop.events.outcome import Outcome, Status
from pitstop.events.types import (
    AnyEvent,
    ConfigOverridden,
    EditUndone,
    RunStarted,
    ScopeEdited,
    SnapshotTaken,
    StepFinished,
    StepStarted,
    Stopped,
)
from pitstop.plan.addresses import caller_of, is_call
from pitstop.plan.plan import Plan, Step
from pitstop.plan.scope import Snapshot

REPLAY_SECONDS = 10.0


def points_in(events: Sequence[AnyEvent]) -> list[HistoryPoint]:
    """Every point that the run, as it is now, has behind it, in the order of the log."""
    points: list[HistoryPoint] = []
    snapshots: dict[tuple[str, str], str] = {}
    started: dict[str, int] = {}
    for number, event in events_that_count(events):
        if isinstance(event, StepStarted):
            started[event.occurrence] = number
        if isinstance(event, SnapshotTaken):
            snapshots[event.occurrence, event.position] = event.snapshot
            is_new = not points or points[-1].occurrence != event.occurrence
            if is_call(event.occurrence) and event.position == "before" and is_new:
                points.append(_call_point(number, event, started, snapshots))
        elif (point := _point(number, event, snapshots)) is not None:
            points.append(point)
    return points


def _call_point(
    number: int, event: SnapshotTaken, started: Mapping[str, int], snapshots: Mapping[tuple[str, str], str]
) -> HistoryPoint:
    """Before a call. Going back there starts the step that makes it again, with its files, until it makes the call."""
    host = caller_of(event.occurrence)
    keeps, kept = started.get(host, number) - 1, snapshots.get((host, "before"))
    return HistoryPoint(number, event.frame, event.step, event.occurrence, "before", event.at, keeps, snapshot=kept)


def _point(number: int, event: AnyEvent, snapshots: Mapping[tuple[str, str], str]) -> HistoryPoint | None:
    match event:
        case Stopped() if not is_call(event.occurrence):
            position: Position = event.position  # type: ignore[assignment]
            where = (event.frame, event.step, event.occurrence, position)
            kept = snapshots.get((event.occurrence, position))
            return HistoryPoint(number, *where, event.at, number, stop=event.stop, snapshot=kept)
        case StepStarted():
            where = (event.frame, event.step, event.occurrence, "before")
            kept = snapshots.get((event.occurrence, "before"))
            return HistoryPoint(number, *where, event.at, number - 1, snapshot=kept)
        case StepFinished():
            status = event.outcome.status
            if status is Status.CANCELLED:  # nobody was asked about it
                return None
            where = (event.frame, event.step, event.occurrence, "error" if status.is_failure else "after")
            return HistoryPoint(number, *where, event.at, number, status)
        case _:
            return None


def point_numbered(points: Iterable[HistoryPoint], number: int) -> HistoryPoint:
    for point in points:
        if point.number == number:
            return point
    raise UnknownPoint(number)


def point_of_stop(counting: Counting, stop: Stop) -> HistoryPoint:
    """The point that a stop of the past was at."""
    kept = counting.snapshot_at(stop.occurrence, stop.position, stop.after_event)
    where = (stop.frame, stop.step, stop.occurrence, stop.position)
    return HistoryPoint(stop.after_event, *where, 0.0, stop.after_event, stop=stop.id, snapshot=kept)


_ATTEMPT = re.compile(r"#\d+$")


def first_attempt(occurrence: str) -> str:
    """The address of the first attempt of an occurrence."""
    return _ATTEMPT.sub("", occurrence) if "#" in occurrence else occurrence


def _steps_before(counting: Counting, stop: Stop) -> int:
    """How many starts and ends of steps the frame has before the step itself and those that did not run."""
    steps = counting.steps.get(stop.frame, ())
    for index in range(len(steps) - 1, -1, -1):
        number, event = steps[index]
        is_current = stop.position == "before" and event.occurrence == stop.occurrence
        is_not_run = type(event) is StepFinished and event.outcome.status is Status.SKIPPED
        if not is_current and not is_not_run and number <= stop.after_event:
            return index + 1
    return 0


def has_previous_step(counting: Counting, stop: Stop) -> bool:
    """Whether the frame has ended or entered a step before this one."""
    return _steps_before(counting, stop) > 0


def previous_step(counting: Counting, stop: Stop) -> HistoryPoint | None:
    """The point before the step that the frame ended or entered last; None at its first step."""
    before = _steps_before(counting, stop)
    if not before:
        return None
    steps = counting.steps[stop.frame]
    first = steps[before - 1]
    step = first_attempt(first[1].occurrence)
    for index in range(before - 2, -1, -1):
        earlier = steps[index]
        is_start = isinstance(first[1], StepStarted) and first[1].occurrence == step
        if is_start or not is_under(earlier[1].occurrence, step):
            break
        if first_attempt(earlier[1].occurrence) == step:
            first = earlier
    number, event = first
    kept = counting.snapshot_at(event.occurrence, "before", number)
    where = (stop.frame, event.step, event.occurrence)
    return HistoryPoint(number, *where, "before", event.at, number - 1, snapshot=kept)


def point_before(counting: Counting, frame: str, occurrence: str) -> HistoryPoint | None:
    """The point before an occurrence, whether it began or was passed by; None when the frame never came to it."""
    for number, event in counting.events:
        if not isinstance(event, (*STEP_EVENTS, Stopped)):
            continue
        if event.frame == frame and event.occurrence == occurrence:
            kept = counting.snapshot_at(occurrence, "before", number)
            return HistoryPoint(number, frame, event.step, occurrence, "before", event.at, number - 1, snapshot=kept)
    return None


def files_at(events: Sequence[AnyEvent], point: HistoryPoint) -> str | None:
    """The snapshot with the files of a point: its own, or the next one, if no step was at work in between."""
    if point.snapshot is not None:
        return point.snapshot
    began: list[str] = []
    for number, event in events_that_count(events):
        if number <= point.number:
            continue
        if isinstance(event, StepStarted):
            began.append(event.occurrence)
        elif isinstance(event, SnapshotTaken):  # what began by then can only be what this is in
            is_still = all(event.occurrence.startswith((f"{each}.", f"{each}[")) for each in began)
            return event.snapshot if is_still else None
    return None


def way_back(
    current: Frame, by_id: Mapping[str, Frame], point: HistoryPoint, starts: Mapping[str, Start] | None = None
) -> GoBack:
    """What the engine has to do to be at the point again: start the lowest frame anew that both have in common.

    Where `starts` tells how the steps around the point began, it starts anew from there, if nothing is at work beside.
    """
    line = [frame.id for frame in current.lineage()]
    candidate: Frame | None = by_id.get(point.frame)
    while candidate is not None and candidate.id not in line:
        candidate = candidate.parent
    if candidate is None:
        raise UnknownPoint(point.number)
    beside = (each for each in by_id.values() if not each.is_done and each.id not in line)
    is_alone = not any(candidate in each.lineage() for each in beside)
    restart = restart_at(candidate.bodies, starts) if starts and is_alone else None
    return GoBack(candidate.id, point.frame, point.occurrence, point.position, point.keeps, point.snapshot, restart)


class Jump(Struct, frozen=True):
    """From a step to another one of the same sequence. `between` is what is passed by on the way ahead."""

    target: Step
    is_back: bool
    between: tuple[Step, ...] = ()


_IN_ORDER = ("sequence", "call", "matrix", "repeat", "background")


def way_to(plan: Plan, current: Step, paths: Sequence[str], *, has_ended: bool) -> Jump:
    """The way from a step to the one of these that is in the same sequence; ValueError says why there is none."""
    around = current.path.rpartition(".")[0]
    parent = plan.steps[around] if around else plan.root
    row = parent.cleanup if current.is_cleanup and current in parent.cleanup else parent.children
    if parent.kind == "background":
        row = row[1:]  # the first runs beside the others
    found = next((step for step in row if step.path in paths), None)
    if current not in row or parent.kind not in _IN_ORDER or found is None:
        raise ValueError(f"{paths[0]!r} is not in the same sequence as {current.path!r}")
    here, there = row.index(current), row.index(found)
    if here == there and not has_ended:
        raise ValueError(f"it is already before {found.path!r}")
    if there <= here:
        return Jump(found, is_back=True)
    return Jump(found, False, row[here + 1 : there])


def frames_cut(counting: Counting, back: GoBack) -> set[str]:
    """The frames whose events after the point would be undone."""
    return frames_after(counting.opened, back.point_frame, back.frame, back.after)


def way_of(plan: Plan, counting: Counting, back: GoBack, step: str) -> Way:
    """Where going back to a point of a step leads, and how much it undoes."""
    cut = frames_cut(counting, back)
    undone = (event for _, event in counting.after(back.after) if getattr(event, "frame", None) in cut)
    return Way(step, back.occurrence, back.position, _steps_in(plan, undone), back.snapshot is not None)


def way_to_future(plan: Plan, counting: Counting, future: Future) -> tuple[GoBack, Way]:
    """What the engine has to do to undo a rewind, and where that leads."""
    stop, last = future.stop, future.stop_number
    taken = [
        event.snapshot
        for number, event in future.undone
        if isinstance(event, SnapshotTaken) and number <= last and event.occurrence == stop.occurrence
        if event.position == stop.position
    ]
    snapshot = taken[-1] if taken else counting.snapshot_at(stop.occurrence, stop.position, last)
    position: Position = stop.position  # type: ignore[assignment]
    where = (stop.occurrence, position, last, snapshot)
    back = GoBack(future.event.frame, stop.frame, *where, undoes=future.number)
    steps = _steps_in(plan, (event for number, event in future.undone if number <= last))
    return back, Way(stop.step, stop.occurrence, position, steps, snapshot is not None)


def changes_at(future: Future) -> tuple[list[ScopeEdited], Mapping[str, Any]]:
    """What was changed at the stop of a future, when the run went back from it: its edits, and the step's config."""
    edits: list[ScopeEdited] = []
    config: Mapping[str, Any] = {}
    for _, event in future.undone:
        match event:
            case ScopeEdited() if event.stop == future.stop.stop:
                edits.append(event)
            case EditUndone() if event.stop == future.stop.stop:
                edits.pop()
            case ConfigOverridden() if event.stop == future.stop.stop:
                config = event.config
            case _:
                pass
    return edits, config


def _steps_in(plan: Plan, events: Iterable[AnyEvent]) -> int:
    """How many executions of steps began in these events, without steps that combine others."""
    begun = {event.occurrence: event.step for event in events if isinstance(event, StepStarted)}
    return sum(path not in plan.steps or not plan.steps[path].children for path in begun.values())


def external_steps(plan: Plan, counting: Counting, back: GoBack) -> list[str]:
    """The steps whose effects cannot be undone and which would run again: those that ended, and those at work now."""
    cut, under = frames_cut(counting, back), counting.under(back.frame)
    undone: dict[str, str] = {}
    for number, event in counting.after(back.since):
        if isinstance(event, StepStarted) and event.frame in under:
            undone[event.occurrence] = event.step
        elif isinstance(event, StepFinished) and (number <= back.after or event.frame not in cut):
            undone.pop(event.occurrence, None)
    steps = (plan.steps.get(path) for path in dict.fromkeys(undone.values()))
    return [step.path for step in steps if step is not None and step.effects == "external"]


async def scope_at(plan: Plan, evaluator: Evaluator, events: Sequence[AnyEvent], point: HistoryPoint) -> Snapshot:
    """How the scope was at a point: the log up to there is replayed, and nothing is run."""
    first = next((event for event in events if isinstance(event, RunStarted)), None)
    if first is None:
        raise UnknownPoint(point.number)
    replay = _Replay(point)
    log = MemoryLog(events[: point.keeps])
    shadow = Run(plan, dict(first.inputs), Ports(evaluator, SystemClock()), log=log, hook=replay)
    try:
        async with asyncio.timeout(REPLAY_SECONDS):
            await shadow.execute()
    except TimeoutError:
        raise UnknownPoint(point.number) from None
    if replay.found is None:
        raise UnknownPoint(point.number)
    return replay.found


class _Replay:
    """A hook that lets only what the log knows go on: whatever would run for the first time waits for the end."""

    def __init__(self, target: HistoryPoint) -> None:
        self.gate = Gate()
        self.gate.paths = EVERYWHERE
        self.found: Snapshot | None = None
        self._target = (target.occurrence, target.position)
        self._run: RunContext | None = None

    def wants(self, step: Step, position: Position) -> bool:
        return True

    def can_pause(self) -> bool:
        return True

    def wants_snapshot(self, step: Step) -> bool:
        return False

    def returns_to(self, occurrence: str, position: Position) -> bool:
        return (occurrence, position) == self._target

    async def at(self, point: Point) -> Verdict:
        if self.found is None:
            self._look(point.activation, point.position)
        elif self._run is not None:
            self._run.abort("found")  # it has begun to clean up: that is not to run either
        if self.found is None and point.position != "before":
            return PROCEED  # the log ends there: the step is known, and what comes after it is asked about again
        await asyncio.get_running_loop().create_future()
        return PROCEED

    def _look(self, activation: Activation, position: Position) -> None:
        if (activation.occurrence, position) == self._target and self._run is not None:
            self.found = activation.scope.snapshot()
            self._run.abort("found")

    def attach(self, run: RunContext) -> None:
        self._run = run

    async def run_ending(self, root: Activation, outcome: Outcome) -> Verdict:
        self._look(root, "after")
        return PROCEED

    def _ignore(self, *_event: Any, **_more: Any) -> None:
        """Whatever else the engine reports changes nothing."""

    run_started = frames_opened = frame_ended = frame_rewound = run_ended = _ignore
