"""What all routes of the API have in common: strict JSON, idempotency, and repositories of other servers."""

import hashlib
import json
from collections.abc import Callable, Coroutine
from functools import partial
from typing import Any

import msgspec
from fastapi import APIRouter, Request
from fastapi.routing import APIRoute
from starlette.responses import Response

from pitstop.doors.http.answers import problem_responses
from pitstop.doors.http.gate.forwarding import Forwarding
from pitstop.service.caller import Caller
from pitstop.service.idempotency import Answer, Idempotency

API = "/api/v1"
DEEPEST = 100

Handler = Callable[[Request], Coroutine[Any, Any, Response]]
_MAKING_RUNS = ("start_run", "rerun", "create_trials", "repeat_trial")
_NEVER_STORED = ("add_token", "new_login_link", "open_shell")  # their answers are for the caller alone
_STORED_HEADERS = ("content-type", "location", "etag")


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


class DoorRoute(APIRoute):
    """A route that answers for itself. Its function is named after the operation, and its docstring is the summary.

    FastAPI does not know the type of its answer: `openapi.py` describes it.
    """

    def __init__(self, path: str, endpoint: Callable[..., Any], *, response_model: Any, **options: Any) -> None:
        options["responses"] = options["responses"] or problem_responses()
        options["operation_id"] = options["name"] or endpoint.__name__
        super().__init__(path, endpoint, response_model=None, **options)
        self.answer = response_model
        self.summary = self.summary or (endpoint.__doc__ or "").removesuffix(".")
        if options["description"] is None:
            self.description = ""  # FastAPI would take the docstring

    def get_route_handler(self) -> Handler:
        handle = self.get_handler()
        operation = self.name

        async def handle_request(request: Request) -> Response:
            request = StrictRequest(request.scope, request.receive)
            caller: Caller = request.state.caller
            is_stored = caller.key is not None and request.method == "POST" and operation not in _NEVER_STORED
            answer = partial(_act_once, handle, request, operation) if is_stored else partial(handle, request)
            forwarding: Forwarding = request.app.state.forwarding
            return await forwarding.answer(request, answer)

        return handle_request

    def get_handler(self) -> Handler:
        """What answers a request that is not a repeated one. FastAPI reads it by the signature of the function."""
        return super().get_route_handler()


class DirectRoute(DoorRoute):
    """A route whose function takes the request and reads it by itself, which costs less than FastAPI's reading."""

    def get_handler(self) -> Handler:
        return self.endpoint


def api_router(prefix: str, *tags: str, route_class: type[DoorRoute] = DoorRoute) -> APIRouter:
    """For the routes of one family, below `/api/v1`."""
    return APIRouter(prefix=API + prefix, tags=[*tags], route_class=route_class)


async def _act_once(handle: Handler, request: Request, operation: str) -> Response:
    """Handle the request, or answer it as the first one with its idempotency key."""
    target = request.url.path + (f"?{request.url.query}" if request.url.query else "")
    digest = hashlib.sha256(target.encode() + b"\0" + await request.body()).hexdigest()
    fresh: list[Response] = []

    async def act(run_id: str | None) -> Answer:
        request.state.run_id = run_id
        response = await handle(request)
        fresh.append(response)
        headers = {name: response.headers[name] for name in _STORED_HEADERS if name in response.headers}
        return Answer(digest, response.status_code, headers, bytes(response.body))

    once: Idempotency = request.app.state.idempotency
    answer = await once.answer(request.state.caller, digest, act, makes_run=operation in _MAKING_RUNS)
    if fresh:
        return fresh[0]
    return Response(answer.body, answer.status, {**answer.headers, "Idempotency-Replayed": "true"})
