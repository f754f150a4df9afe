"""Looking at a stop: variables and where they come from, and the step's config as it would be now."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pitstop.debugger.stops import Held
from pitstop.errors import BadExpression
from pitstop.events.types import AnyEvent, FrameOpened, RunStarted, ScopeEdited, StepFinished
from pitstop.plan.expressions import expressions_in, render
from pitstop.plan.paths import format_path


@dataclass(frozen=True, slots=True)
class Variable:
    """A top-level variable: its value, the layer it is read from, and what set it there."""

    name: str
    value: Any
    layer: str
    set_by: str | None


@dataclass(frozen=True, slots=True)
class ConfigPreview:
    """A step's config as written, as it would resolve now, and what keeps any part of it from resolving."""

    raw: Mapping[str, Any]
    resolved: Mapping[str, Any]
    expressions: tuple[str, ...] = ()
    problems: Mapping[str, str] = field(default_factory=dict)


def variables_of(held: Held, events: Sequence[AnyEvent]) -> list[Variable]:
    """What the stopped step sees, each with its origin as the log tells it."""
    scope = held.point.activation.scope
    origins = _origins(events, held)
    return [
        Variable(name, layer.values[name], layer.name, origins.get(name))
        for index, layer in enumerate(scope.layers)
        for name in layer.values
        if not any(name in inner.values for inner in scope.layers[:index])
    ]


def _origins(events: Sequence[AnyEvent], held: Held) -> dict[str, str]:
    """The last occurrence, edit or input that set each variable, in the frames that lead to the stop."""
    line = {frame.id for frame in held.point.activation.frame.lineage()}
    parents: dict[str, str | None] = {}
    origins: dict[str, str] = {}
    for event in events:
        match event:
            case RunStarted():
                origins.update(dict.fromkeys(event.inputs, "input"))
            case FrameOpened():
                parents[event.frame] = event.parent
            case StepFinished():
                if isinstance(event.outcome.outputs, Mapping) and _led_here(event.frame, parents, line):
                    origins.update(dict.fromkeys(event.outcome.outputs, event.occurrence))
            case ScopeEdited():
                if _led_here(event.frame, parents, line):
                    origins[str(event.path[0])] = f"edit at stop {event.stop}"
            case _:
                pass
    return origins


def _led_here(frame: str | None, parents: Mapping[str, str | None], line: set[str]) -> bool:
    """Whether what a frame wrote can be seen from the stop: it is on the way, or was joined into it."""
    return frame in line or (frame is not None and parents.get(frame) in line)


async def preview_config(held: Held) -> ConfigPreview:
    """Resolve the step's config without running it; each top-level key that cannot be is told why."""
    activation = held.point.activation
    raw = {**activation.step.config, **(activation.config or {}), **(held.config or {})}
    values, evaluator = activation.scope.values(), activation.run.ports.evaluator
    resolved: dict[str, Any] = {}
    problems: dict[str, str] = {}
    for key, value in raw.items():
        if not any(True for _ in expressions_in(value)):
            resolved[key] = value
            continue
        try:
            resolved[key] = await render(value, values, evaluator)
        except BadExpression as error:
            problems[format_path((key,))] = str(error)
    return ConfigPreview(raw, resolved, tuple(dict.fromkeys(expressions_in(raw))), problems)
