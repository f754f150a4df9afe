"""Reads values of requests by their types; what is wrong is answered with its place, without the value."""

from typing import Any, TypeVar

import msgspec

from pitstop.errors import BadRequest

T = TypeVar("T")


def read_value(value: Any, kind: type[T], place: str) -> T:
    """JSON as a value of a type, strictly; BadRequest."""
    return _read(value, kind, place, strict=True)  # type: ignore[no-any-return]


def read_text(text: str, kind: Any, place: str) -> Any:
    """The text of a parameter as a value of a type; BadRequest."""
    if "\0" in text:
        raise invalid(f"{place}: must not contain a NUL character")
    return _read(text, kind, place, strict=False)


def _read(value: Any, kind: Any, place: str, *, strict: bool) -> Any:
    try:
        return msgspec.convert(value, kind, strict=strict)
    except msgspec.ValidationError as error:
        reason, _, inner = str(error).partition(" - at `$")
        raise invalid(f"{place}{inner.rstrip('`')}: {reason}") from None


def invalid(problem: str) -> BadRequest:
    return BadRequest(f"invalid request: {problem}", [problem])


def is_json(content_type: str) -> bool:
    """Whether a body of this type is JSON: a form that another site posts cannot say so."""
    kind = content_type.partition(";")[0].strip().lower()
    return kind == "application/json" or (kind.startswith("application/") and kind.endswith("+json"))
