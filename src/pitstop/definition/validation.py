"""Values checked by a model, and what pydantic has to say about them in words for people, at their places."""

import re
from collections.abc import Mapping
from typing import Any, TypeVar

from msgspec import Struct, field
from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails
from yaml.nodes import MappingNode, Node, SequenceNode

from pitstop.definition.mistakes import did_you_mean, listed, nearest, quoted
from pitstop.definition.yaml_nodes import Document, Entry

Model = TypeVar("Model", bound=BaseModel)

_EXPECTED = {
    "string_type": "text",
    "int_type": "a whole number",
    "int_parsing": "a whole number",
    "int_from_float": "a whole number",
    "float_type": "a number",
    "float_parsing": "a number",
    "bool_type": "`true` or `false`",
    "bool_parsing": "`true` or `false`",
    "list_type": "a list",
    "tuple_type": "a list",
    "dict_type": "a mapping",
    "model_type": "a mapping",
    "none_required": "nothing",
}
_REASONS = {
    "too_short": "needs at least {min_length}",
    "string_too_short": "needs at least {min_length} character",
    "greater_than": "must be more than {gt}",
    "greater_than_equal": "must be at least {ge}",
    "less_than": "must be less than {lt}",
    "less_than_equal": "must be at most {le}",
}
_AS_BOOLEAN = {"yes": "true", "on": "true", "y": "true", "no": "false", "off": "false", "n": "false"}


class Section(Struct, frozen=True):
    """The part of a document that a model checks: entries by name, and the node to blame for what is not there."""

    document: Document
    name: str
    entries: Mapping[str, Entry]
    node: Node
    misspelt: frozenset[str] = frozenset()  # names that are there, though not quite: that was told already


def validated(model: type[Model], values: Mapping[str, Any], section: Section) -> Model | None:
    """The values as their model; None when they have mistakes, which are told."""
    try:
        return model.model_validate(values)
    except ValidationError as error:
        _tell(error.errors(include_url=False), section, model)
        return None


def check_config(model: type[BaseModel], values: Mapping[str, Any], section: Section) -> None:
    """Tell what is wrong with the config of a step type; what a template will give is not known yet, so it is right."""
    try:
        model.__pydantic_validator__.validate_python(values)
    except ValidationError as error:
        _tell([each for each in error.errors(include_url=False) if not _is_of_template(each)], section, model)


def _is_of_template(error: ErrorDetails) -> bool:
    is_of_shape = error["type"] in ("missing", "extra_forbidden") or not error["loc"]
    return not is_of_shape and _has_template(error["input"])


def _has_template(value: object) -> bool:
    match value:
        case str():
            return "${{" in value
        case dict():
            return any(map(_has_template, value.values()))
        case list() | tuple():
            return any(map(_has_template, value))
    return False


class _Wrong(Struct):
    """A value that is wrong, and why: a union has an error for each of its members."""

    node: Node
    trail: tuple[str, ...]
    name: str
    value: object
    expected: list[str] = field(default_factory=list)
    reasons: list[str] = field(default_factory=list)
    hint: str | None = None

    def __str__(self) -> str:
        if self.expected:
            return f"{quoted(self.name)} must be {' or '.join(dict.fromkeys(self.expected))}, not {_shown(self.value)}"
        return f"{quoted(self.name)}: {'; '.join(dict.fromkeys(self.reasons))}"


def _tell(errors: list[ErrorDetails], section: Section, model: type[BaseModel]) -> None:
    document = section.document
    wrong: dict[int, _Wrong] = {}
    meant = {_meant(error["loc"], model) for error in errors if error["type"] == "extra_forbidden"}
    for error in errors:
        if error["type"] == "missing" and error["loc"] in meant:
            continue  # it is there, though not quite: that is told
        key, node, trail = _find(error["loc"], section)
        name = ".".join(trail)
        match error["type"]:
            case "missing":
                missing = str(error["loc"][-1])
                if trail or missing not in section.misspelt:
                    document.tell(node, f"{quoted(name or section.name)} needs {quoted(missing)}")
            case "extra_forbidden":
                hint = did_you_mean(trail[-1], _names_beside(error["loc"], model)) if trail else None
                document.tell(key, f"unknown key {quoted(name)}", hint)
            case _:
                found = wrong.setdefault(id(node), _Wrong(node, tuple(trail), name or section.name, error["input"]))
                _describe(error, found)
    for found in wrong.values():
        if not any(_is_inside(other.trail, found.trail) for other in wrong.values()):
            document.tell(found.node, str(found), found.hint)


def _meant(loc: tuple[str | int, ...], model: type[BaseModel]) -> tuple[str | int | None, ...]:
    """The key that was most likely meant by one that is not known."""
    return (*loc[:-1], nearest(str(loc[-1]), _names_beside(loc, model)))


def _is_inside(trail: tuple[str, ...], outer: tuple[str, ...]) -> bool:
    """Whether a mistake is deeper: then it is of the member of a union that was meant, and the others do not count."""
    return len(trail) > len(outer) and trail[: len(outer)] == outer and bool(outer)


def _find(loc: tuple[str | int, ...], section: Section) -> tuple[Node, Node, list[str]]:
    """Key and value that an error is about, and their names; parts that only pydantic knows (`int`) are left out."""
    key = node = section.node
    entries: Mapping[str, Entry] = section.entries
    trail: list[str] = []
    for part in loc:
        if isinstance(part, str) and part in entries:
            key, node = entries[part]
            trail.append(key.value)  # a shorthand has a key of its own: `sleep` for `duration`
        elif isinstance(part, int) and trail and isinstance(node, SequenceNode) and part < len(node.value):
            key = node = node.value[part]
            trail.append(str(part + 1))
        else:
            continue
        entries = section.document.entries(node) if isinstance(node, MappingNode) else {}
    return key, node, trail


def _describe(error: ErrorDetails, found: _Wrong) -> None:
    kind, written = error["type"], str(error["input"])
    context = error.get("ctx", {})
    if kind in _EXPECTED:
        found.expected.append(_EXPECTED[kind])
        if kind == "string_type" and isinstance(error["input"], int | float):
            found.hint = "put it in quotes"
        elif kind.startswith("bool") and written.lower() in _AS_BOOLEAN:
            found.hint = f"did you mean `{_AS_BOOLEAN[written.lower()]}`?"
    elif kind in ("literal_error", "enum"):
        words = re.findall(r"'([^']*)'", context["expected"])
        found.expected.append(listed(words))
        found.hint = did_you_mean(written, words)
    elif kind in _REASONS:
        found.reasons.append(_REASONS[kind].format(**context))
    else:
        message = str(context.get("error") or error["msg"].removeprefix("Input "))
        found.reasons.append(message[0].lower() + message[1:])
        found.hint = context.get("hint") or did_you_mean(written, context.get("words", ()))


def _shown(value: object) -> str:
    match value:
        case None:
            return "nothing"
        case bool():
            return f"`{str(value).lower()}`"
        case list() | tuple():
            return "a list"
        case dict():
            return "a mapping"
    return quoted(str(value))


def _names_beside(loc: tuple[str | int, ...], model: type[BaseModel]) -> list[str]:
    """The fields of the model that a nested key is in; those of `model` when that cannot be told."""
    for part in loc[:-1]:
        for name, each in model.model_fields.items():
            inner = _model_in(each.annotation)
            if part == (each.alias or name) and inner is not None:
                model = inner
    return [each.alias or name for name, each in model.model_fields.items()]


def _model_in(annotation: Any) -> type[BaseModel] | None:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    return next(filter(None, map(_model_in, getattr(annotation, "__args__", ()))), None)
