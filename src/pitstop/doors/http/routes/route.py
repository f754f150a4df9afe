"""What every route of the API does alike: read JSON strictly, act once on a repeated request, tell who did what."""

import asyncio
import hashlib
import json
from collections.abc import Awaitable, Callable, Coroutine
from contextvars import ContextVar
from typing import Any

import msgspec
from fastapi import Request
from fastapi.routing import APIRoute
from starlette.responses import Response

from pitstop.doors.http.gate.gate import SAFE_METHODS
from pitstop.doors.http.gate.ports import Idempotency, Remembered
from pitstop.doors.http.gate.trail import Trail
from pitstop.errors import BadRequest, KeyReused, PitstopError
from pitstop.service.api import new_run_id, reserved_run

DEEPEST = 100
LONGEST_KEY = 200
LONGEST_DETAIL = 200
RESERVED = 0  # in place of a status: what is remembered is the id of a run that is about to be made

Handler = Callable[[Request], Coroutine[Any, Any, Response]]

_NAMES_ONLY = ("inputs", "secrets", "outputs", "config")
_TOLD = frozenset(
    [
        "all",
        "approved",
        "enabled",
        "file",
        "folder",
        "frame",
        "from_run",
        "from_step",
        "group",
        "kind",
        "layer",
        "line",
        "mode",
        "name",
        "now",
        "only",
        "path",
        "pinned",
        "point",
        "position",
        "priority",
        "reason",
        "role",
        "seconds",
        "status",
        "step",
        "stop",
        "use_file",
    ]
)


class StrictRequest(Request):
    """A request whose JSON has nothing in it that only Python would take."""

    async def json(self) -> Any:
        if not hasattr(self, "_strict_json"):
            self._strict_json = parse_json(await self.body())
        return self._strict_json


def parse_json(body: bytes) -> Any:
    """JSONDecodeError, which FastAPI answers as a mistake in the body."""
    try:
        value = msgspec.json.decode(body)
        reason = _fault_in(value)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        reason = str(error)
    except RecursionError:
        reason = f"more than {DEEPEST} levels deep"
    else:
        if reason is None:
            return value
    raise json.JSONDecodeError(reason or "invalid JSON", "", 0)


def _fault_in(value: Any) -> str | None:
    level, depth = [value], 0
    while level:
        below: list[Any] = []
        for each in level:
            if isinstance(each, str):
                if "\0" in each:
                    return "a NUL character, which cannot be passed to a step"
            elif isinstance(each, dict):
                below.extend(each)
                below.extend(each.values())
            elif isinstance(each, list):
                below.extend(each)
        depth += 1
        if depth > DEEPEST:
            return f"more than {DEEPEST} levels deep"
        level = below
    return None


is_described: ContextVar[bool] = ContextVar("is_described", default=False)


class DoorRoute(APIRoute):
    """A route that answers for itself. What its answers look like is told only where somebody asks for a description:
    to make the models for it takes longer than all the rest of a server's start.
    """

    def __init__(self, path: str, endpoint: Callable[..., Any], **options: Any) -> None:
        if not is_described.get():
            options |= {"response_model": None, "responses": None}
        super().__init__(path, endpoint, **options)

    def get_route_handler(self) -> Handler:
        handle = super().get_route_handler()
        operation = self.operation_id or self.name

        async def handle_request(request: Request) -> Response:
            request = StrictRequest(request.scope, request.receive)
            if request.method in SAFE_METHODS:
                return await handle(request)
            key = request.headers.get("idempotency-key")
            if key is None or request.method != "POST" or operation in _NEVER_KEPT:
                return await _handle_and_tell(handle, request, operation)
            once: Once = request.app.state.once
            makes_run = operation in _MAKING_RUNS
            return await once.answer(request, key, lambda: _handle_and_tell(handle, request, operation), makes_run)

        return handle_request


async def _handle_and_tell(handle: Handler, request: Request, operation: str) -> Response:
    response = await handle(request)
    if response.status_code < 400 and "identity" in request.scope["state"]:
        body = getattr(request, "_strict_json", None)
        run = (
            request.path_params.get("run") or response.headers.get("location", "").removeprefix("/api/v1/runs/") or None
        )
        detail = {name: value for name, value in request.path_params.items() if name != "run"}
        if "scope" in request.query_params:
            detail["scope"] = request.query_params["scope"][:LONGEST_DETAIL]
        trail: Trail = request.app.state.trail
        await trail.tell(request.state.identity, operation, run, detail | told_of(body))
    return response


def told_of(body: Any) -> dict[str, Any]:
    """What of a request may be written down: no value that somebody gave to a run, and no secret."""
    told: dict[str, Any] = {}
    for name, value in body.items() if isinstance(body, dict) else ():
        if name in _NAMES_ONLY and isinstance(value, dict):
            told[name] = sorted(value)[:LONGEST_DETAIL]
        elif name == "flow" and isinstance(value, dict):
            told[name] = value.get("path") or value.get("name") or "text"
        elif name in _TOLD and isinstance(value, bool | int | float | str):
            told[name] = value[:LONGEST_DETAIL] if isinstance(value, str) else value
    return told


class Once:
    """Answers a request that comes again with the same idempotency key as it was answered the first time."""

    def __init__(self, idempotency: Idempotency) -> None:
        self._idempotency = idempotency
        self._locks: dict[str, tuple[asyncio.Lock, int]] = {}

    async def answer(
        self, request: Request, key: str, handle: Callable[[], Awaitable[Response]], makes_run: bool = False
    ) -> Response:
        """KeyReused for a key that came with another request. Of two at the same time, the second waits.

        The id of a run that is made is kept before the run is: whoever comes again after a crash finds the same run.
        """
        if not 0 < len(key) <= LONGEST_KEY or not key.isprintable():
            raise BadRequest(f"an Idempotency-Key must have 1 to {LONGEST_KEY} printable characters")
        target = request.url.path + (f"?{request.url.query}" if request.url.query else "")
        digest = hashlib.sha256(target.encode() + b"\0" + await request.body()).hexdigest()
        whole_key = f"{request.state.identity.name} {key}"
        lock, users = self._locks.get(whole_key, (asyncio.Lock(), 0))
        self._locks[whole_key] = (lock, users + 1)
        try:
            async with lock:
                return await self._answer(whole_key, key, digest, handle, makes_run)
        finally:
            lock, users = self._locks.pop(whole_key)
            if users > 1:
                self._locks[whole_key] = (lock, users - 1)

    async def _answer(
        self, whole_key: str, key: str, digest: str, handle: Callable[[], Awaitable[Response]], makes_run: bool
    ) -> Response:
        known = await self._idempotency.recall(whole_key)
        if known is None and makes_run:
            fresh = Remembered(digest, RESERVED, {}, new_run_id().encode())
            known = await self._idempotency.reserve(whole_key, fresh)  # another server may have been asked meanwhile
        if known is not None:
            if known.request != digest:
                raise KeyReused(key)
            if known.status != RESERVED:
                return Response(known.body, known.status, {**known.headers, "Idempotency-Replayed": "true"})
        reserving = reserved_run.set(None if known is None else known.body.decode())
        try:
            response = await handle()
        except PitstopError:
            if makes_run:
                await self._idempotency.forget(whole_key)  # it was refused, and may be asked in another way
            raise
        finally:
            reserved_run.reset(reserving)
        headers = {name: response.headers[name] for name in _KEPT_HEADERS if name in response.headers}
        answer = Remembered(digest, response.status_code, headers, bytes(response.body))
        await self._idempotency.remember(whole_key, answer)
        return response


_MAKING_RUNS = ("start_run", "rerun")
_NEVER_KEPT = ("add_token", "new_login_link", "open_shell")  # what they answer is to be known to nobody else
_KEPT_HEADERS = ("content-type", "location", "etag")
