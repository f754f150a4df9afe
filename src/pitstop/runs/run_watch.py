"""What a server notices of its runs as they go on: slots, the state in the list, and traces."""

import asyncio
from collections.abc import Callable

from opentelemetry import trace

from pitstop.engine.run import COMBINING
from pitstop.events.types import AllStopped, AnyEvent, Resumed, RunEnded, StepFinished, StepStarted, StopEnded, Stopped
from pitstop.plan.plan import Plan
from pitstop.runs.slots import Slot
from pitstop.runs.telling import tell_event
from pitstop.runs.tracing import RunTrace
from pitstop.store.port import RunRecord

Note = Callable[..., None]  # keeps changes of the record, some time soon


class RunWatch:
    """Hears each event of a run. A run of which every frame stands still has no slot.

    `at_work` has the occurrences that do something themselves and have not ended.
    """

    def __init__(self, record: RunRecord, plan: Plan, note: Note, count_event: Callable[[], None]) -> None:
        self.record = record
        self.slot: Slot | None = None
        self.at_work: set[str] = set()
        self._plan = plan
        self._change = asyncio.Event()
        self._note = note
        self._count_event = count_event
        self._is_paused = False
        self._trace = _new_trace(record)

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
        """Until a step has ended, or a frame was stopped."""
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
        self._note(status="paused" if is_paused else "running")
        if self.slot is not None:
            self.slot.give_back() if is_paused else self.slot.take_again()


def _new_trace(record: RunRecord) -> RunTrace | None:
    """Spans are made only where somebody takes them."""
    if isinstance(trace.get_tracer_provider(), trace.ProxyTracerProvider | trace.NoOpTracerProvider):
        return None
    return RunTrace(record.id, record.flow)
