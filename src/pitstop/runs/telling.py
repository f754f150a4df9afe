"""Events and values as doors are told of them: plain JSON without secrets."""

from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import Any

import msgspec

from pitstop.events.log import events_to_json
from pitstop.events.outcome import Outcome
from pitstop.events.types import (
    AnyEvent,
    ConfigOverridden,
    Event,
    FrameCancelled,
    OutcomeForced,
    RewindUndone,
    Rewound,
    RunStarted,
    ScopeEdited,
    ShellClosed,
    ShellOpened,
    StepDecided,
    StepInjected,
    StepRetried,
    StepStopped,
)
from pitstop.events.view import RunView
from pitstop.plan.addresses import is_call
from pitstop.plan.values import as_json
from pitstop.runs.run_output import EventInfo

MASK = "***"
FILES_IN_TEXT = 5
_IDS = frozenset(
    (
        "plan",
        "frame",
        "step",
        "occurrence",
        "position",
        "parent",
        "point_frame",
        "verb",
        "layer",
        "type",
        "targets",
        "note",
    )
)

MaskText = Callable[[str], str]


def tell_event(number: int, event: AnyEvent) -> EventInfo:
    """An event as plain values. The secrets that a run began with are never in it, whatever their length."""
    try:
        fields: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(event))
    except (TypeError, ValueError):  # a value in it is of a class, or has half a surrogate pair, that only we can show
        (fields,) = events_to_json([event])
    kind, at = fields.pop("kind"), fields.pop("at")
    if isinstance(event, RunStarted):
        fields["inputs"] = without_secrets(fields["inputs"])
    return EventInfo(number, kind, at, fields)


def masked_event(event: AnyEvent, mask: MaskText) -> AnyEvent:
    """The event with the secrets taken out of what people and programs wrote; its ids are those of the flow."""
    changed: dict[str, Any] = {}
    for name in event.__struct_fields__:
        value = getattr(event, name)
        if name in _IDS or (isinstance(value, int | float | None) and name != "value"):
            continue
        changed[name] = _masked_field(value, mask)
    if isinstance(event, RunStarted):
        changed["inputs"] = without_secrets(changed["inputs"])
    return msgspec.structs.replace(event, **changed)


def _masked_field(value: Any, mask: MaskText) -> Any:
    match value:
        case Outcome():
            error = value.error
            if error is not None:
                trace = None if error.trace is None else mask(error.trace)
                error = msgspec.structs.replace(error, message=mask(error.message), trace=trace)
            return msgspec.structs.replace(value, outputs=masked(as_json(value.outputs), mask), error=error)
        case tuple():
            return tuple(masked(as_json(each), mask) for each in value)
    return masked(as_json(value), mask)


def masked(value: Any, mask: MaskText) -> Any:
    """JSON with the secrets taken out of its texts, keys and numbers."""
    match value:
        case str():
            return mask(value)
        case bool() | None:
            return value
        case int() | float():
            text = str(value)
            return value if mask(text) == text else mask(text)
        case dict():
            return {mask(key): masked(child, mask) for key, child in value.items()}
        case list():
            return [masked(child, mask) for child in value]
    return value


def without_secrets(values: Mapping[str, Any]) -> dict[str, Any]:
    """What a step sees, with the values of `.secrets` hidden, however short they are."""
    secrets = values.get("secrets")
    hidden = {"secrets": dict.fromkeys(secrets, MASK)} if isinstance(secrets, Mapping) else {}
    return {**values, **hidden}


def intervention_text(event: Event, closed: Mapping[int, ShellClosed] = MappingProxyType({})) -> str | None:
    """What a user changed in the run, in words; None for an event that is no such change.

    `closed` has the ends of shells, by their numbers.
    """
    match event:
        case ScopeEdited():
            return f"{'removed' if event.removes else 'set'} {_path(event.path)} at {event.occurrence}"
        case ConfigOverridden() if event.config:
            return f"changed config of {event.occurrence}: {', '.join(event.config)}"
        case OutcomeForced(verb="skip"):
            return f"{'refused' if is_call(event.occurrence) else 'skipped'} {event.occurrence}"
        case OutcomeForced():
            return f"forced {event.occurrence} to {event.outcome.status.value}"
        case FrameCancelled():
            return f"cancelled branch {event.frame}"
        case StepDecided():
            return f"chose {event.choice.replace('_', ' ')} at {event.occurrence}"
        case StepStopped():
            return f"stopped {event.occurrence}"
        case StepInjected():
            return f"injected {event.type} {event.position} {event.occurrence}"
        case ShellOpened():
            return f"shell opened at {event.occurrence}{_changed_text(closed.get(event.shell))}"
        case RewindUndone():
            return f"returned to {event.position} {event.occurrence}"
        case Rewound():
            return f"rewound to {event.position} {event.occurrence}"
        case StepRetried(by_hand=True):
            return f"retried {event.occurrence}"
    return None


def intervention_texts(view: RunView) -> list[str]:
    """Every change that users made to the run, in words. Shells of which the same is said are one line."""
    texts: list[str] = []
    for event in view.interventions:
        text = intervention_text(event, view.closed_shells)
        if text is not None and not (isinstance(event, ShellOpened) and text in texts):
            texts.append(text)
    return texts


def _changed_text(closed: ShellClosed | None) -> str:
    if closed is None or closed.changed is None:
        return ""
    files = [path.removeprefix("repo/") for path in closed.changed[:FILES_IN_TEXT]]
    more = closed.changed_count - len(files)
    return f"; changed: {', '.join(files) or 'nothing'}{f' and {more} more' if more > 0 else ''}"


def _path(parts: Iterable[str | int]) -> str:
    return "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in parts)
