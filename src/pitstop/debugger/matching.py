"""Which breakpoints a point hits: their conditions, watched values and log texts, worked out."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from pitstop.debugger.breakpoints import Breakpoint, Unset
from pitstop.engine.hook import Point
from pitstop.errors import PitstopError
from pitstop.plan.expressions import render, truth

CONDITION_SECONDS = 0.1

# The last value that a state breakpoint saw in a frame
Watched = dict[tuple[int, str], Any]


@dataclass(frozen=True, slots=True)
class Hit:
    """A breakpoint whose place, position and condition fit. A `problem` is why nobody can know: then it stops too."""

    breakpoint: Breakpoint
    message: str | None = None
    problem: str | None = None


async def hits_at(candidates: Iterable[Breakpoint], point: Point, watched: Watched) -> list[Hit]:
    """The breakpoints that the point hits; every one is looked at, whatever the others say."""
    return [hit for each in candidates if (hit := await _hit(each, point, watched)) is not None]


async def _hit(breakpoint: Breakpoint, point: Point, watched: Watched) -> Hit | None:
    activation = point.activation
    if not point.will_run and breakpoint.is_everywhere:
        return None
    try:
        if breakpoint.state is not None:
            if not await _has_changed(breakpoint, point, watched):
                return None
        elif not breakpoint.fits(point.position, is_propagated=point.is_propagated):
            return None
        values = activation.scope.values()
        evaluator = activation.run.ports.evaluator
        condition = breakpoint.condition
        if callable(condition):
            try:
                holds = condition(dict(values))
            except Exception as raised:  # noqa: BLE001 - the user's code: a mistake in it is shown, never swallowed
                return Hit(breakpoint, problem=f"the condition raised {type(raised).__name__}: {raised}")
            if holds is None or holds is False:
                return None
        elif condition is not None and not await truth(condition, values, evaluator, timeout_seconds=CONDITION_SECONDS):
            return None
        if breakpoint.log is None:
            return Hit(breakpoint)
        message = await render(breakpoint.log, values, evaluator, timeout_seconds=CONDITION_SECONDS)
        return Hit(breakpoint, message=str(message))
    except PitstopError as error:
        return Hit(breakpoint, problem=f"breakpoint {breakpoint.id}: {error}")


async def _has_changed(breakpoint: Breakpoint, point: Point, watched: Watched) -> bool:
    activation = point.activation
    evaluator = activation.run.ports.evaluator
    found = await evaluator.evaluate(
        str(breakpoint.state), activation.scope.values(), timeout_seconds=CONDITION_SECONDS
    )
    value = found[0] if len(found) == 1 else found
    key = (breakpoint.id, activation.frame.id)
    is_known = key in watched
    before = watched.get(key)
    watched[key] = value
    if not isinstance(breakpoint.equals, Unset):
        return value == breakpoint.equals and not (is_known and before == value)
    return is_known and before != value
