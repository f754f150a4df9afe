"""What is seen to be right by looking at it, without the models: loading those takes longer than a short flow runs."""

from collections.abc import Mapping
from typing import Annotated, Any

import msgspec
from msgspec import UNSET, Meta, UnsetType

from pitstop.definition.durations import parse_duration
from pitstop.definition.flow import InputSpec
from pitstop.definition.values import type_of
from pitstop.limits import NAME_CHARACTERS

ID_PATTERN = "^[A-Za-z_][A-Za-z0-9_-]*$"
SECRET_PATTERN = "^[A-Za-z_][A-Za-z0-9_]{0,199}$"  # a variable of the environment
MOST_SECRETS = 100  # in one list
FLOW_KEYS = frozenset(
    (
        *("name", "inputs", "vars", "env", "image", "pull", "user", "cpus", "memory", "platform", "services"),
        *("secrets", "timeout", "on", "concurrency", "steps", "cleanup", "outputs"),
    )
)
COMMON_KEYS = frozenset(  # of every step
    (
        *("id", "name", "if", "env", "timeout", "retry", "continue_on_error", "requires", "workspace"),
        *("secrets", "on_success", "on_failure", "on_interrupt", "effects", "snapshot", "fix"),
    )
)

Options = dict[str, Any]

_Id = Annotated[str, Meta(pattern=ID_PATTERN, max_length=NAME_CHARACTERS)]
_Name = Annotated[str, Meta(max_length=NAME_CHARACTERS)]
_Secret = Annotated[str, Meta(pattern=SECRET_PATTERN.removesuffix("$") + r"\Z")]
_Secrets = Annotated[tuple[_Secret, ...], Meta(max_length=MOST_SECRETS)]
_Duration = str | int | float


class _PlainInput(msgspec.Struct, forbid_unknown_fields=True):
    default: Any = UNSET
    description: str = ""

    def spec(self) -> InputSpec:
        is_required = self.default is UNSET
        default = None if is_required else self.default
        return InputSpec(default, self.description, is_required, type_of(default))


class _PlainStep(msgspec.Struct, forbid_unknown_fields=True):
    """Attributes are those of the StepSpec, under the keys of the file."""

    id: _Id | UnsetType = UNSET
    name: _Name | UnsetType = UNSET
    condition: str | UnsetType = msgspec.field(default=UNSET, name="if")
    env: dict[Any, Any] | UnsetType = UNSET  # which the reader made of texts
    secrets: _Secrets | UnsetType = UNSET
    timeout_seconds: _Duration | UnsetType = msgspec.field(default=UNSET, name="timeout")
    continue_on_error: bool | UnsetType = UNSET


class _PlainFlow(msgspec.Struct, forbid_unknown_fields=True):
    """Attributes are those of the Flow, under the keys of the file."""

    name: _Name | UnsetType = UNSET
    inputs: dict[str, _PlainInput] | UnsetType = UNSET
    vars: dict[Any, Any] | UnsetType = UNSET
    env: dict[Any, Any] | UnsetType = UNSET
    secrets: _Secrets | UnsetType = UNSET
    timeout_seconds: _Duration | UnsetType = msgspec.field(default=UNSET, name="timeout")
    steps: tuple[Any, ...] | UnsetType = UNSET
    cleanup: tuple[Any, ...] | UnsetType = UNSET
    outputs: dict[Any, Any] | UnsetType = UNSET


PLAIN_KEYS = frozenset(_PlainStep.__struct_encode_fields__)


def plain_step(values: Mapping[str, Any]) -> Options | None:
    """The options of a step as those of its StepSpec; None where a model has to look at them."""
    return _plain(values, _PlainStep)


def plain_flow(values: Mapping[str, Any]) -> Options | None:
    """What the flow says of itself as the Flow has it; None where a model has to look at it."""
    return _plain(values, _PlainFlow) if values.get("steps") else None


def _plain(values: Mapping[str, Any], form: type[_PlainStep | _PlainFlow]) -> Options | None:
    try:
        read = msgspec.convert(values, form)
        options = {name: value for name in form.__struct_fields__ if (value := getattr(read, name)) is not UNSET}
        if "timeout_seconds" in options:
            options["timeout_seconds"] = parse_duration(options["timeout_seconds"])
    except (msgspec.ValidationError, ValueError):
        return None
    if "inputs" in options:
        options["inputs"] = {name: each.spec() for name, each in options["inputs"].items()}
    return options
