"""Values in the scope of a step, its config, and differences between two points."""

from collections.abc import Mapping
from dataclasses import field
from typing import Any, Literal

from pitstop.lazy_dataclass import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class VariableInfo:
    """One level of a value in a scope. `path` is jq; `size` is the number of children, None for a plain value.

    `value` is set for a plain value, and truncated when it is long; `preview` is always one line.
    """

    name: str
    path: str
    type: Literal["object", "array", "string", "number", "boolean", "null"]
    preview: str
    value: Any = None
    is_cut: bool = False
    size: int | None = None
    layer: str = ""
    set_by: str | None = None


@dataclass(frozen=True, slots=True)
class VariablePage:
    """A page of the children of a value; `next` is the cursor of the next page."""

    variables: tuple[VariableInfo, ...]
    total: int
    next: int | None = None


@dataclass(frozen=True, slots=True)
class Evaluated:
    """All values of an expression. `cut` has the paths of values too large to send."""

    values: list[Any]
    cut: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class WholeScope:
    """All values of a scope. `cut` has the paths of values too large to send; read those page by page."""

    scope: dict[str, Any]
    cut: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ConfigInfo:
    """A step's config as written, as it resolves now, and what cannot be resolved."""

    raw: Mapping[str, Any]
    resolved: Mapping[str, Any]
    expressions: tuple[str, ...] = ()
    problems: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeInfo:
    """A difference between two values, at a path; a missing value is None, as `kind` says."""

    path: str
    kind: Literal["added", "removed", "changed"]
    before: Any = None
    after: Any = None
