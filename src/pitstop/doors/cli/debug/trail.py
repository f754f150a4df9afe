"""What the events of a run tell about where things are: a fold that the prompt looks things up in."""

import re
from collections.abc import Iterable, Mapping
from typing import Any

from msgspec import Struct, field

from pitstop.service.debugging import FrameInfo, StopInfo
from pitstop.service.flows import StepInfo
from pitstop.service.runs import EventInfo

_TURN = re.compile(r"[@#]\d+|\[\d+\]")


class Caller(Struct, frozen=True):
    """One line of a call stack: a step that is open, and the frame that it is in."""

    frame: str
    occurrence: str
    step: StepInfo | None
    is_current: bool = False


class Trail(Struct):
    """`apply` takes the next event; kinds that it does not know change nothing."""

    steps: Mapping[str, StepInfo]
    openers: dict[str, str] = field(default_factory=dict)  # by frame, the occurrence that opened it
    beside: set[str] = field(default_factory=set)  # frames that nobody waits for
    frame_of: dict[str, str] = field(default_factory=dict)  # by occurrence
    last_occurrence: dict[str, str] = field(default_factory=dict)  # by path
    started_at: dict[str, float] = field(default_factory=dict)  # by occurrence

    def apply(self, event: EventInfo) -> None:
        fields = event.fields
        match event.kind:
            case "frame.opened":
                self.openers[fields["frame"]] = fields["step"] or ""
                opener = self.steps.get(path_of(fields["step"] or ""))
                if opener is not None and opener.kind == "background":
                    self.beside.add(fields["frame"])
            case "step.started":
                self._enter(fields)
                self.started_at[fields["occurrence"]] = event.at
            case "debug.outcome_forced":  # it may have run in a terminal
                self._enter(fields)

    def _enter(self, fields: Mapping[str, Any]) -> None:
        self.frame_of[fields["occurrence"]] = fields["frame"]
        self.last_occurrence[fields["step"]] = fields["occurrence"]

    def callers(self, stop: StopInfo, frames: Iterable[FrameInfo]) -> list[Caller]:
        """The steps that are open around a stop, across frames, the outermost first."""
        parents = {frame.id: frame.parent for frame in frames}
        frame: str = stop.frame
        found = [Caller(frame, stop.occurrence, self.steps.get(stop.step), is_current=True)]
        around = _around(stop.occurrence)
        while around:
            if self.openers.get(frame) == without_turn(around):
                frame = parents.get(frame) or frame
            found.append(Caller(frame, around, self.steps.get(path_of(around))))
            around = _around(around)
        return found[::-1]

    def occurrence_of(self, step: str) -> str | None:
        """The last execution of a step, by its path, its id or the occurrence itself."""
        if step in self.frame_of:
            return step
        paths = [path for path, each in self.steps.items() if step in (path, each.id)]
        return next((self.last_occurrence[path] for path in paths if path in self.last_occurrence), None)


def _around(occurrence: str) -> str:
    """The occurrence that encloses it: of a tool call, the call or the step that makes it."""
    return occurrence.rpartition("/" if "/" in occurrence else ".")[0]


def path_of(occurrence: str) -> str:
    """The path of the step that an occurrence is one of."""
    return _TURN.sub("", occurrence)


def label_of(occurrence: str) -> str:
    """A short name for what an occurrence writes: that of the step, with the turn of the loop that it is in."""
    name = re.sub(r"#\d+", "", occurrence)
    turn = name.rfind("[")
    return name[name.rfind(".", 0, turn if turn >= 0 else None) + 1 :]


def without_turn(occurrence: str) -> str:
    """`checks[1]` is a turn of the occurrence `checks`, which has opened the frame that the turn is in."""
    return re.sub(r"\[\d+\]$", "", occurrence)
