"""Numbers for stack frames and values: unique in a session and never used twice."""

from collections import OrderedDict
from collections.abc import Iterable
from itertools import count
from typing import Protocol

from msgspec import Struct

from pitstop.doors.dap.protocol.failures import stale
from pitstop.doors.dap.protocol.messages import Variable

MOST_KEPT = 1000


class FrameRef(Struct, frozen=True):
    """A stack frame: a step that is open in a branch. `stop` is None for a branch that goes on with a long step."""

    stop: int | None
    branch: str
    step: str | None
    depth: int


class Holder(Protocol):
    """A value with others in it."""

    @property
    def stop(self) -> int | None:
        """What it lives as long as; None for what is kept for longer."""
        ...

    @property
    def kind(self) -> str: ...

    @property
    def path(self) -> str | None:
        """Where it is, if it is somewhere that can be set."""
        ...

    async def children(self, start: int, count: int | None) -> list[Variable]: ...


class References:
    """What the numbers mean, until the run goes on; what a console has shown stays a while longer."""

    def __init__(self) -> None:
        self._frame_numbers = count(1)
        self._value_numbers = count(1)
        self._frames: dict[int, FrameRef] = {}
        self._holders: dict[int, Holder] = {}
        self._kept: OrderedDict[int, Holder] = OrderedDict()

    def number_frame(self, frame: FrameRef) -> int:
        number = next(self._frame_numbers)
        self._frames[number] = frame
        return number

    def frame(self, number: int) -> FrameRef:
        try:
            return self._frames[number]
        except KeyError:
            raise stale(f"stack frame {number}") from None

    def number_holder(self, holder: Holder) -> int:
        number = next(self._value_numbers)
        if holder.stop is not None:
            self._holders[number] = holder
            return number
        self._kept[number] = holder
        if len(self._kept) > MOST_KEPT:
            self._kept.popitem(last=False)
        return number

    def is_kept(self, number: int) -> bool:
        """Whether a console has shown it, so that it can be opened whatever the run does."""
        return number in self._kept

    def holder(self, number: int) -> Holder:
        found = self._holders.get(number) or self._kept.get(number)
        if found is None:
            raise stale(f"value {number}")
        return found

    def forget(self, stops: Iterable[int]) -> None:
        """These stops are over."""
        over = set(stops)
        self._frames = {number: each for number, each in self._frames.items() if each.stop not in over}
        self._holders = {number: each for number, each in self._holders.items() if each.stop not in over}

    def forget_all(self) -> None:
        """The run goes on."""
        self._frames.clear()
        self._holders.clear()

    def forget_under(self, stop: int, path: str) -> None:
        """The value at a path was changed: what was inside it is no more."""
        self._holders = {
            number: each
            for number, each in self._holders.items()
            if each.stop != stop or not (each.path or "").startswith(path)
        }
