"""What of a log still counts: all that happened, without what was undone by going back."""

from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence

from pitstop.events.types import AnyEvent, FrameOpened, Rewound, SnapshotTaken

Numbered = tuple[int, AnyEvent]


class Counting:
    """Follows a log. An event costs the same however long the log is, and so does going back over a part of it."""

    __slots__ = ("_snapshots", "events", "last_event", "opened", "parents")

    def __init__(self) -> None:
        self.last_event = 0
        self.events: list[Numbered] = []  # those that count, each with its number
        self.opened: dict[str, tuple[int, str | None]] = {}  # frames that count: their first event, and parent
        self.parents: dict[str, str | None] = {}  # of all frames there ever were
        self._snapshots: dict[tuple[str, str], list[tuple[int, str]]] = {}  # by occurrence and position

    def follow(self, events: Iterable[AnyEvent]) -> "Counting":
        """Take what has happened since."""
        for number, event in enumerate(events, self.last_event + 1):
            self.last_event = number
            if isinstance(event, FrameOpened):
                self.opened.setdefault(event.frame, (number, event.parent))
                self.parents[event.frame] = event.parent
            elif isinstance(event, SnapshotTaken):
                place = (event.occurrence, event.position)
                self._snapshots.setdefault(place, []).append((number, event.snapshot))
            elif isinstance(event, Rewound):
                self._cut(event)
            self.events.append((number, event))
        return self

    def after(self, number: int) -> Sequence[Numbered]:
        """Those with a number above this one."""
        return self.events[self._index(number) :]

    def under(self, frame: str) -> set[str]:
        """The frame and every one that it, or one of those, has ever opened."""
        found = {frame}
        for name, parent in self.parents.items():
            if parent in found:
                found.add(name)
        return found

    def snapshot_at(self, occurrence: str, position: str, number: int) -> str | None:
        """The last snapshot that was taken at a place, up to an event."""
        taken = self._snapshots.get((occurrence, position), ())
        return next((snapshot for each, snapshot in reversed(taken) if each <= number), None)

    def _index(self, number: int) -> int:
        return bisect_right(self.events, number, key=lambda each: each[0])

    def _cut(self, event: Rewound) -> None:
        after = event.after
        cut = frames_after(self.opened, event.point_frame, event.frame, after)
        index = self._index(after)
        tail, self.events[index:] = self.events[index:], ()
        for number, each in tail:
            if getattr(each, "frame", None) not in cut:
                self.events.append((number, each))
            elif isinstance(each, SnapshotTaken):
                self._snapshots[each.occurrence, each.position].remove((number, each.snapshot))
        self.opened = opened_still(self.opened, cut, event)


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
