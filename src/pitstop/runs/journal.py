"""The log of a run as its engine writes it: in memory as it happened, and kept without secrets."""

from collections.abc import Callable, Sequence

from pitstop.errors import LogLost
from pitstop.events.types import AnyEvent, RunEnded, SessionOpened, StepFinished
from pitstop.runs.telling import MaskText, masked_event
from pitstop.store.port import KeptRun, RunLog


class Journal:
    """An EventLog over that of a kept run. With secrets the engine has a log of its own, for it needs the true values.

    What a step wrote is ended with the step. Once it is cut, nothing more is kept, and no step begins any more.
    `on_event` is told of each event as it happens, before it is kept.
    """

    __slots__ = ("_events", "_is_cut", "_kept", "_log", "_mask", "_on_event")

    def __init__(
        self, kept: KeptRun, mask: MaskText | None = None, on_event: Callable[[AnyEvent], None] | None = None
    ) -> None:
        self._kept = kept
        self._log = kept.log
        self._mask = mask
        self._on_event = on_event
        self._is_cut = False
        self._events: list[AnyEvent] | None = None if mask is None else list(kept.log.read())

    def append(self, event: AnyEvent) -> None:
        if self._is_cut:
            return
        if self._events is None or self._mask is None:
            self._log.append(event)
        else:
            self._events.append(event)
            self._log.append(masked_event(event, self._mask))
        if type(event) is StepFinished:
            self._kept.end_output(event.occurrence)
        if self._on_event is not None:
            self._on_event(event)

    @property
    def carried_over(self) -> int:
        return self._log.carried_over

    async def settled(self) -> None:
        """Wait until all that was appended is kept. LogLost once it is cut, or the run is another's."""
        if self._is_cut:
            raise LogLost(self._kept.id)
        await self._log.settled()

    def cut(self) -> None:
        """Keep nothing more: whoever goes on with the run begins where the log ends now."""
        self._is_cut = True

    def read(self, after: int = 0) -> Sequence[AnyEvent]:
        return self._log.read(after) if self._events is None else self._events[after:]

    def __len__(self) -> int:
        return len(self._log) if self._events is None else len(self._events)


def had_session(log: RunLog) -> bool:
    """Whether the run was being debugged when its process ended: the session resumes from the log."""
    return any(isinstance(event, SessionOpened) for event in log.read(log.carried_over))


def end_in(log: RunLog) -> RunEnded | None:
    """The end of the run, if it came so far."""
    last = log.read(max(len(log) - 1, log.carried_over))
    return last[0] if last and isinstance(last[0], RunEnded) else None
