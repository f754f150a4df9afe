"""Reading JSON of any shape: a part that is missing or of another type is empty."""

import json
from collections.abc import Mapping
from typing import Any

import msgspec

_decode = msgspec.json.Decoder().decode
_NOT_JSON = (msgspec.MsgspecError, ValueError, RecursionError)

Object = dict[str, Any]


def read_json(text: bytes) -> Any:
    """The value of a JSON text; None if it is not JSON. Bad UTF-8 and half a surrogate pair are replaced."""
    try:
        return _decode(text)
    except _NOT_JSON:
        pass
    try:  # JavaScript writes half a pair where it cuts an emoji
        value = json.loads(text.decode(errors="replace"))
        return _decode(json.dumps(value, ensure_ascii=False).encode(errors="replace"))
    except _NOT_JSON:
        return None


def text_at(given: Mapping[str, Any], name: str) -> str:
    value = given.get(name)
    return value if type(value) is str else ""


def object_at(given: Object, name: str) -> Object:
    value = given.get(name)
    return value if type(value) is dict else {}


def objects_at(given: Mapping[str, Any], name: str) -> list[Object]:
    value = given.get(name)
    return [item for item in value if type(item) is dict] if type(value) is list else []


def count_at(given: Object, name: str) -> int:
    return int(number_at(given, name) or 0)


def number_at(given: Object, name: str) -> float | None:
    value = given.get(name)
    return float(value) if isinstance(value, int | float) and type(value) is not bool else None


def content_at(given: Object, name: str) -> str:
    """The text of a tool's result, which is a string or a list of content blocks."""
    shown = [text_at(block, "text") or "[image]" * (block.get("type") == "image") for block in objects_at(given, name)]
    return text_at(given, name) or "\n".join(filter(None, shown))
