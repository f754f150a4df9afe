"""Each step of a run, each time that it ran, as its events tell it."""

from collections.abc import AsyncIterator
from contextlib import aclosing

from msgspec import Struct

from pitstop.events.log import events_from_json
from pitstop.events.view import RunView, StepView, fold
from pitstop.service.runs import ENDED, ActiveRun, EventInfo


class OccurrenceInfo(Struct, frozen=True, kw_only=True):
    """One occurrence of a step. Times are seconds since the epoch; `attempt` counts from 1."""

    path: str
    occurrence: str
    frame: str
    status: str
    started_at: float | None = None
    ended_at: float | None = None
    running_seconds: float = 0.0  # up to the end, or the last event
    paused_seconds: float = 0.0
    attempt: int = 1
    error: str | None = None


async def events_so_far(run: ActiveRun) -> AsyncIterator[EventInfo]:
    """The events that the run has now: it does not wait for more."""
    last = (await run.info()).last_event
    if last:
        async with aclosing(run.events()) as events:  # type: ignore[type-var]
            async for event in events:
                yield event
                if event.number >= last:
                    return


async def occurrences(run: ActiveRun) -> tuple[OccurrenceInfo, ...]:
    """The steps that were reached so far, in the order in which they began."""
    told = [event.as_json() async for event in events_so_far(run)]
    view = fold(events_from_json(told), run.carried_over)
    return tuple(_tell(step, view) for step in view.steps.values())


def _tell(step: StepView, view: RunView) -> OccurrenceInfo:
    outcome, status, ended_at = step.outcome, step.status, step.ended_at
    if outcome is None and view.status in ENDED:  # the run was cut off under it
        status, ended_at = "cancelled", view.last_at
    lasted = step.clock.durations(view.last_at)
    attempt = step.occurrence.rpartition("#")[2]
    return OccurrenceInfo(
        path=step.step,
        occurrence=step.occurrence,
        frame=step.frame,
        status=status,
        started_at=step.started_at,
        ended_at=ended_at,
        running_seconds=lasted.ran,
        paused_seconds=lasted.paused,
        attempt=int(attempt) if "#" in step.occurrence and attempt.isdigit() else 1,
        error=None if outcome is None or outcome.error is None else str(outcome.error),
    )
