"""Any Python value as JSON that can be shown, what a path names in it, and what changed between two of them."""

import base64
import dataclasses
import operator
from collections import deque
from collections.abc import Iterable, Mapping
from datetime import date, time, timedelta
from decimal import Decimal
from enum import Enum
from itertools import islice, zip_longest
from math import isfinite
from typing import Any, Literal, TypeAlias, cast
from uuid import UUID

from msgspec import Struct

from pitstop.plan.paths import Parts, format_path, read_path

Json: TypeAlias = "bool | int | float | str | list[Json] | dict[str, Json] | None"

CYCLE = "<cycle>"
DEEPER = "<deeper>"

_SHOWN_CHARACTERS = 200
_SHOWN_BYTES = 1_536
_CHECKED_DEPTH = 2  # down to here a container is checked for being plain before it is converted child by child
_MISSING = object()
_READ_AS_THEY_ARE = (dict, list, str, int, float, type(None), Mapping)


def as_json(value: object, *, max_depth: int = 64, max_items: int = 10_000_000) -> Json:
    """`value` as JSON, whatever it is: this never raises, and its answer can always be encoded.

    What is plain JSON already comes back as it is, not as a copy; so do the plain parts of a value that is not.

    - NaN and the infinities are the strings "NaN", "Infinity" and "-Infinity"
    - bytes are {"$bytes": base64 of the first 1,536, "size": how many there are}
    - tuples, sets (sorted) and deques are lists; other mappings, named tuples, dataclasses, msgspec Structs and
      whatever has a `model_dump` are objects; an enum is its value; dates and times are ISO text
    - keys are text, and one that is taken already gets a prime: {1: "a", "1": "b"} has the keys "1" and "1'"
    - half a surrogate pair is written out, as `\\udc80`
    - anything else is its `repr`, cut to 200 characters
    - "<cycle>" stands for a value inside itself, "<deeper>" for what is below `max_depth`, and "<7 more>" for
      the rest of a container when `max_items` values have been taken in all
    """
    return _Conversion(max_depth, max_items).convert(value, 0)


def look_up(values: object, parts: Parts) -> Json:
    """What a plain path names, as JSON: jq's answer without jq, also in values that are no JSON yet."""
    for part in parts:
        if type(values) is dict and type(part) is str and part in values:  # as nearly always
            values = values[part]
            continue
        if not isinstance(values, _READ_AS_THEY_ARE) or _hides_key(values, part):
            values = as_json(values)
        values = read_path(values, (part,))
    return as_json(values)


class Change(Struct, frozen=True):
    """A path at which two values differ."""

    path: str
    kind: Literal["added", "removed", "changed"]
    before: Json  # None if it was added
    after: Json  # None if it was removed


def diff(before: object, after: object) -> list[Change]:
    """Every place where the two differ as JSON, in the order of `before`; parts that are one object are skipped."""
    changes: list[Change] = []
    todo: list[tuple[Parts, object, object, frozenset[tuple[int, int]]]] = [((), before, after, frozenset())]
    while todo:
        parts, old, new, above = todo.pop()
        if old is _MISSING:
            changes.append(Change(format_path(parts), "added", None, as_json(new)))
            continue
        if new is _MISSING:
            changes.append(Change(format_path(parts), "removed", as_json(old), None))
            continue
        old, new = _comparable(old), _comparable(new)
        children: Iterable[tuple[str | int, object, object]]
        if isinstance(old, dict) and isinstance(new, dict):
            children = ((key, old.get(key, _MISSING), new.get(key, _MISSING)) for key in {**old, **new})
        elif isinstance(old, list) and isinstance(new, list):
            children = ((i, *pair) for i, pair in enumerate(zip_longest(old, new, fillvalue=_MISSING)))
        else:
            if not _are_equal(old, new):
                changes.append(Change(format_path(parts), "changed", as_json(old), as_json(new)))
            continue
        pair = (id(old), id(new))
        if pair not in above:
            above |= {pair}
            todo += reversed([((*parts, part), a, b, above) for part, a, b in children if a is not b])
    return changes


def _hides_key(values: object, part: str | int) -> bool:
    """Whether `part` may be the JSON name of a key that is no text in Python, such as 1."""
    return isinstance(values, Mapping) and part not in values and not set(map(type, values)) <= {str}


def _comparable(value: object) -> object:
    """`value` if its outermost layer is plain JSON; what it is as JSON if not."""
    kind = type(value)
    if value is None or kind is list or kind is str or kind is int or kind is bool:
        return value
    return value if kind is dict and all(type(key) is str for key in cast(Any, value)) else as_json(value)


def _are_equal(old: object, new: object) -> bool:
    """As JSON: 1 is 1.0, but it is not true."""
    return old is new or (isinstance(old, bool) == isinstance(new, bool) and old == new)


def _count_plain(container: list[object] | dict[str, object], max_depth: int, max_items: int) -> int:
    """How many values a container of plain JSON has inside; some exception if it is not plain, or past the limits.

    This is what a large scope costs, hence one flat loop. A cycle has no end, so it meets a limit.
    """
    count = len(container)
    if max_depth <= 0 or count > max_items:
        raise ValueError
    children: Iterable[Any] = container
    if type(container) is dict:
        if not all(map(str.isascii, container)):
            "".join(container).encode()
        children = container.values()
    for child in children:
        kind = type(child)
        if kind is str:
            if not child.isascii():
                child.encode()  # raises for half a surrogate pair
        elif kind is dict or kind is list:
            count += _count_plain(child, max_depth - 1, max_items - count)
        elif kind is int or kind is float:
            if not isfinite(child):  # which raises for an int that is too large for any float
                raise ValueError
        elif kind is not bool and child is not None:
            raise TypeError
    return count


class _Conversion:
    """One walk through a value that is not plain JSON."""

    def __init__(self, max_depth: int, max_items: int) -> None:
        self._max_depth = max_depth
        self._items_left = max_items
        self._above: set[int] = set()  # the containers that we are inside of

    def convert(self, value: object, depth: int) -> Json:
        kind = type(value)
        if value is None or kind is str or kind is int or kind is float or kind is bool:
            return _scalar(value)
        if depth <= _CHECKED_DEPTH and (kind is dict or kind is list) and self._is_plain(value, depth):
            return cast(Json, value)
        if id(value) in self._above:
            return CYCLE
        if depth >= self._max_depth:
            return DEEPER
        self._above.add(id(value))
        try:
            return self._container(_unfolded(value), value, depth)
        except Exception:  # noqa: BLE001 - other people's properties and iterators run here
            return _described(value)
        finally:
            self._above.discard(id(value))

    def _is_plain(self, value: Any, depth: int) -> bool:
        try:
            self._items_left -= _count_plain(value, self._max_depth - depth, self._items_left)
        except Exception:  # noqa: BLE001 - also when another thread changes it, or a class cannot be hashed
            return False
        return True

    def _container(self, unfolded: object, value: object, depth: int) -> Json:
        if isinstance(unfolded, dict):
            return self._object(unfolded, depth)
        if isinstance(unfolded, list):
            return self._array(unfolded, depth)
        return _described(value) if unfolded is value else self.convert(unfolded, depth + 1)

    def _array(self, values: list[object], depth: int) -> list[Json]:
        made = [self.convert(value, depth + 1) for value in islice(values, self._take(len(values)))]
        if len(made) < len(values):
            return [*made, f"<{len(values) - len(made)} more>"]
        return cast(list[Json], values) if all(map(operator.is_, made, values)) else made

    def _object(self, values: dict[object, object], depth: int) -> dict[str, Json]:
        made: dict[str, Json] = {}
        for key, value in islice(list(values.items()), self._take(len(values))):
            name = self._key(key)
            while name in made:
                name += "'"
            made[name] = self.convert(value, depth + 1)
        if len(made) < len(values):
            return {**made, "<more>": f"<{len(values) - len(made)} more>"}
        same = all(map(operator.is_, made, values)) and all(map(operator.is_, made.values(), values.values()))
        return cast(dict[str, Json], values) if same else made

    def _take(self, wanted: int) -> int:
        """How many of `wanted` children may still be converted."""
        taken = min(wanted, self._items_left)
        self._items_left -= taken
        return taken

    def _key(self, key: object) -> str:
        if type(key) is str:
            return _text(key)
        name = self.convert(key, self._max_depth - 1)
        if isinstance(name, str):
            return name
        if name is None or isinstance(name, bool):
            return {None: "null", True: "true", False: "false"}[name]
        return str(name) if isinstance(name, int | float) else _described(key)


def _unfolded(value: object) -> object:
    """One step towards JSON: a plainer value that says the same, or `value` itself if there is none."""
    match value:
        case Enum():
            return value.value
        case dict() if type(value) is dict:
            return value
        case list() if type(value) is list:
            return value
        case str():
            return str.__str__(value)
        case int():
            return int.__int__(value)
        case float():
            return float.__float__(value)
        case bytes() | bytearray() | memoryview():
            view = memoryview(value).cast("B")
            return {"$bytes": base64.b64encode(view[:_SHOWN_BYTES]).decode(), "size": len(view)}
        case date() | time():
            return value.isoformat()
        case timedelta() | Decimal() | UUID():
            return str(value)
        case set() | frozenset():
            return sorted((as_json(member) for member in value), key=repr)
        case tuple() if hasattr(value, "_asdict"):
            return value._asdict()
        case list() | tuple() | deque():
            return list(value)
        case Mapping():
            return dict(value)
    return _fields(value)


def _fields(value: object) -> object:
    """The fields of an object whose class declares them; `value` itself if it does not."""
    kind = type(value)
    if dataclasses.is_dataclass(kind):
        return {field.name: getattr(value, field.name) for field in dataclasses.fields(kind)}
    if hasattr(kind, "__struct_fields__"):  # msgspec
        return {name: getattr(value, name) for name in kind.__struct_fields__}
    if hasattr(kind, "model_dump"):  # pydantic
        return kind.model_dump(value)
    if hasattr(kind, "__fspath__"):
        return kind.__fspath__(value)
    return value


def _scalar(value: Any) -> Json:
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, float) and not isfinite(value):
        return "NaN" if value != value else "Infinity" if value > 0 else "-Infinity"
    if type(value) is int:
        try:
            isfinite(value)
        except OverflowError:  # no reader of JSON has a number for it, and Python may refuse to write its digits
            return _cut(hex(value))
    return cast(Json, value)


def _text(value: str) -> str:
    if value.isascii():
        return value
    try:
        value.encode()
    except UnicodeEncodeError:
        return value.encode(errors="backslashreplace").decode()
    return value


def _described(value: object) -> str:
    try:
        return _cut(_text(repr(value)))
    except Exception:  # noqa: BLE001 - other people's `__repr__` runs here
        return _cut(_text(object.__repr__(value)))


def _cut(text: str) -> str:
    return text if len(text) <= _SHOWN_CHARACTERS else text[: _SHOWN_CHARACTERS - 1] + "…"
