"""Values in the scope of a step, its config, and differences between two points."""

from collections.abc import Mapping
from typing import Any, Literal

from msgspec import Struct, field

Sort = Literal["order", "name", "bytes"]


class VariableInfo(Struct, frozen=True, kw_only=True):
    """One level of a value in a scope. `path` is jq; `size` is the number of children, None for a plain value.

    `value` is set for a plain value, and truncated when it is long; `preview` is always one line. `bytes` is the size
    of the whole value as JSON.
    """

    name: str
    path: str
    type: Literal["object", "array", "string", "number", "boolean", "null"]
    preview: str
    value: Any = None
    is_cut: bool = False
    size: int | None = None
    bytes: int | None = None
    layer: str = ""
    set_by: str | None = None


class VariablePage(Struct, frozen=True):
    """A page of the children of a value; `next` is the cursor of the next page."""

    variables: tuple[VariableInfo, ...]
    total: int
    next: int | None = None


class Evaluated(Struct, frozen=True):
    """All values of an expression. `cut` has the paths of values too large to send."""

    values: list[Any]
    cut: tuple[str, ...] = ()


class WholeScope(Struct, frozen=True):
    """All values of a scope. `cut` has the paths of values too large to send; read those page by page."""

    scope: dict[str, Any]
    cut: tuple[str, ...] = ()


class ConfigInfo(Struct, frozen=True):
    """A step's config as written, as it resolves now, and what cannot be resolved."""

    raw: Mapping[str, Any]
    resolved: Mapping[str, Any]
    expressions: tuple[str, ...] = ()
    problems: Mapping[str, str] = field(default_factory=dict)


class ChangeInfo(Struct, frozen=True, kw_only=True):
    """A difference between two values, at a path; a missing value is None, as `kind` says."""

    path: str
    kind: Literal["added", "removed", "changed"]
    before: Any = None
    after: Any = None
