"""An event loop in which time is virtual and the order of what is ready is drawn from a seed."""

import asyncio
import random
import selectors
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


class _Nothing(selectors.SelectSelector):
    """Waits for no file: where the loop would sleep, time jumps."""

    def __init__(self, loop: "SeededLoop") -> None:
        super().__init__()
        self._loop = loop

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        if timeout is None:
            raise AssertionError("nothing is ready and nothing is planned: the run hangs")
        self._loop.now += max(0.0, timeout)
        return []


class SeededLoop(asyncio.SelectorEventLoop):
    """Runs a coroutine in virtual time; callbacks that are ready together run in an order of the seed's choosing."""

    def __init__(self, seed: int) -> None:
        self.now = 1000.0
        self._random = random.Random(seed)
        super().__init__(_Nothing(self))

    def time(self) -> float:
        return self.now

    def _run_once(self) -> None:
        ready = self._ready  # type: ignore[attr-defined]
        if len(ready) > 1:
            mixed = list(ready)
            self._random.shuffle(mixed)
            ready.clear()
            ready.extend(mixed)
        super()._run_once()  # type: ignore[misc]

    def pending_timers(self) -> int:
        scheduled = self._scheduled  # type: ignore[attr-defined]
        return sum(not handle.cancelled() for handle in scheduled)


def run_seeded(main: Coroutine[Any, Any, T], seed: int) -> T:
    """The coroutine's result; afterwards no task and no timer of it may be left."""
    loop = SeededLoop(seed)
    try:
        asyncio.set_event_loop(loop)
        result = loop.run_until_complete(main)
        left = asyncio.all_tasks(loop)
        assert not left, f"tasks are left: {left}"
        assert not loop.pending_timers(), "timers are left"
        return result
    finally:
        asyncio.set_event_loop(None)
        loop.close()
