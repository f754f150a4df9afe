"""Answers as JSON: values as they are, errors as problem details."""

import json
import logging
from collections.abc import Mapping
from typing import Any

import msgspec
from fastapi import Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import Response

from pitstop.errors import BadRequest, NotKnown, PitstopError
from pitstop.service.problems import MEDIA_TYPE, problem, status_of, to_problem

LOGGER = logging.getLogger("pitstop.http")
RETRY_AFTER_SECONDS = 5
MOST_PROBLEMS = 50
BUG = problem("internal", "Internal error", "this is a bug in Pitstop: see the server log", 500)

_TOLD = {
    401: "Missing or invalid token or session.",
    403: "Not allowed for this role, or a cross-site request.",
    404: "Not found.",
    409: "Refused without any change: the stop has ended, or the verb is not possible now.",
    412: "It has changed since the ETag was issued.",
    413: "The request is too large.",
    422: "Invalid request, or an invalid flow.",
    429: "Too many open connections or tokens.",
    503: "The server is busy or starting, or a dependency is unavailable.",
}


def encode(value: Any) -> bytes:
    """JSON of plain values and structs; what no JSON can hold is shown as text."""
    try:
        return msgspec.json.encode(value, enc_hook=_shown)
    except (TypeError, ValueError, RecursionError):  # half a surrogate pair, a number beyond any, a key that is no text
        text = json.dumps(msgspec.to_builtins(value, enc_hook=_shown, str_keys=True), ensure_ascii=True, default=str)
        return text.encode()


def _shown(value: Any) -> Any:
    return dict(value) if isinstance(value, Mapping) else str(value)


def answer(value: Any, status: int = 200, **headers: str) -> Response:
    """The value as JSON. A header's name is written with underscores."""
    named = {name.replace("_", "-"): text for name, text in headers.items()}
    return Response(encode(value), status, named, "application/json")


def refusal(error: PitstopError) -> Response:
    """The error as problem details."""
    headers, status = {}, status_of(error.code)
    if isinstance(error, NotKnown):
        headers["WWW-Authenticate"] = 'Bearer realm="pitstop"'
    if status in (429, 503):
        headers["Retry-After"] = str(RETRY_AFTER_SECONDS)
    return Response(encode(to_problem(error)), status, headers, MEDIA_TYPE)


def problem_responses(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """What OpenAPI is told of the problems that a route may answer with."""
    content = {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}}
    return {status: {"content": content, "description": _TOLD[status]} for status in sorted({401, 403, 422, *statuses})}


# --- What the app does with exceptions -------------------------------------------------------------------------------


async def answer_error(_request: Request, error: Exception) -> Response:
    assert isinstance(error, PitstopError)
    return refusal(error)


async def answer_invalid(_request: Request, error: Exception) -> Response:
    """Each place that is wrong, without what stood there: it may be a secret."""
    assert isinstance(error, RequestValidationError)
    problems = []
    for each in error.errors()[:MOST_PROBLEMS]:
        place = ".".join(str(part) for part in each["loc"])
        reason = each.get("ctx", {}).get("error") if each["type"] == "json_invalid" else None
        problems.append(f"{place}: {reason or each['msg']}")
    return refusal(BadRequest("invalid request: " + "; ".join(problems[:3]), problems))


async def answer_http_error(_request: Request, error: Exception) -> Response:
    """What the framework itself refuses: no such route, a method that is not there."""
    assert isinstance(error, HTTPException)
    code = {404: "unknown.route", 405: "request.method", 408: "request.timeout", 413: "request.too_large"}
    told = problem(code.get(error.status_code, "request"), "Not possible", str(error.detail), error.status_code)
    return Response(encode(told), error.status_code, dict(error.headers or {}), MEDIA_TYPE)


async def answer_disconnected(_request: Request, _error: Exception) -> Response:
    """For the metrics: the client is gone, and its request was not complete."""
    return Response(status_code=400)


async def answer_bug(_request: Request, error: Exception) -> Response:
    """Ours, and nobody else's business: told to the log, not to the client."""
    LOGGER.error("internal error in a request", exc_info=error)
    return Response(encode(BUG), 500, {}, MEDIA_TYPE)
