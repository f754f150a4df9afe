"""A run of a server: it waits for a slot, and can be left to another server."""

import asyncio
from collections.abc import Callable

from pitstop.engine.ports import Clock, Evaluator
from pitstop.runs.live_run import LiveRun
from pitstop.runs.run_maker import PreparedRun
from pitstop.runs.run_snapshots import NewSnapshots
from pitstop.runs.run_watch import RunWatch
from pitstop.runs.slots import Slots
from pitstop.runs.workplaces import OpenWorkplace
from pitstop.store.port import KeptRun, RunStore


class ServerRun(LiveRun):
    """An ActiveRun that goes on without those who asked for it, and without this server if need be."""

    def __init__(
        self,
        new_evaluator: Callable[[], Evaluator],
        store: RunStore,
        kept: KeptRun,
        prepared: PreparedRun,
        open_workplace: OpenWorkplace,
        *,
        watch: RunWatch,
        slots: Slots,
        new_snapshots: NewSnapshots,
        keep_seconds: float,
        clock: Clock,
        left_at: float | None = None,
    ) -> None:
        super().__init__(new_evaluator, store, kept, prepared, open_workplace, watch.take, new_snapshots, clock)
        self._left_at = left_at
        self._watch = watch
        self._slots = slots
        self._keep_seconds = keep_seconds
        self._call_hook = self.wake  # whoever looks at the server finds the stop
        self._is_gone = asyncio.Event()

    def _kept_until(self) -> float:
        return self._clock.now() + self._keep_seconds

    def cancel_now(self, reason: str) -> None:
        super().cancel_now(reason)
        self._slots.let_in(self.id)

    def leave(self) -> None:
        super().leave()
        self._slots.let_in(self.id)

    def set_gone(self) -> None:
        """Nothing of it is left in this process."""
        self._is_gone.set()

    async def wait_gone(self) -> None:
        await self._is_gone.wait()

    def stand_still(self) -> None:
        """Begin no further step; those that are at work go on."""
        self.hold_steps()
        self._slots.let_in(self.id)

    async def wait_still(self) -> None:
        """Until no step is at work: each frame has come to its next step, or to a stop of its debugger."""
        while not self.is_over and self._watch.at_work - self._stopped_occurrences():
            await self._watch.wait_change()

    def _stopped_occurrences(self) -> set[str]:
        return set() if self.session is None else {stop.occurrence for stop in self.session.stops}
