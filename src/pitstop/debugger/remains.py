"""What a session left in the log of a run whose process ended: all that the next one needs to take its place."""

import re
from collections.abc import Sequence
from typing import Any

from msgspec import Struct, field
from msgspec.structs import replace

from pitstop.debugger.stepping import Goal, StepVerb, after_frame, at_fork, goal_of, is_ended_by
from pitstop.engine.frame import MAIN
from pitstop.events.counting import FORWARD, GOING_BACK, frames_after, frames_again
from pitstop.events.outcome import Status
from pitstop.events.types import (
    Aborted,
    AllContinued,
    AnyEvent,
    BreakpointHit,
    BreakpointSet,
    ChangedAtStop,
    ConfigOverridden,
    Detached,
    EditUndone,
    FrameEnded,
    FrameOpened,
    LeaseEnded,
    LeaseExtended,
    OutcomeForced,
    Resumed,
    RewindUndone,
    Rewound,
    RunEnded,
    RunStarted,
    ScopeEdited,
    SessionOpened,
    StepFinished,
    StepInjected,
    StepRetried,
    StepStarted,
    StepUninjected,
    StopEnded,
    Stopped,
)
from pitstop.events.view import RunView
from pitstop.plan.plan import Step

Place = tuple[str, str]  # an occurrence and a position

LEASE_LIMIT_SECONDS = 4 * 3600.0
_STEPPING: dict[str, StepVerb] = {"step_into": "into", "step_over": "over", "step_out": "out", "run_to": "to"}
PASS = "pass"  # gone on from as if nobody had stopped there: the steps that the stop has ended are on their way again
_ATTEMPT = re.compile(r"#\d+$")
_TURNS = re.compile(r"(\[\d+\]|#\d+)+$")


class Remembered(Struct, eq=False):
    """A stop as the log has it. What was changed there is not made yet: its frame has not gone on.

    `done` has the edits of the scope with their numbers, and the configs as they were before each that was put in.
    """

    number: int
    event: Stopped
    lease_ends_at: float
    config_before: dict[str, Any] | None = None
    config: dict[str, Any] | None = None
    config_of: str | None = None  # the occurrence that the config is for
    done: list[tuple[int, ScopeEdited] | dict[str, Any] | None] = field(default_factory=list)
    injected: list[str] = field(default_factory=list)  # the paths of the steps that were put in
    steps: dict[str, list[Step]] = field(default_factory=dict)  # these steps, by where they are to run
    verb: str | None = None  # what was said to it, when that is known and it has not gone on
    ended: tuple[Goal, ...] = ()  # the steps that it has ended

    @property
    def place(self) -> Place:
        return self.event.occurrence, self.event.position

    @property
    def edits(self) -> list[tuple[int, ScopeEdited]]:
        return [each for each in self.done if isinstance(each, tuple)]


class Remains(Struct, eq=False):
    """A session, folded from its events as the session itself would have come to be what it was."""

    options: SessionOpened
    view: RunView
    lasting: dict[int, Remembered] = field(default_factory=dict)
    past: list[Remembered] = field(default_factory=list)
    passed: dict[Place, tuple[str, int]] = field(default_factory=dict)  # gone on from, with nothing begun there yet
    begun: dict[Place, tuple[str, int]] = field(default_factory=dict)  # the same of steps that began, and did not end
    counted: dict[Place, set[int]] = field(default_factory=dict)  # the breakpoints that have counted their hit there
    told: list[dict[str, Any]] = field(default_factory=list)  # every breakpoint as it ever was
    goals: list[Goal] = field(default_factory=list)
    arrivals: dict[Place, str] = field(default_factory=dict)
    failures: set[str] = field(default_factory=set)  # the occurrences whose failure was asked about
    known_frames: set[str] = field(default_factory=set)  # those whose opening has had its effect on the goals
    aborts: int = 0
    abort_reason: str = ""
    is_entered: bool = False
    _backs: list[Remembered] = field(default_factory=list)  # let go to go back, and not there yet
    _configs: dict[str, dict[str, Any]] = field(default_factory=dict)
    _reopening: set[str] = field(default_factory=set)
    _opening: list[FrameOpened] = field(default_factory=list)
    _undone: dict[int, tuple[Rewound, list[Remembered]]] = field(default_factory=dict)  # each rewind, and its stops

    def apply(self, number: int, event: AnyEvent) -> None:
        if isinstance(event, RunStarted):
            self._opening = []  # what was opened last is opened anew, perhaps with others, and has its effect then
        elif not isinstance(event, FrameOpened) or not self._is_opened_with(event):
            self._fork()
        if isinstance(event, RewindUndone):
            self._undo_rewind(event)
        elif isinstance(event, Rewound):
            self._undone[number] = (event, self._go_back(event))
        elif isinstance(event, RunStarted):
            self._reopening |= set(self.view.frames) & self.known_frames
        elif isinstance(event, FrameOpened) and event.frame in self._reopening:
            self._reopening.discard(event.frame)
        elif isinstance(event, FrameOpened):
            self._opening.append(event)
        self.view.apply(event)
        match event:
            case StepStarted():
                if (event.occurrence, "before") in self.passed:
                    self.begun[event.occurrence, "before"] = self.passed.pop((event.occurrence, "before"))
            case StepFinished():
                if event.outcome.is_failure:
                    self.failures.add(event.occurrence)
                if event.outcome.status is not Status.CANCELLED:  # such a step begins again
                    self.begun.pop((event.occurrence, "before"), None)
                    self.counted.pop((event.occurrence, "before"), None)
            case FrameEnded():
                parent = self.view.frames[event.frame].parent
                moved = [after_frame(goal, event.frame, parent) for goal in self.goals]
                self.goals = [goal for goal in moved if goal is not None]
            case Stopped():
                self._stop(number, event)
            case Resumed():
                self._resume(number, event)
            case StopEnded():
                if event.stop in self.lasting:
                    self.past.append(self.lasting.pop(event.stop))
            case _:
                self._apply_command(number, event)

    def _apply_command(self, number: int, event: AnyEvent) -> None:
        match event:
            case AllContinued() | Detached():
                self.goals.clear()
                if isinstance(event, Detached):
                    self.arrivals.clear()
                    self._backs.clear()
                for stop in self.lasting.values():
                    stop.verb = stop.verb or ("detach" if isinstance(event, Detached) else "continue")
            case Aborted():
                self.goals.clear()
                self.aborts, self.abort_reason = self.aborts + 1, event.reason
            case LeaseEnded():
                if event.policy == "continue":
                    self.lasting[event.stop].verb = "continue"
                else:
                    self.aborts, self.abort_reason = self.aborts + 1, f"stop {event.stop} timed out"
            case LeaseExtended():
                for stop in self.lasting.values():
                    stop.lease_ends_at = min(event.at + event.seconds, stop.event.at + LEASE_LIMIT_SECONDS)
            case BreakpointSet():
                self.told.append(event.breakpoint)
            case BreakpointHit():
                self.counted.setdefault((event.occurrence, event.position), set()).add(event.breakpoint)
            case _ if isinstance(event, ChangedAtStop):
                if event.stop in self.lasting:
                    self._change(number, self.lasting[event.stop], event)
            case StepRetried():
                for stop in self.lasting.values():
                    if event.by_hand and stop.event.occurrence == event.occurrence:
                        stop.verb = "retry"
            case _:
                pass

    def _change(self, number: int, stop: Remembered, event: ChangedAtStop) -> None:
        match event:
            case OutcomeForced():
                stop.verb = event.verb
            case ScopeEdited():
                stop.done.append((number, event))
            case EditUndone():
                stop.done.pop()
            case ConfigOverridden():
                if stop.config_of is None:
                    stop.config_of, stop.config_before = event.occurrence, self._configs.get(event.occurrence)
                if event.undoes:
                    stop.done.pop()
                else:
                    stop.done.append(stop.config)
                stop.config = event.config or None
                self._configs[event.occurrence] = event.config
            case StepInjected():
                stop.injected.append(event.step)
            case StepUninjected():
                stop.injected.remove(event.step)

    def _stop(self, number: int, event: Stopped) -> None:
        line, base = self.lineage(event.frame), _ATTEMPT.sub("", event.occurrence)
        names = (event.step, event.occurrence)
        ended = tuple(goal for goal in self.goals if is_ended_by(goal, event.frame, line, base, names))
        self.goals = [goal for goal in self.goals if goal not in ended]
        self.lasting[event.stop] = Remembered(number, event, event.at + self.options.lease_seconds, ended=ended)
        self.arrivals.pop((event.occurrence, event.position), None)
        self._backs = [each for each in self._backs if each.event.frame != event.frame]
        self.is_entered = True

    def _resume(self, number: int, event: Resumed) -> None:
        stop = self.lasting.pop(event.stop, None)
        if stop is None:
            return
        self.past.append(stop)
        if event.verb in (*GOING_BACK, FORWARD) and not event.targets:
            self._backs.append(stop)
            return
        if event.verb == "goto":
            self.arrivals[event.targets[0], "before"] = event.frame
        self.passed[stop.place] = (event.frame, number)
        if event.verb == PASS:
            self.goals += stop.ended
        elif event.verb in _STEPPING:
            base = _ATTEMPT.sub("", stop.event.occurrence)
            around = _TURNS.sub("", base.rpartition(".")[0])
            self.goals.append(goal_of(_STEPPING[event.verb], event.frame, base, around, event.targets))

    def _undo_rewind(self, event: RewindUndone) -> None:
        """Remember what the rewind had undone, and forget what its frames did since then."""
        if event.undoes in self._undone:
            rewound, stops = self._undone.pop(event.undoes)
            self._go_back(replace(rewound, after=event.undoes))
            self.past = sorted([*self.past, *stops], key=lambda each: each.number)
        self._go_back(event)

    def _go_back(self, event: Rewound) -> list[Remembered]:
        """Forget what the rewind undoes; returns the stops that it had."""
        opened = self.view.opened
        cut = frames_after(opened, event.point_frame, event.frame, event.after)
        under = frames_again(opened, event.frame, event.since)
        undone = [each for each in self.past if each.event.frame in cut and each.number >= event.after]
        self.past = [each for each in self.past if each not in undone]
        self.passed = _before(event.after, self.passed, cut)
        self.begun = _before(event.after, self.begun, cut)
        self.counted.clear()
        self.arrivals = {place: frame for place, frame in self.arrivals.items() if frame not in under}
        self.arrivals[event.occurrence, event.position] = event.point_frame
        self._backs = [each for each in self._backs if each.event.frame not in under]
        self.known_frames -= under - {event.frame}
        self._reopening -= under
        if event.frame == MAIN and not event.since:
            self.aborts = 0
        return undone

    def _is_opened_with(self, event: FrameOpened) -> bool:
        """Whether it was opened by the same call as those before it: all of them are made before any runs."""
        return bool(self._opening) and (self._opening[0].parent, self._opening[0].step) == (event.parent, event.step)

    def _fork(self) -> None:
        if self._opening:
            first, children = self._opening[0], [each.frame for each in self._opening]
            self.known_frames.update(children)
            self._opening = []
            if first.parent is not None:
                parent, opener = first.parent, first.step or ""
                self.goals = [new for goal in self.goals for new in at_fork(goal, parent, opener, children)]

    def lineage(self, frame: str) -> list[str]:
        line: list[str] = []
        name: str | None = frame
        while name is not None and name in self.view.frames:
            line.append(name)
            name = self.view.frames[name].parent
        return line

    def close(self) -> None:
        """All events are in: what was on its way back stops where it was left, lest it end silently."""
        for stop in self._backs:
            self.arrivals[stop.place] = stop.event.frame
        self.known_frames &= set(self.view.frames) | self._reopening


def _before(number: int, passed: dict[Place, tuple[str, int]], cut: set[str]) -> dict[Place, tuple[str, int]]:
    """Without what came after that event in the frames that are cut."""
    return {place: gone for place, gone in passed.items() if gone[0] not in cut or gone[1] <= number}


def remains_of(events: Sequence[AnyEvent], carried_over: int = 0) -> Remains | None:
    """The session that the log of a run which has not ended tells of; None when there is none.

    The first `carried_over` events are those of another run, and its session has nothing to do with this one.
    """
    view, remains = RunView(), None
    if not events or isinstance(events[-1], RunEnded):
        return None
    for number, event in enumerate(events, 1):
        if isinstance(event, SessionOpened) and number > carried_over:
            there = {*view.frames, *view.frames_before}  # those of a run in which somebody came to debug it late
            remains = Remains(event, view, known_frames=there, _reopening=set(view.frames_before))
        if remains is None:
            view.apply(event)
        else:
            remains.apply(number, event)
    if remains is not None:
        remains.close()
    return remains
