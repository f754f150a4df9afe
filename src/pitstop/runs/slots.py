"""Worker slots: how many runs of a server may work at once, and who of those that wait is next."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager
from itertools import count

from msgspec import Struct


class Waiting(Struct, frozen=True):
    """A run that waits for a slot. `number` is its place in the order of arrival."""

    flow: str
    priority: int
    number: int
    run: str = ""


def next_of(waiting: Iterable[Waiting], working: Mapping[str, int]) -> Waiting | None:
    """Whose turn it is: the highest priority, then the flow with the fewest runs at work, then who came first."""
    return min(waiting, key=lambda each: (-each.priority, working.get(each.flow, 0), each.number), default=None)


class Slots:
    """Hands out slots. A run that stands still gives its slot back, and takes it again without waiting for it:
    somebody is there who has just told it to go on. Others wait until the count is right again.
    """

    def __init__(self, slots: int) -> None:
        if slots < 1:
            raise ValueError(f"a server needs at least one slot, but got {slots}")
        self.slots = slots
        self._working: Counter[str] = Counter()
        self._waiting: dict[Waiting, asyncio.Future[None]] = {}
        self._numbers = count(1)

    @property
    def working(self) -> int:
        return self._working.total()

    @property
    def waiting(self) -> int:
        return len(self._waiting)

    @asynccontextmanager
    async def taken(self, flow: str, priority: int = 0, run: str = "") -> AsyncIterator["Slot"]:
        """A slot for as long as the context lasts; waits for its turn, or for `let_in` of this run."""
        await self._wait_turn(Waiting(flow, priority, next(self._numbers), run))
        slot = Slot(self, flow)
        try:
            yield slot
        finally:
            slot.give_back()

    async def _wait_turn(self, turn: Waiting) -> None:
        if self.working < self.slots and not self._waiting:
            self._working[turn.flow] += 1
            return
        called = asyncio.get_running_loop().create_future()
        self._waiting[turn] = called
        try:
            await called
        except asyncio.CancelledError:
            if called.done() and not called.cancelled():  # its turn came as it left
                self.end(turn.flow)
            raise
        finally:
            self._waiting.pop(turn, None)

    def let_in(self, run: str) -> None:
        """Let a run that waits go on now, because all it has left to do is to end."""
        for turn in [each for each in self._waiting if each.run == run]:
            self._call(turn)

    def begin(self, flow: str) -> None:
        """Count a run as at work, whether there is a slot or not."""
        self._working[flow] += 1

    def end(self, flow: str) -> None:
        """Give a slot back, to whoever is next."""
        self._working[flow] -= 1
        if not self._working[flow]:
            del self._working[flow]
        while self.working < self.slots:
            turn = next_of(self._waiting, self._working)
            if turn is None:
                return
            self._call(turn)

    def _call(self, turn: Waiting) -> None:
        called = self._waiting.pop(turn)
        if not called.done():  # else it was cancelled, and is about to leave
            self._working[turn.flow] += 1
            called.set_result(None)


class Slot:
    """The slot of one run: given back while it stands still."""

    def __init__(self, slots: Slots, flow: str) -> None:
        self._slots = slots
        self._flow = flow
        self._is_held = True

    def give_back(self) -> None:
        if self._is_held:
            self._is_held = False
            self._slots.end(self._flow)

    def take_again(self) -> None:
        if not self._is_held:
            self._is_held = True
            self._slots.begin(self._flow)
