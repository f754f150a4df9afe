"""What is seen to be right by looking at it, without the models: loading those takes longer than a short flow runs."""

import re
from collections.abc import Callable, Mapping
from typing import Any

from pitstop.definition.durations import parse_duration
from pitstop.definition.flow import InputSpec, type_of

ID_PATTERN = "^[A-Za-z_][A-Za-z0-9_-]*$"
SECRET_PATTERN = "^[A-Za-z_][A-Za-z0-9_]{0,199}$"  # a variable of the environment
MOST_SECRETS = 100  # in one list
FLOW_KEYS = frozenset(
    (
        *("name", "inputs", "vars", "env", "image", "pull", "user", "cpus", "memory", "platform", "services"),
        *("secrets", "timeout", "on", "steps", "cleanup", "outputs"),
    )
)
COMMON_KEYS = frozenset(  # of every step
    (
        *("id", "name", "if", "env", "timeout", "retry", "continue_on_error", "requires", "workspace"),
        *("secrets", "on_success", "on_failure", "on_interrupt", "effects", "snapshot"),
    )
)

Options = dict[str, Any]
_ID = re.compile(ID_PATTERN)
_SECRET = re.compile(SECRET_PATTERN)


class _NotPlain(Exception):
    """A model has to look at it."""


def plain_step(values: Mapping[str, Any]) -> Options | None:
    """The options of a step as those of its StepSpec; None where a model has to look at them."""
    return _plain(values, _STEP_OPTIONS)


def plain_flow(values: Mapping[str, Any]) -> Options | None:
    """What the flow says of itself as the Flow has it; None where a model has to look at it."""
    return _plain(values, _FLOW_OPTIONS) if values.get("steps") else None


def _plain(values: Mapping[str, Any], table: "Table") -> Options | None:
    options = {}
    try:
        for name, value in values.items():
            if name not in table:
                return None
            meaning, read = table[name]
            options[meaning] = read(value)
    except _NotPlain:
        return None
    return options


def _of(kind: type) -> Callable[[Any], Any]:
    def read(value: Any) -> Any:
        if type(value) is not kind:
            raise _NotPlain
        return value

    return read


def _id(value: Any) -> str:
    if type(value) is not str or not _ID.match(value):
        raise _NotPlain
    return value


def _secrets(value: Any) -> tuple[str, ...]:
    if type(value) is not list or len(value) > MOST_SECRETS:
        raise _NotPlain
    if not all(type(name) is str and _SECRET.fullmatch(name) for name in value):
        raise _NotPlain
    return tuple(value)


def _seconds(value: Any) -> float:
    try:
        return parse_duration(value)
    except ValueError:
        raise _NotPlain from None


def _inputs(value: Any) -> dict[str, InputSpec]:
    if type(value) is not dict:
        raise _NotPlain
    return {name: _input(each) for name, each in value.items()}


def _input(value: Any) -> InputSpec:
    if type(value) is not dict or not value.keys() <= {"default", "description"}:
        raise _NotPlain
    default, description = value.get("default"), value.get("description", "")
    if type(description) is not str:
        raise _NotPlain
    return InputSpec(default, description, "default" not in value, type_of(default))


Table = Mapping[str, tuple[str, Callable[[Any], Any]]]  # by the key in the file: what it is called inside, its reader
_STEP_OPTIONS: Table = {
    "id": ("id", _id),
    "name": ("name", _of(str)),
    "if": ("condition", _of(str)),
    "env": ("env", _of(dict)),  # which the reader made of texts
    "secrets": ("secrets", _secrets),
    "timeout": ("timeout_seconds", _seconds),
    "continue_on_error": ("continue_on_error", _of(bool)),
}
PLAIN_KEYS = frozenset(_STEP_OPTIONS)
_FLOW_OPTIONS: Table = {
    "name": ("name", _of(str)),
    "inputs": ("inputs", _inputs),
    "vars": ("vars", _of(dict)),
    "env": ("env", _of(dict)),
    "secrets": ("secrets", _secrets),
    "timeout": ("timeout_seconds", _seconds),
    "steps": ("steps", _of(tuple)),
    "cleanup": ("cleanup", _of(tuple)),
    "outputs": ("outputs", _of(dict)),
}
