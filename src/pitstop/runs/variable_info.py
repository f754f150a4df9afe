"""Values in the scope of a step, its config, and differences between two points."""

from collections.abc import Mapping
from dataclasses import field
from typing import Any, Literal

from pitstop.lazy_dataclass import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class VariableInfo:
    """A value in a scope, one level of it. `path` is jq; `size` is how many children it has, None for a plain value.

    `value` is there for a plain value, and cut when it is long; `preview` is one line in any case.
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
    """Some children of a value; `next` is the cursor of those that come after them."""

    variables: tuple[VariableInfo, ...]
    total: int
    next: int | None = None


@dataclass(frozen=True, slots=True)
class ConfigInfo:
    """A step's config as written, as it would resolve now, and what keeps any part of it from resolving."""

    raw: Mapping[str, Any]
    resolved: Mapping[str, Any]
    expressions: tuple[str, ...] = ()
    problems: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeInfo:
    """A difference between two values, at a path; what was not there is None and `kind` says so."""

    path: str
    kind: Literal["added", "removed", "changed"]
    before: Any = None
    after: Any = None
