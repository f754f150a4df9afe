"""JSON that others have sent, read within limits so that it cannot take all memory."""

import re
from typing import Any

import msgspec

from pitstop.errors import BadRequest

MOST_LEVELS = 100
MOST_VALUES = 1_000_000
_SEPARATORS = (b",", b"[", b"{")  # there is at most one value more than there are of these
_LARGEST = 2**64 - 1  # what can be stored as a number
_SMALLEST = -(2**63)


def read_payload(text: bytes) -> Any:
    """The value in `text`; BadRequest if it is not JSON, too deep, too large, or has a number that is too large."""
    if _has_too_many(text):
        raise BadRequest(f"the payload has more than {MOST_VALUES:,} values")
    try:
        payload = msgspec.json.decode(text)
    except RecursionError as error:
        raise _too_deep() from error
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise BadRequest(f"the payload is not valid JSON: {error}") from error
    _check_values(payload)
    return payload


def _has_too_many(text: bytes) -> bool:
    """What is in strings does not count, but looking for them takes long, and is seldom needed."""
    if _count_separators(text, 0, len(text)) < MOST_VALUES:
        return False
    unescaped = text.replace(b"\\\\", b"").replace(b'\\"', b"")
    count = end = 0
    for number, string in enumerate(re.finditer(rb'"[^"]*"?', unescaped)):
        count += _count_separators(unescaped, end, string.start())
        end = string.end()
        if max(count, number // 2) >= MOST_VALUES:  # a value has at most two strings: one may be its key
            return True
    return count + _count_separators(unescaped, end, len(unescaped)) >= MOST_VALUES


def _count_separators(text: bytes, begin: int, end: int) -> int:
    return sum(text.count(each, begin, end) for each in _SEPARATORS)


def _check_values(payload: object) -> None:
    level = [payload]
    levels = 0
    while level:
        if any(isinstance(each, int) and not _SMALLEST <= each <= _LARGEST for each in level):
            raise BadRequest("the payload has a whole number that does not fit into 64 bits")
        containers = [each for each in level if isinstance(each, dict | list)]
        levels += bool(containers)
        if levels > MOST_LEVELS:
            raise _too_deep()
        level = [child for each in containers for child in (each.values() if isinstance(each, dict) else each)]


def _too_deep() -> BadRequest:
    return BadRequest(f"the payload is nested more than {MOST_LEVELS} levels deep")
