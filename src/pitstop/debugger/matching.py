"""Which breakpoints a point hits: their conditions, watched values and log texts, worked out."""

import contextlib
from collections.abc import Iterable, Mapping
from typing import Any

from msgspec import UNSET, Struct

from pitstop.debugger.breakpoints import Breakpoint
from pitstop.engine.frame import Activation, Point
from pitstop.engine.verdict import Position
from pitstop.errors import BadExpression, PitstopError
from pitstop.plan.expressions import Evaluator, render, truth
from pitstop.plan.paths import plain_path
from pitstop.plan.plain_conditions import NeedsJq, plain_condition
from pitstop.plan.values import look_up

CONDITION_SECONDS = 0.1

# The last value that a state breakpoint saw in a frame
Watched = dict[tuple[int, str], Any]


class Hit(Struct, frozen=True):
    """A breakpoint whose place, position and condition fit. A `problem` is why nobody can know: then it stops too."""

    breakpoint: Breakpoint
    message: str | None = None
    problem: str | None = None


async def hits_at(candidates: Iterable[Breakpoint], point: Point, watched: Watched) -> list[Hit]:
    """The breakpoints that the point hits; every one is looked at, whatever the others say."""
    return [hit for each in candidates if (hit := await _hit(each, point, watched)) is not None]


def passes(
    candidates: Iterable[Breakpoint], frame: str, position: Position, values: Mapping[str, Any], watched: Watched
) -> bool:
    """Whether the values are enough to know that no breakpoint is hit. It runs neither jq nor code of the user."""
    try:
        for breakpoint in candidates:
            if breakpoint.enabled and _may_hit(breakpoint, frame, position, values, watched):
                return False
    except (BadExpression, NeedsJq):
        return False
    return True


def _may_hit(
    breakpoint: Breakpoint, frame: str, position: Position, values: Mapping[str, Any], watched: Watched
) -> bool:
    if breakpoint.state is None:
        if breakpoint.position == "after":
            return True
        if not breakpoint.fits(position, is_propagated=False):
            return False
        condition = plain_condition(breakpoint.condition) if isinstance(breakpoint.condition, str) else None
        return condition is None or condition(values)
    path, key = plain_path(breakpoint.state), (breakpoint.id, frame)
    if path is None or key not in watched:
        return True
    value, before = look_up(values, path), watched[key]
    if breakpoint.equals is UNSET or value == breakpoint.equals:
        return bool(before != value)
    watched[key] = value
    return False


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
        if breakpoint.is_for_calls and not breakpoint.is_for_call(values["tool"]):
            return None
        evaluator = activation.run.evaluator
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
        return Hit(breakpoint, message=await _message(breakpoint.log, values, evaluator))
    except PitstopError as error:
        return Hit(breakpoint, problem=f"breakpoint {breakpoint.id}: {error}")


async def _message(text: str, values: Mapping[str, Any], evaluator: Evaluator) -> str:
    """The text of a log point; one that cannot be made says so, for a log point never stops."""
    try:
        return str(await render(text, values, evaluator, timeout_seconds=CONDITION_SECONDS))
    except PitstopError as error:
        return f"{text} ({error})"


async def take_watched(breakpoints: Iterable[Breakpoint], activation: Activation, watched: Watched) -> None:
    """Take the watched values as they are now, so that only what changes after this is a change."""
    for breakpoint in breakpoints:
        with contextlib.suppress(PitstopError):
            watched[breakpoint.id, activation.frame.id] = await _value(breakpoint, activation)


async def _has_changed(breakpoint: Breakpoint, point: Point, watched: Watched) -> bool:
    value = await _value(breakpoint, point.activation)
    key = (breakpoint.id, point.activation.frame.id)
    is_known = key in watched
    before = watched.get(key)
    watched[key] = value
    if breakpoint.equals is not UNSET:
        return value == breakpoint.equals and not (is_known and before == value)
    return is_known and before != value


async def _value(breakpoint: Breakpoint, activation: Activation) -> Any:
    evaluator, values = activation.run.evaluator, activation.scope.values()
    found = await evaluator.evaluate(str(breakpoint.state), values, timeout_seconds=CONDITION_SECONDS)
    return found[0] if len(found) == 1 else found
