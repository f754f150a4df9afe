"""What a step sees, a level and a page at a time: nothing is shown whole because somebody opened a tree."""

import json
from collections.abc import Mapping, Sequence
from itertools import islice
from types import MappingProxyType
from typing import Any, Literal

import msgspec
from msgspec.structs import replace

from pitstop.plan.paths import format_path
from pitstop.plan.values import as_json
from pitstop.runs.telling import MaskText, masked
from pitstop.runs.variable_info import Sort, VariableInfo, VariablePage

LONGEST_TEXT = 10_000
PREVIEW_CHARACTERS = 120
PREVIEW_ITEMS = 20

Type = Literal["object", "array", "string", "number", "boolean", "null"]
Child = tuple[str, tuple[str | int, ...], Any]  # its name, its path and its value


class Children(Sequence[Child]):
    """What is directly in an object or an array; nothing is in any other value. Only what is asked for is made."""

    def __init__(self, value: Any, path: tuple[str | int, ...]) -> None:
        self._value = _opened(value)
        self._path = path
        self._keys: Sequence[Any] = ()
        if isinstance(self._value, Mapping):
            self._keys = list(self._value)
        elif isinstance(self._value, list | tuple):
            self._keys = range(len(self._value))

    def __len__(self) -> int:
        return len(self._keys)

    def __getitem__(self, at: Any) -> Any:
        return [self._child(key) for key in self._keys[at]] if isinstance(at, slice) else self._child(self._keys[at])

    def _child(self, key: Any) -> Child:
        part = key if isinstance(self._keys, range) else str(key)
        return str(key), (*self._path, part), self._value[key]


class Sizes:
    """Sizes of values as JSON, in bytes. Each is computed once, for as long as `moment` says that nothing changes."""

    def __init__(self) -> None:
        self._moment: object = None
        self._known: dict[int, tuple[Any, int]] = {}  # by identity, each with its value, so that that stays its own

    def at(self, moment: object) -> "Sizes":
        if moment != self._moment:
            self._moment = moment
            self._known.clear()
        return self

    def of(self, value: Any) -> int:
        found = self._known.get(id(value))
        if found is None:
            found = self._known[id(value)] = value, _size_of(value)
        return found[1]


def _size_of(value: Any) -> int:
    try:
        return len(msgspec.json.encode(value))
    except (TypeError, ValueError, RecursionError):  # a class, a cycle, half a surrogate pair: only we can show these
        return len(msgspec.json.encode(as_json(value)))


def page_of(
    children: Sequence[Child],
    mask: MaskText,
    *,
    cursor: int,
    limit: int,
    search: str | None,
    origins: Mapping[str, tuple[str, str | None]],
    sort: Sort = "order",
    sizes: Sizes | None = None,
) -> VariablePage:
    """Some of the children; `search` is looked for in names and in plain values. `origins` has layer and setter."""
    sizes = sizes or Sizes()
    if search:
        wanted = search.casefold()
        children = [child for child in children if _has(child, wanted)]
    if sort == "bytes":
        children = sorted(children, key=lambda child: sizes.of(child[2]), reverse=True)
    elif sort == "name":
        children = sorted(children, key=lambda child: child[1][-1])
    page = children[cursor : cursor + limit]
    shown = tuple(replace(tell_value(child, mask, origins), bytes=sizes.of(child[2])) for child in page)
    following = cursor + len(shown)
    return VariablePage(shown, len(children), following if following < len(children) else None)


def preview(value: Any, mask: MaskText = str) -> str:
    """A value in one line, cut where it is long; hardly more of it is looked at than is shown."""
    text = mask(json.dumps(as_json(_cut(value, mask)), ensure_ascii=False))
    return text if len(text) <= PREVIEW_CHARACTERS else text[: PREVIEW_CHARACTERS - 1] + "…"


def type_of(value: Any) -> Type:
    match _opened(value):
        case Mapping():
            return "object"
        case list() | tuple():
            return "array"
        case bool():
            return "boolean"
        case int() | float():
            return "number"
        case None:
            return "null"
    return "string"


def tell_value(
    child: Child, mask: MaskText, origins: Mapping[str, tuple[str, str | None]] = MappingProxyType({})
) -> VariableInfo:
    """A value without what is in it, and cut where it is long."""
    name, path, value = child
    kind = type_of(value)
    layer, set_by = origins.get(name, ("", None))
    is_plain = kind not in ("object", "array")
    shown = masked(as_json(value), mask) if is_plain else None
    is_cut = isinstance(shown, str) and len(shown) > LONGEST_TEXT
    if isinstance(shown, str):
        shown = shown[:LONGEST_TEXT]
    return VariableInfo(
        name=mask(name),
        path=mask(format_path(path)),
        type=kind,
        preview=preview(value, mask),
        value=shown,
        is_cut=is_cut,
        size=None if is_plain else len(_opened(value)),
        layer=layer,
        set_by=set_by,
    )


def _opened(value: Any) -> Any:
    """A value as JSON, one level of it: what is a plain container already is looked at where it is."""
    if value is None or isinstance(value, str | bool | int | float | dict | list | tuple):
        return value
    return as_json(value)


def _has(child: Child, wanted: str) -> bool:
    name, _, value = child
    return wanted in name.casefold() or (
        isinstance(value, str | int | float) and wanted in str(value)[:LONGEST_TEXT].casefold()
    )


def _cut(value: Any, mask: MaskText) -> Any:
    """Texts are masked before they are cut: nobody would know half a secret for one."""
    value = _opened(value)
    match value:
        case str():
            return mask(value[: PREVIEW_CHARACTERS + LONGEST_TEXT])[:PREVIEW_CHARACTERS]
        case Mapping():
            return {key: _cut(child, mask) for key, child in islice(value.items(), PREVIEW_ITEMS)}
        case list() | tuple():
            return [_cut(child, mask) for child in islice(value, PREVIEW_ITEMS)]
    return value
