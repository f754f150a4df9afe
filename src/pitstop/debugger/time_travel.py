"""Points of the past: which there are, what going back to one would undo, and how a scope was there."""

import asyncio
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from pitstop.debugger.breakpoints import EVERYWHERE
from pitstop.engine.frame import Activation, Frame
from pitstop.engine.hook import PROCEED, Gate, GoBack, Point, Position, Verdict
from pitstop.engine.recover import frames_under
from pitstop.engine.run import Run
from pitstop.errors import UnknownPoint
from pitstop.events.log import MemoryLog
from pitstop.events.outcome import Outcome, Status
from pitstop.events.types import AnyEvent, FrameOpened, RunStarted, StepFinished, StepStarted, Stopped
from pitstop.events.view import events_that_count, frames_after
from pitstop.plan.plan import Plan, Step
from pitstop.plan.scope import Snapshot

REPLAY_SECONDS = 10.0


@dataclass(frozen=True, slots=True)
class HistoryPoint:
    """A place in the past of a run. `number` names it; a rewind to it keeps the log's events up to `keeps`."""

    number: int
    frame: str
    step: str
    occurrence: str
    position: Position
    at: float
    keeps: int
    status: Status | None = None
    stop: int | None = None


def points_in(events: Sequence[AnyEvent]) -> list[HistoryPoint]:
    """Every point that the run, as it is now, has behind it, in the order of the log."""
    return [point for number, event in events_that_count(events) if (point := _point(number, event)) is not None]


def _point(number: int, event: AnyEvent) -> HistoryPoint | None:
    match event:
        case Stopped():
            position: Position = event.position  # type: ignore[assignment]
            where = (event.frame, event.step, event.occurrence, position)
            return HistoryPoint(number, *where, event.at, number, stop=event.stop)
        case StepStarted():
            where = (event.frame, event.step, event.occurrence, "before")
            return HistoryPoint(number, *where, event.at, number - 1)
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


def way_back(current: Frame, frames: Iterable[Frame], point: HistoryPoint) -> GoBack:
    """What the engine has to do to be at the point again: start the lowest frame anew that both have in common."""
    by_id = {frame.id: frame for frame in frames}
    line = [frame.id for frame in current.lineage()]
    candidate: Frame | None = by_id.get(point.frame)
    while candidate is not None and candidate.id not in line:
        candidate = candidate.parent
    if candidate is None:
        raise UnknownPoint(point.number)
    return GoBack(candidate.id, point.frame, point.occurrence, point.position, point.keeps)


def frames_cut(events: Iterable[AnyEvent], back: GoBack) -> set[str]:
    """The frames whose events after the point would be undone."""
    opened: dict[str, tuple[int, str | None]] = {}
    for number, event in events_that_count(events):
        if isinstance(event, FrameOpened):
            opened.setdefault(event.frame, (number, event.parent))
    return frames_after(opened, back.point_frame, back.frame, back.after)


def external_steps(plan: Plan, events: Sequence[AnyEvent], back: GoBack) -> list[str]:
    """The steps whose effects cannot be undone and which would run again: those that ended, and those at work now."""
    cut, under = frames_cut(events, back), frames_under(events, back.frame)
    undone: dict[str, str] = {}
    for number, event in events_that_count(events):
        if isinstance(event, StepStarted) and event.frame in under:
            undone[event.occurrence] = event.step
        elif isinstance(event, StepFinished) and (number <= back.after or event.frame not in cut):
            undone.pop(event.occurrence, None)
    steps = (plan.steps.get(path) for path in dict.fromkeys(undone.values()))
    return [step.path for step in steps if step is not None and step.effects == "external"]


async def scope_at(run: Run, events: Sequence[AnyEvent], point: HistoryPoint) -> Snapshot:
    """How the scope was at a point: the log up to there is replayed, and nothing is run."""
    first = next((event for event in events if isinstance(event, RunStarted)), None)
    if first is None:
        raise UnknownPoint(point.number)
    replay = _Replay(point)
    log = MemoryLog(events[: point.keeps])
    shadow = Run(run.plan, dict(first.inputs), run.ports, log=log, hook=replay)
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
        self._run: Run | None = None

    def wants(self, step: Step, position: Position) -> bool:
        return True

    def returns_to(self, occurrence: str, position: Position) -> bool:
        return (occurrence, position) == self._target

    async def at(self, point: Point) -> Verdict:
        if self.found is None:
            self._look(point.activation, point.position)
        elif self._run is not None:
            self._run.abort("found")  # it has begun to clean up: that is not to run either
        await asyncio.get_running_loop().create_future()
        return PROCEED

    def _look(self, activation: Activation, position: Position) -> None:
        if (activation.occurrence, position) == self._target and self._run is not None:
            self.found = activation.scope.snapshot()
            self._run.abort("found")

    def attach(self, run: Run) -> None:
        self._run = run

    def run_started(self) -> None:
        pass

    def frames_opened(self, frames: Sequence[Frame], opener: str, *, is_waited_for: bool) -> None:
        pass

    def frame_ended(self, frame: Frame) -> None:
        pass

    def frame_rewound(self, frame: Frame) -> None:
        pass

    async def run_ending(self, root: Activation, outcome: Outcome) -> Verdict:
        self._look(root, "after")
        return PROCEED

    def run_ended(self, outcome: Outcome) -> None:
        pass
