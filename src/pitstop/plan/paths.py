"""jq paths as values: reading, setting and removing the place that a path names."""

import json
import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from itertools import repeat
from typing import Any, TypeAlias

from pitstop.definition.values import type_of
from pitstop.errors import BadExpression

Parts: TypeAlias = tuple[str | int, ...]

_PART = r"""(?xsa)  # compiled when it is first used, as all patterns that a short run may not need
        \. (?P<name> [A-Za-z_][A-Za-z0-9_]* )
        | \. (?P<quoted> "(?:[^"\\]|\\.)*" )
        | \.? \[ \s* (?P<key> "(?:[^"\\]|\\.)*" ) \s* \]
        | \.? \[ \s* (?P<index> -?[0-9]{1,9} ) \s* \]
"""
_NAME = r"[A-Za-z_][A-Za-z0-9_]*"
_SHOWN_KEY_BYTES = 29  # what jq shows of a key in its messages
_MOST_PADDING = 1_000_000


def parse_path(text: str) -> Parts:
    """The parts of a plain path, such as `.a[-1]."odd key"["x"]`, or `.` for none; BadExpression for any other jq."""
    path = text.strip()
    if path == ".":
        return ()
    parts, end = longest_path(path, 0)
    if end < len(path):
        column = 1 + end + len(text) - len(text.lstrip())
        raise BadExpression(text, f'not a plain path at column {column}: use .name, ["name"] or [0]')
    if not parts:
        raise BadExpression(text, "not a plain path: it is empty; use `.` for everything")
    return parts


def longest_path(text: str, start: int) -> tuple[Parts, int]:
    """The parts of the plain path that starts there, as far as it is plain, and where it ends."""
    parts: list[str | int] = []
    end = start
    match_part = re.compile(_PART).match
    while text.startswith(".", start) and (match := match_part(text, end)) is not None:
        part = _part(match)
        if part is None:
            break
        parts.append(part)
        end = match.end()
    return tuple(parts), end


@lru_cache(maxsize=4096)
def plain_path(text: str) -> Parts | None:
    """The parts of `text` if it is a plain path, None if it needs the real jq."""
    try:
        return parse_path(text)
    except BadExpression:
        return None


def format_path(parts: Sequence[str | int]) -> str:
    """The path as text: `parse_path` gives the same parts again."""
    shown = "".join(
        f"[{part}]"
        if isinstance(part, int)
        else f".{part}"
        if re.fullmatch(_NAME, part)
        else f"[{json.dumps(part, ensure_ascii=False)}]"
        for part in parts
    )
    return shown if shown.startswith(".") else f".{shown}"


def read_path(values: object, parts: Sequence[str | int]) -> Any:
    """What jq gives for the path: null where there is nothing, and jq's own words where that place cannot be."""
    for part in parts:
        values = _child(values, part, parts)
    return values


def with_value(values: object, parts: Sequence[str | int], new: object) -> Any:
    """`values` with `new` at the path, as jq would set it; BadExpression where the path cannot be.

    Only the containers along the path are copies, all else is shared.
    """
    nodes = [values]
    for part in parts[:-1]:
        nodes.append(_child(nodes[-1], part, parts))
    for depth in reversed(range(len(parts))):
        new = _with_child(nodes[depth], parts[depth], new, parts)
    return new


def without(values: object, parts: Sequence[str | int]) -> Any:
    """`values` with nothing at the path, shared as by `with_value`; `values` itself if there was nothing."""
    if not parts:
        return None
    *way, last = parts
    parent = read_path(values, way)
    _child(parent, last, parts)  # refuses what cannot be indexed
    if isinstance(parent, Mapping):
        if last not in parent:
            return values
        return with_value(values, way, {key: child for key, child in parent.items() if key != last})
    if isinstance(parent, list | tuple) and isinstance(last, int):
        index = last + len(parent) if last < 0 else last
        if 0 <= index < len(parent):
            return with_value(values, way, [*parent[:index], *parent[index + 1 :]])
    return values


def _part(match: re.Match[str]) -> str | int | None:
    """The part that was matched; None for a string that only jq can read, such as one with `\\(...)` inside."""
    if (name := match["name"]) is not None:
        return name
    if (index := match["index"]) is not None:
        return int(index)
    try:
        key: str = json.loads(match["quoted"] or match["key"], strict=False)
        key.encode()
    except ValueError:
        return None
    return key


def _child(node: object, part: str | int, path: Sequence[str | int]) -> object:
    if isinstance(node, Mapping) and isinstance(part, str):
        return node.get(part)
    if isinstance(node, list | tuple) and isinstance(part, int):
        return node[part] if -len(node) <= part < len(node) else None
    if node is None:
        return None
    kind = "number" if isinstance(part, int) else "string"
    raise BadExpression(format_path(path), f"Cannot index {type_name(node)} with {kind} ({_shown(part)})")


def _with_child(node: object, part: str | int, child: object, path: Sequence[str | int]) -> object:
    _child(node, part, path)  # refuses what cannot be indexed
    if isinstance(part, str):
        return {**node, part: child} if isinstance(node, Mapping) else {part: child}
    items = [*node] if isinstance(node, list | tuple) else []
    if part < -len(items):
        raise BadExpression(format_path(path), "Out of bounds negative array index")
    if part > len(items) + _MOST_PADDING:
        raise BadExpression(format_path(path), f"Array index too large: {part}, where the array has {len(items)}")
    items.extend(repeat(None, part + 1 - len(items)))
    items[part] = child
    return items


def type_name(node: object) -> str:
    """jq's name for the type of a value."""
    if node is None:
        return "null"
    return type_of(node) or type(node).__name__


def _shown(part: str | int) -> str:
    text = json.dumps(part, ensure_ascii=False)
    raw = text.encode(errors="backslashreplace")
    if len(raw) <= _SHOWN_KEY_BYTES:
        return text
    return raw[: _SHOWN_KEY_BYTES - 4].decode(errors="ignore") + '..."'
