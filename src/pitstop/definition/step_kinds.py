"""What a step can be: the step types of the registry and the ways of combining, as the reader looks them up."""

import typing
from collections.abc import Iterable, Mapping
from functools import lru_cache
from inspect import getdoc
from types import UnionType
from typing import Any, Union

from msgspec import Struct
from pydantic import BaseModel
from pydantic.fields import FieldInfo

from pitstop.definition.combining_forms import COMBINING_FORMS, CombiningForm
from pitstop.definition.flow import StepTypeInfo
from pitstop.definition.plain import COMMON_KEYS

JQ_FORMAT = "jq"  # a field of a config whose schema says so is a condition


class StepKind(Struct, frozen=True):
    """One kind of step. `key` is what it is told by in the file; fields have the names that are written there."""

    key: str
    summary: str
    model: type[BaseModel]
    fields: frozenset[str]
    required: frozenset[str]
    shorthand: str | None  # the field that takes the value of `key`
    is_mapping: bool  # whether that field is itself a mapping, so that one after `key` is not the whole config
    shared: frozenset[str]  # keys of every step that are fields of this kind as well
    conditions: frozenset[str]  # fields that are jq

    @property
    def form(self) -> type[CombiningForm] | None:
        """The form of a way of combining; None for a step type."""
        return self.model if issubclass(self.model, CombiningForm) else None

    @property
    def step_lists(self) -> tuple[str, ...]:
        """The fields that are lists of steps."""
        return () if self.form is None else self.form.step_lists


def step_kinds(step_types: Mapping[str, StepTypeInfo]) -> dict[str, StepKind]:
    """Every kind by its key. The ways of combining are the engine's: no step type can take their place."""
    kinds = {}
    for name, info in step_types.items():
        model: type[BaseModel] = info.Config
        kinds[name] = _kind(name, model, info.shorthand_field, info.summary)
    return kinds | combining_kinds()


@lru_cache(maxsize=1)
def combining_kinds() -> dict[str, StepKind]:
    return {key: _kind(key, form, form.shorthand_field, getdoc(form) or "") for key, form in COMBINING_FORMS.items()}


def owners_among(kinds: Mapping[str, StepKind], keys: Iterable[str]) -> list[str]:
    """The keys that say what a step is; one that is a field of another (`check` of `http`) only says how."""
    candidates = [key for key in keys if key in kinds]
    if len(candidates) < 2:
        return candidates
    return [
        key for key in candidates if not any(key in kinds[other].fields for other in candidates if other is not key)
    ]


@lru_cache(maxsize=512)
def _kind(key: str, model: type[BaseModel], shorthand_field: str | None, summary: str) -> StepKind:
    written = {name: field.alias or name for name, field in model.model_fields.items()}
    fields = frozenset(written.values())
    return StepKind(
        key=key,
        summary=summary,
        model=model,
        fields=fields,
        required=frozenset(written[name] for name, field in model.model_fields.items() if field.is_required()),
        shorthand=None if shorthand_field is None else written[shorthand_field],
        is_mapping=shorthand_field is not None and _takes_mapping(model.model_fields[shorthand_field].annotation),
        shared=(fields & COMMON_KEYS) - {"env"},  # the environment of a step reaches its type anyway
        conditions=frozenset(written[name] for name, field in model.model_fields.items() if _is_jq(field)),
    )


def _is_jq(field: FieldInfo) -> bool:
    extra = field.json_schema_extra
    return isinstance(extra, dict) and extra.get("format") == JQ_FORMAT


def _takes_mapping(annotation: Any) -> bool:
    origin = typing.get_origin(annotation) or annotation
    if origin is Union or origin is UnionType:
        return any(map(_takes_mapping, typing.get_args(annotation)))
    return origin is Any or (isinstance(origin, type) and issubclass(origin, Mapping | BaseModel))
