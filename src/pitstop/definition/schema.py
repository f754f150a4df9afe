"""The JSON Schema of flow files, made from what the reader checks by: editors complete and check with it."""

from collections.abc import Iterable, Mapping
from typing import Any, Literal

from pydantic import BaseModel
from pydantic.json_schema import GenerateJsonSchema, models_json_schema

from pitstop.definition.combining_forms import MatrixForm
from pitstop.definition.flow import StepTypeInfo
from pitstop.definition.forms import STEPS_FORMAT, FlowForm, StepForm
from pitstop.definition.plain import COMMON_KEYS
from pitstop.definition.step_kinds import StepKind, combining_kinds, step_kinds

Schema = dict[str, Any]

DIALECT = "https://json-schema.org/draft/2020-12/schema"
_EXPRESSION = {"$ref": "#/$defs/expression"}
_MAP_OF_SCHEMAS = ("properties", "patternProperties")
_ONE_SCHEMA = ("items", "additionalProperties")
_LIST_OF_SCHEMAS = ("anyOf", "oneOf", "allOf", "prefixItems")


def flow_schema(step_types: Mapping[str, StepTypeInfo]) -> Schema:
    """The schema of a flow whose steps are of these types, or are made of such steps."""
    own_models, own = _definitions([FlowForm, StepForm, *(kind.model for kind in combining_kinds().values())], "")
    type_models, of_types = _definitions((info.Config for info in step_types.values()), "config.")
    for schema in own.values():
        _place_steps(schema)
    for schema in of_types.values():
        _accept_expressions(schema)
    matrix = own[own_models[MatrixForm]]["properties"]
    matrix["matrix"] = _or_expression(matrix["matrix"])
    flow = own.pop(own_models[FlowForm])
    models = own_models | type_models
    kinds = step_kinds(step_types).values()
    variants = [form(kind, models[kind.model]) for kind in kinds for form in (_short_form, _long_form)]
    return {
        "$schema": DIALECT,
        "title": "Pitstop flow",
        **flow,
        "patternProperties": {"^x-": {"description": "Ignored; a place for YAML anchors."}},
        "$defs": {
            "steps": {"type": "array", "items": {"$ref": "#/$defs/step"}, "minItems": 1},
            "step": {"anyOf": [*variants, _INCLUDE]},
            "expression": {"type": "string", "pattern": r"\$\{\{", "description": "A jq expression in ${{ }}."},
            **own,
            **of_types,
        },
    }


class _WithoutTitles(GenerateJsonSchema):
    """Titles that only repeat the names of fields are noise in an editor."""

    def field_title_should_be_set(self, schema: Any) -> bool:
        return False


def _definitions(
    models: Iterable[type[BaseModel]], prefix: str
) -> tuple[dict[type[BaseModel], str], dict[str, Schema]]:
    """The names of the models' definitions, and the definitions with all that they need."""
    asked: list[tuple[type[BaseModel], Literal["validation"]]] = [
        (model, "validation") for model in dict.fromkeys(models)
    ]
    refs, schema = models_json_schema(asked, ref_template=f"#/$defs/{prefix}{{model}}", schema_generator=_WithoutTitles)
    names = {model: str(refs[model, mode]["$ref"]).removeprefix("#/$defs/") for model, mode in asked}
    return names, {prefix + name: each for name, each in schema.get("$defs", {}).items()}


def _place_steps(schema: Schema) -> None:
    """Put in what pydantic has no model of: the list of steps, which is made of all the others."""
    properties: dict[str, Schema] = schema.get("properties", {})
    for name, each in properties.items():
        if each.get("format") == STEPS_FORMAT:
            properties[name] = {"$ref": "#/$defs/steps", "description": each["description"]}


def _short_form(kind: StepKind, model: str) -> Schema:
    """The kind's key with its value. Fields may stand beside it, or in a mapping that is its value."""
    fields = _properties(model, kind.fields)
    values: list[Schema] = []
    if kind.shorthand is not None:
        values.append(fields[kind.shorthand])
    if kind.key == "group":
        values.append({"$ref": "#/$defs/steps"})
    if not kind.is_mapping:
        values.append({"type": ["object", "null"], "properties": fields, "additionalProperties": False})
    key = {"description": kind.summary, "anyOf": values}
    rules = {"allOf": [_given_somewhere(kind, name) for name in sorted(kind.required)]} if kind.required else {}
    return {**_step(kind.key, kind.summary, {**fields, **_COMMON, kind.key: key}, [kind.key]), **rules}


def _given_somewhere(kind: StepKind, name: str) -> Schema:
    """A required field: beside the key, in the mapping after it, or as its value."""
    ways: list[Schema] = [{"properties": {kind.key: {"type": "object", "required": [name]}}}]
    if name != kind.key:
        ways.append({"required": [name]})
    if name == kind.shorthand:
        ways.append({"properties": {kind.key: {"not": {"type": "null" if kind.is_mapping else "object"}}}})
    if kind.key == "group":
        ways.append({"properties": {kind.key: {"type": "array"}}})
    return {"anyOf": ways}


def _long_form(kind: StepKind, model: str) -> Schema:
    properties = {**_COMMON, "uses": {"const": kind.key}, "with": {"$ref": f"#/$defs/{model}"}}
    return _step(f"uses: {kind.key}", kind.summary, properties, ["uses", "with"] if kind.required else ["uses"])


def _step(title: str, description: str, properties: Schema, required: list[str]) -> Schema:
    return {
        "type": "object",
        "title": title,
        "description": description,
        "properties": properties,
        "required": required,
        "additionalProperties": False,
    }


def _properties(model: str, names: Iterable[str]) -> Schema:
    return {name: {"$ref": f"#/$defs/{model}/properties/{name}"} for name in sorted(names)}


_COMMON = _properties(StepForm.__name__, COMMON_KEYS)
_INCLUDE = _step(
    "include",
    "Steps of another file.",
    {"include": {"type": "string", "description": "Path of the file, relative to this file."}},
    ["include"],
)


def _accept_expressions(schema: Schema) -> None:
    """Let an expression stand for every value inside: what it gives is checked when it is known."""
    for name in _MAP_OF_SCHEMAS:
        if name in schema:
            schema[name] = {key: _or_expression(each) for key, each in schema[name].items()}
    for name in _ONE_SCHEMA:
        if isinstance(schema.get(name), dict):
            schema[name] = _or_expression(schema[name])
    for name in _LIST_OF_SCHEMAS:
        for each in schema.get(name, ()):
            _accept_expressions(each)


def _or_expression(schema: Schema) -> Schema:
    _accept_expressions(schema)
    if schema.keys() <= {"type", "description", "default"} and schema.get("type", "string") == "string":
        return schema  # any text, or anything at all
    shown = {name: part for name, part in schema.items() if name in ("description", "default")}
    rest = {name: part for name, part in schema.items() if name not in shown}
    if rest.keys() == {"anyOf"}:
        return {**shown, "anyOf": [*rest["anyOf"], _EXPRESSION]}
    return {**shown, "anyOf": [rest, _EXPRESSION]}
