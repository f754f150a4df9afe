"""JSON values in the hands of the door: in one line, and level by level."""

import json
import re
from collections.abc import Sequence
from typing import Any

from pitstop.doors.dap.protocol.messages import Variable

LONGEST_PREVIEW = 500
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)


def preview(value: Any, limit: int = LONGEST_PREVIEW) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= limit else text[: limit - 1] + "…"


def size_of(value: Any) -> int | None:
    return len(value) if isinstance(value, dict | list) else None


def children_of(value: Any) -> Sequence[tuple[str, Any]]:
    if isinstance(value, dict):
        return list(value.items())
    return [(str(index), child) for index, child in enumerate(value)] if isinstance(value, list) else []


def child_path(path: str, name: str, *, is_array: bool) -> str:
    """The jq path of what is directly in the value at a path."""
    if is_array:
        return f"{path}[{name}]"
    key = f".{name}" if _NAME.fullmatch(name) else f"[{json.dumps(name, ensure_ascii=False)}]"
    return (f".{key}" if key.startswith("[") else key) if path == "." else f"{path}{key}"


def named(kind: str, size: int | None) -> int | None:
    """How many children with names a client is told of."""
    return size or None if kind == "object" else None


def indexed(kind: str, size: int | None) -> int | None:
    """How many children with numbers, which it may ask for page by page."""
    return size or None if kind == "array" else None


def more(count: int, reference: int) -> Variable:
    """What stands for the rest where not everything is told at once."""
    return Variable(name=f"… {count} more", value="", variables_reference=reference)
