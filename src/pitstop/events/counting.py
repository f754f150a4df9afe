"""What of a log still counts: all that happened, without what was undone by going back, and with what was redone."""

from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from operator import itemgetter
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from pitstop.events.outcome import Status
from pitstop.events.types import (
    AnyEvent,
    FrameOpened,
    OutcomeForced,
    Resumed,
    RewindUndone,
    Rewound,
    SnapshotTaken,
    StepFinished,
    StepStarted,
    Stopped,
)

Numbered = tuple[int, AnyEvent]
STEP_EVENTS = (StepStarted, StepFinished, OutcomeForced)  # isinstance is many times slower with a union
NumberedStep = tuple[int, StepStarted | StepFinished | OutcomeForced]
FORWARD = "forward"
GOING_BACK = ("step_back", "rewind", "goto")  # the last of them may go ahead as well: then it has a target


class Future(Struct, frozen=True):
    """What a rewind has undone, and the stop that it was asked for at: where undoing the rewind leads."""

    number: int  # of the rewind
    event: Rewound
    stop: Stopped
    stop_number: int
    undone: Sequence[Numbered]
    opened: Mapping[str, tuple[int, str | None]]  # the frames that counted before it


class Counting:
    """Follows a log. An event costs the same however long the log is, and so does going back over a part of it."""

    __slots__ = (
        "_leaving",
        "_returning",
        "_snapshots",
        "_stops",
        "events",
        "futures",
        "last_event",
        "opened",
        "parents",
        "steps",
    )

    def __init__(self) -> None:
        self.last_event = 0
        self.events: list[Numbered] = []  # those that count, each with its number
        self.steps: dict[str, list[NumberedStep]] = {}  # those of them by frame that are starts and ends of steps
        self.opened: dict[str, tuple[int, str | None]] = {}  # frames that count: their first event, and parent
        self.parents: dict[str, str | None] = {}  # of all frames there ever were
        self.futures: list[Future] = []  # that can be returned to: no step has finished since
        self._snapshots: dict[tuple[str, str], list[tuple[int, str]]] = {}  # by occurrence and position
        self._stops: dict[int, tuple[int, Stopped]] = {}  # those that last, with their numbers
        self._returning: dict[int, Future] = {}  # that a command returns to, by the number of the rewind
        self._leaving: list[tuple[int, Stopped]] = []  # those that were left to go back, which has not come about yet

    def follow(self, events: Iterable[AnyEvent]) -> "Counting":
        """Take what has happened since."""
        for number, event in enumerate(events, self.last_event + 1):
            self.last_event = number
            numbered: Any = (number, event)  # the same in both lists
            # Each stop follows the log, and `isinstance` is slow for a struct of another class
            if type(event) is StepStarted:
                self.steps.setdefault(event.frame, []).append(numbered)
            elif type(event) is StepFinished or type(event) is OutcomeForced:
                self.steps.setdefault(event.frame, []).append(numbered)
                if self.futures and event.outcome.status is not Status.CANCELLED:
                    self._end_futures(event.frame)
            elif type(event) is Stopped:
                self._stops[event.stop] = (number, event)
            elif type(event) is Resumed:
                self._leave_stop(event)
            elif type(event) is SnapshotTaken:
                self._add_snapshot(number, event)
            elif type(event) is FrameOpened:
                self.opened.setdefault(event.frame, (number, event.parent))
                self.parents[event.frame] = event.parent
            elif type(event) is RewindUndone:
                self._undo_rewind(event)
            elif type(event) is Rewound:
                self._rewind(number, event)
            self.events.append(numbered)
        return self

    def _end_futures(self, frame: str) -> None:
        """A step of the frame has finished."""
        self.futures = [each for each in self.futures if frame not in self.under(each.event.frame)]

    def _leave_stop(self, event: Resumed) -> None:
        left = self._stops.pop(event.stop, None)
        if left is not None and event.verb in GOING_BACK and not event.targets:
            self._leaving.append(left)
        elif event.verb == FORWARD and (future := self.future_of(event.frame)) is not None:
            self._returning[future.number] = future  # whatever ends until the frame returns

    def _add_snapshot(self, number: int, event: SnapshotTaken) -> None:
        self._snapshots.setdefault((event.occurrence, event.position), []).append((number, event.snapshot))

    def _rewind(self, number: int, event: Rewound) -> None:
        opened, under = self.opened, self.under(event.frame)
        undone = self._cut(event)
        left = next((each for each in reversed(self._leaving) if each[1].frame in under), None)
        self._leaving = [each for each in self._leaving if each[1].frame not in under]
        self.futures = [each for each in self.futures if each.event.frame == event.frame]
        if left is not None:
            self.futures.append(Future(number, event, left[1], left[0], undone, opened))

    def _undo_rewind(self, event: RewindUndone) -> None:
        future = self._returning.pop(event.undoes, None)
        if future is None:
            return
        self._cut(replace(future.event, after=future.number))  # what its frames did since then
        self.futures = [each for each in self.futures if each.number < future.number]
        self.events = sorted([*self.events, *future.undone], key=lambda each: each[0])
        for number, each in future.undone:
            if isinstance(each, SnapshotTaken):
                self._add_snapshot(number, each)
            elif isinstance(each, STEP_EVENTS):
                self.steps.setdefault(each.frame, []).append((number, each))
        self.opened = {**self.opened, **future.opened}
        self._cut(event)

    def after(self, number: int) -> Sequence[Numbered]:
        """Those with a number above this one."""
        return self.events[_index(self.events, number) :]

    def under(self, frame: str) -> set[str]:
        """The frame and every one that it, or one of those, has ever opened."""
        found = {frame}
        for name, parent in self.parents.items():
            if parent in found:
                found.add(name)
        return found

    def future_of(self, frame: str) -> Future | None:
        """What a stop in this frame can return to."""
        for each in reversed(self.futures):
            if frame in self.under(each.event.frame):
                return each
        return None

    def snapshot_at(self, occurrence: str, position: str, number: int) -> str | None:
        """The last snapshot that was taken at a place, up to an event."""
        taken = self._snapshots.get((occurrence, position), ())
        return next((snapshot for each, snapshot in reversed(taken) if each <= number), None)

    def _cut(self, event: Rewound) -> list[Numbered]:
        """Remove what does not count any more; returns it."""
        after = event.after
        undone: list[Numbered] = []
        cut = frames_after(self.opened, event.point_frame, event.frame, after)
        for name in cut & self.steps.keys():
            del self.steps[name][_index(self.steps[name], after) :]
        index = _index(self.events, after)
        tail, self.events[index:] = self.events[index:], ()
        for number, each in tail:
            if getattr(each, "frame", None) not in cut:
                self.events.append((number, each))
                continue
            undone.append((number, each))
            if isinstance(each, SnapshotTaken):
                self._snapshots[each.occurrence, each.position].remove((number, each.snapshot))
        self.opened = opened_still(self.opened, cut, event)
        return undone


def _index(events: Sequence[tuple[int, object]], number: int) -> int:
    return bisect_right(events, number, key=itemgetter(0))


def frames_after(opened: Mapping[str, tuple[int, str | None]], frame: str, top: str, after: int) -> set[str]:
    """The frames in which all that came after event number `after` is undone by going back to that point of `frame`.

    They are the frame, those it came from up to `top`, in which it starts again, and what any of them opened later.
    What ran beside them is not touched. `opened` has each frame's number in the log and its parent, in their order.
    """
    cut = {top}
    ancestor: str | None = frame
    while ancestor is not None and ancestor != top:
        cut.add(ancestor)
        ancestor = opened[ancestor][1] if ancestor in opened else None
    for name, (number, parent) in opened.items():
        if number > after and parent in cut:
            cut.add(name)
    return cut


def opened_still(
    opened: Mapping[str, tuple[int, str | None]], cut: set[str], event: Rewound
) -> dict[str, tuple[int, str | None]]:
    """Without those that were opened after the point; the frame that went back is open, whenever that was."""
    return {
        name: known
        for name, known in opened.items()
        if known[0] <= event.after or name not in cut or name == event.frame
    }


def frames_again(opened: Mapping[str, tuple[int, str | None]], frame: str, since: int) -> set[str]:
    """The frame, and those under it that are opened again when it starts again with what came after event `since`."""
    under = {frame}
    for name, (_, parent) in opened.items():
        if parent in under:
            under.add(name)
    return {name for name in under if name == frame or opened[name][0] > since}


def events_that_count(events: Iterable[AnyEvent]) -> list[Numbered]:
    """The events, each with its number, without what was undone by going back."""
    return Counting().follow(events).events
