"""The generated parts of python.md and events.md."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from enum import Enum
from inspect import isclass
from typing import get_args

import pitstop
from docs.reference.sources import doc_of, fields_of, methods_of, properties_of, signature_of
from pitstop.debugger.inspection import ConfigPreview, Variable
from pitstop.debugger.stops import FrameInfo, HistoryPoint
from pitstop.definition.graph import GraphDefinition
from pitstop.engine.frame import Hook
from pitstop.events.outcome import StepError
from pitstop.events.types import INTERVENTIONS, AnyEvent, Event
from pitstop.plan.values import Change

Table = Callable[[Sequence[str], Iterable[Sequence[str]]], str]

WITH_METHODS = ("Graph", "GraphApp", "MemoryLog", "Session")
RETURNED = (StepError, FrameInfo, HistoryPoint, Variable, ConfigPreview, Change)


def python_parts(table: Table) -> dict[str, str]:
    public = [(name, getattr(pitstop, name)) for name in pitstop.__all__]
    return {
        "python": "\n\n".join(part for name, value in public for part in _name_section(name, value, table)),
        "returned": "\n\n".join(part for cls in RETURNED for part in _class_section(cls.__name__, cls, table, "###")),
    }


def event_parts(table: Table) -> dict[str, str]:
    kinds: tuple[type[Event], ...] = get_args(AnyEvent)
    debug = [cls for cls in kinds if _tag_of(cls).startswith("debug.")]
    return {
        "run events": "\n\n".join(_event_section(cls, table) for cls in kinds if cls not in debug),
        "debug events": "\n\n".join(_event_section(cls, table) for cls in debug),
    }


def _name_section(name: str, value: object, table: Table) -> Iterator[str]:
    if isclass(value):
        yield from _class_section(name, value, table)
    elif callable(value):
        yield f"## `{name}`\n\n```text\n{signature_of(name, value)}\n```\n\n{doc_of(value)}"
    else:
        yield f"## `{name}`\n\nThe {name.lower()} of a graph, as `add_edge` and `add_conditional_edge` take it."


def _class_section(name: str, cls: type, table: Table, mark: str = "##") -> Iterator[str]:
    yield f"{mark} `{name}`\n\n{doc_of(cls)}"
    if issubclass(cls, Enum):
        yield table(("member", "value"), [(f"`{each.name}`", f"`{each.value}`") for each in cls])
    initializer = vars(cls).get("__init__")
    if initializer is not None and doc_of(initializer):
        yield f"```text\n{signature_of(name, initializer)}\n```\n\n{doc_of(initializer)}"
    fields = [field for base in (cls, GraphDefinition) if issubclass(cls, base) for field in fields_of(base)]
    rows = [(f"`{field.name}`", f"`{field.type}`", field.comment) for field in dict.fromkeys(fields)]
    rows += [(f"`{name}`", f"`{kind}`", doc) for name, kind, doc in properties_of(cls) if not issubclass(cls, Enum)]
    if rows:
        yield table(("attribute", "type", "meaning"), rows)
    for method, function in methods_of(cls) if name in WITH_METHODS else ():
        if method not in vars(Hook):
            yield f"### `{name}.{method}`\n\n```text\n{signature_of(method, function)}\n```\n\n{doc_of(function)}"


def _event_section(cls: type[Event], table: Table) -> str:
    declaring = [base for base in reversed(cls.__mro__) if issubclass(base, Event) and base is not Event]
    fields = [field for base in declaring for field in fields_of(base)]
    rows = [(f"`{field.name}`", f"`{field.type}`", field.comment) for field in fields]
    mark = " An [intervention](../concepts/glossary.md#intervention)." if cls in INTERVENTIONS else ""
    text = f"### `{_tag_of(cls)}`\n\n`{cls.__name__}`: {doc_of(cls)}{mark}"
    return f"{text}\n\n{table(('field', 'type', 'meaning'), rows)}" if rows else text


def _tag_of(cls: type[Event]) -> str:
    return str(cls.__struct_config__.tag)
