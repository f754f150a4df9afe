"""A flow as it was written: checked, frozen, and every part of it with its place in the file."""

import posixpath
from collections.abc import Mapping
from typing import Any, NamedTuple, Protocol

from msgspec import Struct, field

from pitstop.definition.values import Effects, InputType, OnInterrupt, Retry, Source, Workspace


class Position(NamedTuple):
    """Where in a file; both count from 1."""

    line: int
    column: int


class InputSpec(Struct, frozen=True):
    """A value that a run is given. Without a `type` and a default it may be anything."""

    default: Any = None
    description: str = ""
    required: bool = True
    type: InputType | None = None


class Concurrency(Struct, frozen=True):
    """Only one run of the group runs at a time; `group` is a template. `cancel` ends the older one."""

    group: str
    cancel: bool = False


class StepSpec(Struct, frozen=True, kw_only=True):
    """A step. `kind` is its step type, or the engine's word for a way of combining its children.

    `config` is what stands in the file, templates and all; `positions` has the places of its values.
    """

    kind: str
    source: Source
    config: Mapping[str, Any] = field(default_factory=dict)
    positions: Mapping[str, Position] = field(default_factory=dict)
    children: tuple["StepSpec", ...] = ()
    id: str | None = None
    name: str | None = None
    condition: str | None = None
    env: Mapping[str, str] = field(default_factory=dict)
    secrets: tuple[str, ...] = ()
    timeout_seconds: float | None = None
    retry: Retry | None = None
    continue_on_error: bool = False
    requires: Mapping[str, Any] = field(default_factory=dict)
    workspace: Workspace = "keep"
    on_success: str = "next"
    on_failure: str = "stop"
    on_interrupt: OnInterrupt = "repeat"
    effects: Effects = "workspace"
    snapshot: bool | None = None
    fix: Mapping[str, Any] | None = None  # how its failures are fixed, if they are

    def position_of(self, key: str) -> Position:
        """Where the value of a config key stands; the step itself for a key that nobody wrote."""
        return self.positions.get(key) or Position(self.source.line, self.source.column)


class Flow(Struct, frozen=True, kw_only=True):
    """The definition of some work. `texts` has the files it was read from, as they were then."""

    name: str
    source: Source
    steps: tuple[StepSpec, ...]
    cleanup: tuple[StepSpec, ...] = ()
    inputs: Mapping[str, InputSpec] = field(default_factory=dict)
    vars: Mapping[str, Any] = field(default_factory=dict)
    env: Mapping[str, str] = field(default_factory=dict)
    secrets: tuple[str, ...] = ()
    timeout_seconds: float | None = None
    on: Mapping[str, Any] = field(default_factory=dict)  # JSON: a mapping for each trigger, a list for `schedule`
    concurrency: Concurrency | None = None
    outputs: Mapping[str, Any] = field(default_factory=dict)
    texts: Mapping[str, str] = field(default_factory=dict)


class StepTypeInfo(Protocol):
    """What the reader needs to know of a step type.

    A type may also have `text_fields`: a config with nothing but texts for these needs no check by `Config`.
    """

    name: str
    summary: str  # what it does, in one sentence
    Config: type[Any]  # a pydantic model with `extra="forbid"`; its docs are the schema's and the reference's
    shorthand_field: str | None  # the field that takes the value of `name: value`


def resolve_file(file: str, named_in: str = "") -> str:
    """The path of a file that another file names: it is seen from there. Two paths of one file are the same."""
    return posixpath.normpath(posixpath.join(posixpath.dirname(named_in), file))
