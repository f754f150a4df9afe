"""Looking at a stop: variables and where they come from, and the step's config as it would be now."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from msgspec import Struct, field

from pitstop.debugger.stops import Held
from pitstop.engine.frame import Activation
from pitstop.errors import BadExpression
from pitstop.events.counting import events_that_count
from pitstop.events.types import (
    AnyEvent,
    EditUndone,
    FrameOpened,
    RunStarted,
    ScopeEdited,
    StepFinished,
    StepStarted,
    Stopped,
)
from pitstop.plan.addresses import TOOL_CALL
from pitstop.plan.expressions import expressions_in, render
from pitstop.plan.paths import format_path


class Variable(Struct, frozen=True):
    """A top-level variable of a scope."""

    name: str
    value: Any
    layer: str  # the scope layer that holds it
    set_by: str | None  # the occurrence, edit or input that set it


class ConfigPreview(Struct, frozen=True):
    """A step's config as written, and as it resolves now."""

    raw: Mapping[str, Any]
    resolved: Mapping[str, Any]
    expressions: tuple[str, ...] = ()  # those that are in it
    problems: Mapping[str, str] = field(default_factory=dict)  # why a key does not resolve


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
    """The last occurrence, edit or input that set each variable, as far as the stopped step can see it."""
    activation = held.point.activation
    graph = activation.parent.occurrence if activation.parent and activation.parent.step.kind == "graph" else None
    line = {frame.id for frame in activation.frame.lineage()}
    parents: dict[str, str | None] = {}
    waiting: dict[str | None, list[tuple[str, str]]] = {}  # what branches wrote, until the frame around them goes on
    origins: dict[str, str] = {}
    edited: list[tuple[str, str | None]] = []
    for _, event in events_that_count(events):
        if isinstance(event, StepStarted | StepFinished | Stopped):
            joined = waiting.pop(event.frame, [])
            waiting.setdefault(parents.get(event.frame), []).extend([] if event.frame in line else joined)
            origins.update(joined if event.frame in line else [])
        match event:
            case RunStarted():
                origins.update(dict.fromkeys(event.inputs, "input"))
            case FrameOpened():
                parents[event.frame] = event.parent
            case StepFinished():
                written = [(name, event.occurrence) for name in _written(event, graph)]
                if event.frame in line:
                    origins.update(written)
                else:
                    waiting.setdefault(parents.get(event.frame), []).extend(written)
            case ScopeEdited():
                name = str(event.path[0])
                edited.append((name, origins.get(name)))
                origins[name] = f"edited at stop {event.stop}"
            case EditUndone():
                name, before = edited.pop()
                origins.pop(name) if before is None else origins.update({name: before})
            case _:
                pass
    return origins


def _written(event: StepFinished, graph: str | None) -> Iterable[str]:
    """The top-level variables that a step set: in its graph those it updated, in a flow what is known of steps."""
    head, _, _ = event.occurrence.rpartition(".")
    if graph is None:
        return ("steps",)
    return event.outcome.outputs if head == graph and isinstance(event.outcome.outputs, Mapping) else ()


async def preview_config(activation: Activation, override: Mapping[str, Any] | None = None) -> ConfigPreview:
    """Resolve the step's config, with these keys replaced. `problems` says why a top-level key does not resolve."""
    raw = {**activation.step.config, **(activation.config or {}), **(override or {})}
    values, evaluator = activation.scope.values(), activation.run.evaluator
    resolved: dict[str, Any] = {}
    problems: dict[str, str] = {}
    for key, value in raw.items():
        if activation.step.kind == TOOL_CALL or not any(True for _ in expressions_in(value)):
            resolved[key] = value
            continue
        try:
            resolved[key] = await render(value, values, evaluator)
        except BadExpression as error:
            problems[format_path((key,))] = str(error)
    return ConfigPreview(raw, resolved, tuple(dict.fromkeys(expressions_in(raw))), problems)
