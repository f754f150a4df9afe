"""What a log looks like when stepping, pausing and breakpoints keep their word: a second opinion, from events alone."""

import re
from dataclasses import dataclass, field, replace

from pitstop.events.types import (
    Aborted,
    AllContinued,
    AnyEvent,
    BreakpointRemoved,
    BreakpointSet,
    Detached,
    FrameEnded,
    FrameOpened,
    PauseAsked,
    PauseCancelled,
    Resumed,
    StepStarted,
    StopEnded,
    Stopped,
)

Address = tuple[str, ...]


def address(occurrence: str) -> Address:
    """An occurrence as the steps it is in, the attempts left out: `5[3].poll#2` -> ("5", "[3]", "poll")."""
    parts: list[str] = []
    for segment in occurrence.split(".") if occurrence else []:
        name, *turns = re.split(r"(?=\[)", re.sub(r"#\d+", "", segment))
        parts += [name, *turns]
    return tuple(parts)


def enclosing(inner: Address) -> Address:
    """The step around a step: a turn of a loop is no step."""
    outer = inner[:-1]
    while outer and outer[-1].startswith("["):
        outer = outer[:-1]
    return outer


@dataclass(frozen=True)
class Command:
    """A step command on its way: it lets no step of `frame` run outside `passes`."""

    verb: str
    frame: str
    began: Address | None
    passes: Address | None
    dies_with_frame: bool = False

    def may_not_run(self, frame: str, at: Address) -> bool:
        return frame == self.frame and (self.passes is None or at[: len(self.passes)] != self.passes)

    def is_inside(self, at: Address) -> bool:
        return self.began is not None and at[: len(self.began)] == self.began


@dataclass
class Model:
    """Follows a log and says where it breaks a promise."""

    commands: list[Command] = field(default_factory=list)
    parents: dict[str, str | None] = field(default_factory=dict)
    pausing: set[str] = field(default_factory=set)
    paused: set[str] = field(default_factory=set)
    done: set[str] = field(default_factory=set)
    stops: dict[int, Stopped] = field(default_factory=dict)
    breakpoints: dict[int, str] = field(default_factory=dict)
    stopped_before: set[tuple[str, str]] = field(default_factory=set)
    entries: int = 0
    runs_to: bool = False  # somewhere: then any step may come to rest for it
    is_detached: bool = False

    def check(self, events: list[AnyEvent]) -> None:
        for event in events:
            self._apply(event)

    def _line(self, frame: str) -> list[str]:
        line: list[str] = []
        ancestor: str | None = frame
        while ancestor is not None:
            line.append(ancestor)
            ancestor = self.parents.get(ancestor)
        return line

    def _apply(self, event: AnyEvent) -> None:
        match event:
            case Stopped():
                self._stopped(event)
            case Resumed():
                self._resumed(event)
            case StopEnded():
                self.paused.discard(event.frame)
            case StepStarted():
                self._started(event)
            case FrameOpened():
                self._opened(event)
            case FrameEnded():
                self._ended(event)
            case PauseAsked():
                wanted = self.parents if event.frame is None else [event.frame]
                self.pausing |= {frame for frame in wanted if frame not in self.paused | self.done}
            case PauseCancelled():
                self.pausing -= self.pausing.copy() if event.frame is None else {event.frame}
            case AllContinued():
                self.pausing.clear()
                self.commands.clear()
            case Detached() | Aborted():
                self.pausing.clear()
                self.commands.clear()
                self.is_detached = self.is_detached or isinstance(event, Detached)
            case BreakpointSet():
                kept = event.breakpoint
                is_sure = not (set(kept) & {"condition", "hits", "log", "state", "once"}) and kept["enabled"]
                if is_sure and kept["position"] == "before" and "step" in kept:
                    self.breakpoints[int(kept["id"])] = str(kept["step"])
            case BreakpointRemoved():
                self.breakpoints.pop(event.breakpoint, None)
            case _:
                pass

    def _stopped(self, event: Stopped) -> None:
        at, line = address(event.occurrence), self._line(event.frame)
        assert not self.is_detached, f"stop {event.stop} although the session was detached"
        if "step" in event.reasons:
            due = any(command.may_not_run(event.frame, at) for command in self.commands)
            assert event.position == "before", "a step came to rest after a step"
            assert due or self.runs_to, f"stop {event.stop}: no step was to rest at {event.occurrence}"
        if "pause" in event.reasons:
            assert event.frame in self.pausing, f"stop {event.stop}: nobody asked {event.frame} to pause"
        if "entry" in event.reasons:
            self.entries += 1
            assert self.entries == 1, "there is one entry"
        self.pausing.discard(event.frame)
        self.paused.add(event.frame)
        self.stops[event.stop] = event
        if event.position == "before":
            self.stopped_before.add((event.frame, event.occurrence))
        self.commands = [each for each in self.commands if not self._is_ended(each, event.frame, line, at)]

    def _is_ended(self, command: Command, frame: str, line: list[str], at: Address) -> bool:
        return frame == command.frame or (command.frame in line and command.is_inside(at))

    def _resumed(self, event: Resumed) -> None:
        stop = self.stops[event.stop]
        at = address(stop.occurrence)
        self.paused.discard(event.frame)
        match event.verb:
            case "step_into":
                self.commands.append(Command("into", event.frame, at, None))
            case "step_over":
                self.commands.append(Command("over", event.frame, at, at))
            case "step_out":
                around = enclosing(at)
                self.commands.append(Command("out", event.frame, around, around))
            case "run_to":
                self.runs_to = True
            case _:
                pass

    def _started(self, event: StepStarted) -> None:
        at = address(event.occurrence)
        if (event.frame, event.occurrence) in self.stopped_before:  # it stood before this very step, and was let go
            self.stopped_before.discard((event.frame, event.occurrence))
            return
        for command in self.commands:
            assert not command.may_not_run(event.frame, at), f"{command} let {event.occurrence} run"
        assert event.frame not in self.pausing, f"{event.frame} was asked to pause, and ran {event.occurrence}"
        is_due = event.step in self.breakpoints.values() and not self.is_detached
        assert not is_due, f"the breakpoint at {event.step} let {event.occurrence} run"

    def _opened(self, event: FrameOpened) -> None:
        self.parents[event.frame] = event.parent
        self.done.discard(event.frame)
        if event.parent is None:
            return
        if event.parent in self.pausing:
            self.pausing.add(event.frame)
        opener = address(event.step or "")
        arm = Command("into", event.frame, None, None, dies_with_frame=True)
        for command in list(self.commands):
            if command.frame != event.parent:
                continue
            goes_in = command.verb == "into" and command.is_inside(opener)
            is_passed = command.passes is not None and opener[: len(command.passes)] == command.passes
            if goes_in:
                self.commands.append(arm)
            elif not is_passed and command.verb != "forked":
                self.commands.remove(command)
                self.commands += [replace(command, verb="forked", frame=f"fork of {event.parent}"), arm]
        if arm not in self.commands and any(each.frame == f"fork of {event.parent}" for each in self.commands):
            self.commands.append(arm)

    def _ended(self, event: FrameEnded) -> None:
        self.done.add(event.frame)
        self.pausing.discard(event.frame)
        parent = self.parents.get(event.frame)
        kept: list[Command] = []
        for command in self.commands:
            if command.frame == f"fork of {parent}":
                continue
            if command.frame != event.frame:
                kept.append(command)
            elif not command.dies_with_frame and parent is not None:
                kept.append(Command("over", parent, None, None))
        self.commands = kept
