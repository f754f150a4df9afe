"""Errors on the wire: problem details of RFC 9457, made from any error of ours and turned back into the same class."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from msgspec.structs import asdict

from pitstop.errors import BadFlow, Mistake, PitstopError

MEDIA_TYPE = "application/problem+json"

_OWN_MEMBERS = ("type", "title", "status", "detail", "code")
_STATUS = {
    "refused": 409,
    "refused.graph": 422,
    "elsewhere": 421,
    "elsewhere.repo": 503,
    "unknown": 404,
    "step_type.unknown": 404,
    "definition": 422,
    "expression": 422,
    "cursor": 422,
    "log": 422,
    "log.lost": 503,
    "step": 422,
    "step_type": 422,
    "executor": 503,
    "executor.workspace_lost": 409,
    "request": 422,
    "request.too_large": 413,
    "request.head_too_large": 431,
    "request.timeout": 408,
    "request.changed": 412,
    "access": 403,
    "access.not_known": 401,
    "access.signature": 401,
    "git": 503,
    "server": 503,
    "store": 503,
    "server.too_many": 429,
}  # by the code, or by the nearest one above it


def status_of(code: str) -> int:
    """The HTTP status that goes with a code."""
    return next((_STATUS[each] for each in _upwards(code) if each in _STATUS), 400)


def to_problem(error: PitstopError) -> dict[str, Any]:
    """The error as problem details: the code, and every value that it has."""
    values = {name: _told(value) for name, value in vars(error).items() if name not in _OWN_MEMBERS}
    if isinstance(error, BadFlow):
        values = {"mistakes": [asdict(mistake) for mistake in error.found]}
    return problem(error.code, _title(type(error)), str(error), status_of(error.code), **values)


def problem(code: str, title: str, detail: str, status: int, **values: Any) -> dict[str, Any]:
    named = {"type": f"urn:pitstop:{code}", "title": title, "status": status, "detail": detail, "code": code}
    return named | values


def from_problem(told: Mapping[str, Any]) -> PitstopError:
    """The error that a problem was made from: of its class, or of the nearest class above it that is known here."""
    code, detail = (
        str(told.get("code", "")),
        str(told.get("detail") or told.get("title") or "the server gave no reason"),
    )
    known: dict[str, type[PitstopError]] = {}
    for each in _classes(PitstopError):
        known.setdefault(each.code, each)  # a class below may have the same code: it is told as the one above
    kind = next((known[each] for each in _upwards(code) if each in known), PitstopError)
    values = {name: _heard(value) for name, value in told.items() if name not in _OWN_MEMBERS}
    error = kind.__new__(kind, detail)
    Exception.__init__(error, detail)  # its own __init__ would make the text anew
    if isinstance(error, BadFlow):
        error.found = tuple(Mistake(**each) for each in values.pop("mistakes", ()))
        error.mistakes = tuple(map(str, error.found))
    for name, value in values.items():
        setattr(error, name, value)
    if error.code != code and code:
        error.code = code  # a class that only the server has; what it said stays readable
    return error


def _upwards(code: str) -> Iterator[str]:
    """`a.b.c`, `a.b`, `a`."""
    while code:
        yield code
        code = code.rpartition(".")[0]


def _classes(top: type[PitstopError]) -> Iterator[type[PitstopError]]:
    yield top
    for below in top.__subclasses__():
        yield from _classes(below)


def _title(kind: type[PitstopError]) -> str:
    words = re.findall("[A-Z][a-z]*", kind.__name__) or [kind.__name__]
    return " ".join([words[0], *map(str.lower, words[1:])])


def _told(value: Any) -> Any:
    """A value of an error as JSON."""
    match value:
        case None | bool() | int() | float() | str():
            return value
        case tuple() | list() | set() | frozenset():
            return [_told(each) for each in value]
        case Mapping():
            return {str(key): _told(each) for key, each in value.items()}
    return str(value)


def _heard(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value
