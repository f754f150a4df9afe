"""A server's ownership of a run: the slot, the state in the list, traces, and leaving it to another server."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress

from opentelemetry import trace

from pitstop.engine.run import COMBINING
from pitstop.errors import LogLost
from pitstop.events.types import AllStopped, AnyEvent, Resumed, RunEnded, StepFinished, StepStarted, StopEnded, Stopped
from pitstop.runs.groups import Cancel, Groups
from pitstop.runs.run_maker import PreparedRun
from pitstop.runs.slots import Slot, Slots
from pitstop.runs.telling import tell_event
from pitstop.runs.tracing import RunTrace
from pitstop.store.port import KeptRun, RunRecord


class Ownership:
    """What a server notices and decides of one of its runs. A run whose every frame is paused has no slot.

    `left_at` is when the server that owned the run before was last seen. The workspace is stored for `keep_seconds`
    after the end of the run. `at_work` has the occurrences that do something themselves and have not ended.
    """

    def __init__(
        self,
        kept: KeptRun,
        prepared: PreparedRun,
        slots: Slots,
        groups: Groups,
        keep_seconds: float,
        left_at: float | None,
        count_event: Callable[[], None],
    ) -> None:
        self.keep_seconds = keep_seconds
        self.left_at = left_at
        self.at_work: set[str] = set()
        self._kept = kept
        self._record, self._plan = prepared.record, prepared.plan
        self._slots = slots
        self._groups = groups
        concurrency = prepared.planned.flow.concurrency
        self._cancels_others = concurrency is not None and concurrency.cancel
        self._slot: Slot | None = None
        self._count_event = count_event
        self._change = asyncio.Event()
        self._is_paused = False
        self._trace = _new_trace(prepared.record)

    @asynccontextmanager
    async def in_slot(self, cancel: Cancel) -> AsyncIterator[None]:
        """Wait for the other runs of its group, then for a slot, and hold both for as long as the context lasts.

        `cancel` ends this run: a newer one of its group may want that.
        """
        record = self._record
        async with (
            self._groups.turn(record.concurrency, record.id, cancel, cancels_others=self._cancels_others),
            self._slots.taken(record.flow, record.priority, record.id) as self._slot,
        ):
            yield

    def let_in(self) -> None:
        """Let the run wait for its group and a slot no longer: all that remains is to end it."""
        self._groups.let_in(self._record.id)
        self._slots.let_in(self._record.id)

    def take(self, event: AnyEvent) -> None:
        self._count_event()
        if isinstance(event, StepStarted):
            self._begin(event)
        elif isinstance(event, StepFinished):
            self.at_work.discard(event.occurrence)
            self._change.set()
        elif isinstance(event, Stopped):
            self._change.set()
        elif isinstance(event, AllStopped):
            self._set_paused(True)
        elif isinstance(event, Resumed | StopEnded | RunEnded):
            self._set_paused(False)
        if self._trace is not None:
            self._trace.take(tell_event(0, event))

    async def wait_change(self) -> None:
        """Wait until a step ends, or a frame is paused."""
        self._change.clear()
        await self._change.wait()

    def _begin(self, event: StepStarted) -> None:
        step = self._plan.steps.get(event.step)
        if step is None or step.kind not in COMBINING:
            self.at_work.add(event.occurrence)

    def _set_paused(self, is_paused: bool) -> None:
        if is_paused == self._is_paused:
            return
        self._is_paused = is_paused
        with suppress(LogLost):
            self._kept.note(status="paused" if is_paused else "running")
        if self._slot is not None:
            self._slot.give_back() if is_paused else self._slot.take_again()


def _new_trace(record: RunRecord) -> RunTrace | None:
    """Spans are made only where an exporter takes them."""
    if isinstance(trace.get_tracer_provider(), trace.ProxyTracerProvider | trace.NoOpTracerProvider):
        return None
    return RunTrace(record.id, record.flow)
