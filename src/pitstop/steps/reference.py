"""Help and reference of the step types, written from their models."""

import inspect
import json
import textwrap
from collections.abc import Iterator, Mapping
from typing import Any

from msgspec import Struct

from pitstop.definition.durations import DURATION_PATTERN, format_duration
from pitstop.steps.described import DescribedStepType

_WIDTH = 100


class FieldHelp(Struct, frozen=True):
    """One field of a configuration, as the user writes it."""

    name: str
    kind: str
    description: str
    is_required: bool
    default: str


def describe_fields(step_type: type[DescribedStepType]) -> Iterator[FieldHelp]:
    schema = step_type.Config.model_json_schema()
    required = schema.get("required", ())
    for name, field in schema.get("properties", {}).items():
        kind = kind_of(field)
        yield FieldHelp(
            name=name,
            kind=kind,
            description=field.get("description", ""),
            is_required=name in required,
            default=_default(field.get("default"), kind),
        )


def kind_of(schema: Mapping[str, Any]) -> str:
    """What a field takes, in words: `text`, `number or list of number`, `duration`, `steps`, `jq`."""
    kinds = [each for each in schema.get("anyOf", ()) if each.get("type") != "null"]
    if schema.get("title") == "Duration" or any(DURATION_PATTERN in each.get("pattern", "") for each in kinds):
        return "duration"
    if schema.get("format") in ("steps", "jq"):
        return str(schema["format"])
    if len(kinds) > 1 and any("$ref" in each for each in kinds):  # the other ways to write what a mapping says
        return " or ".join(dict.fromkeys(kind_of(_without_words(each)) for each in kinds))
    if kinds:
        return " or ".join(dict.fromkeys(map(kind_of, kinds)))
    if "$ref" in schema:
        return "mapping"
    if "const" in schema:
        return f"`{schema['const']}`"
    if "enum" in schema:
        return " or ".join(f"`{word}`" for word in schema["enum"])
    if schema.get("type") == ["string", "boolean"]:
        return "jq"
    match schema.get("type"):
        case "array":
            return f"list of {kind_of(schema.get('items', {}))}"
        case "object":
            return "mapping"
        case "string":
            return "text"
        case "boolean":
            return "true or false"
        case "integer" | "number":
            return "number"
    return "anything"


def _without_words(schema: Mapping[str, Any]) -> Mapping[str, Any]:
    """The schema with any text instead of a choice of words, which the keys of the mapping are."""
    if "items" in schema:
        return {**schema, "items": _without_words(schema["items"])}
    return {"type": "string"} if "enum" in schema else schema


def help_for(step_type: type[DescribedStepType]) -> str:
    """What the type does and takes, as plain text."""
    lines = [f"{step_type.name}: {step_type.summary}", *_paragraphs(step_type), "", usage_of(step_type), "", "Fields:"]
    for field in describe_fields(step_type):
        notes = [field.kind]
        notes += ["required"] if field.is_required else []
        notes += [f"default {field.default}"] if field.default else []
        lines.append(f"  {field.name}  ({', '.join(notes)})")
        lines += textwrap.wrap(field.description, _WIDTH, initial_indent="      ", subsequent_indent="      ")
    return "\n".join(lines) + "\n"


def usage_of(step_type: type[DescribedStepType]) -> str:
    """How it is written in a flow, in one line."""
    if step_type.shorthand_field is not None:
        return f"- {step_type.name}: <{step_type.shorthand_field}>"
    fields = ", ".join(field.name for field in describe_fields(step_type))
    return f"- {step_type.name}: {{{fields}}}"


def _default(value: Any, kind: str) -> str:
    if value in (None, "", {}, [], 0.0) and value is not False:
        return ""
    return format_duration(value) if kind == "duration" else json.dumps(value)


def _paragraphs(step_type: type[DescribedStepType]) -> list[str]:
    """What the class says of itself, if it says anything."""
    told = inspect.cleandoc(step_type.__doc__ or "")
    lines: list[str] = []
    for paragraph in filter(None, told.split("\n\n")):
        lines += ["", *textwrap.wrap(" ".join(paragraph.split()), _WIDTH)]
    return lines
