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
    running_seconds: float = 0.0
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
    view = fold(events_from_json(told))
    ended_at = told[-1]["at"] if told and view.status in ENDED else None
    return tuple(_tell(step, view, ended_at) for step in view.steps.values())


def _tell(step: StepView, view: RunView, run_ended_at: float | None) -> OccurrenceInfo:
    outcome = step.outcome
    is_paused = any(stop.occurrence == step.occurrence for stop in view.stops.values())
    status = "paused" if is_paused and outcome is None else step.status
    ended_at = step.ended_at
    if outcome is None and run_ended_at is not None:  # the run was cut off under it
        status, ended_at = "cancelled", run_ended_at
    paused = 0.0 if outcome is None else outcome.paused_seconds
    waited = view.held_before.get(step.occurrence, 0.0)
    lasted = 0.0 if ended_at is None or step.started_at is None else ended_at - step.started_at
    attempt = step.occurrence.rpartition("#")[2]
    return OccurrenceInfo(
        path=step.step,
        occurrence=step.occurrence,
        frame=step.frame,
        status=status,
        started_at=step.started_at,
        ended_at=ended_at,
        running_seconds=max(0.0, lasted - max(0.0, paused - waited)),
        paused_seconds=paused,
        attempt=int(attempt) if "#" in step.occurrence and attempt.isdigit() else 1,
        error=None if outcome is None or outcome.error is None else str(outcome.error),
    )
