"""The debugger of a run: a route for each verb of the table."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from contextlib import nullcontext
from typing import Any
from weakref import WeakValueDictionary

import msgspec
from fastapi import APIRouter, Request
from starlette.requests import HTTPConnection
from starlette.responses import Response

from pitstop.doors.http.answers import answer, problem_responses
from pitstop.doors.http.gate.limits import Limits
from pitstop.doors.http.routes.breakpoints import check_etag, etag_of
from pitstop.doors.http.routes.cutting import cut_to_size
from pitstop.doors.http.routes.parameters import read_run_id
from pitstop.doors.http.routes.reading import invalid, is_json, read_text, read_value
from pitstop.doors.http.routes.route import DirectRoute, api_router
from pitstop.doors.http.routes.verb_schemas import is_about_breakpoints, status_of
from pitstop.program import program
from pitstop.service import debugging
from pitstop.service.debugging import (
    VERBS,
    BreakpointInfo,
    ContextInfo,
    Debugger,
    DebugState,
    Evaluated,
    Verb,
    WholeScope,
    verbs,
)
from pitstop.service.desks import Service
from pitstop.service.runs import BreakpointRequest

WITHOUT_BODY = ("GET", "DELETE")
Respond = Callable[[Request, Verb], Awaitable[Response]]


async def say(debugger: Debugger, request: debugging.Request[Any], limits: Limits, connection: HTTPConnection) -> Any:
    """The answer of a run's debugger, cut to size; the state after a verb that has no answer of its own."""
    if isinstance(request, verbs.Step) and request.code:
        request = msgspec.structs.replace(request, code=False)  # it would wait where no client of this door can attach
    said = await debugger.say(request)
    match said:
        case None:
            return await debugger.say(verbs.State())
        case Evaluated():
            return Evaluated(*cut_to_size(said.values, limits.scope_bytes))
        case WholeScope():
            return WholeScope(*cut_to_size(said.scope, limits.scope_bytes))
        case ContextInfo():
            scheme = "https" if connection.url.scheme in ("https", "wss") else "http"
            url = str(connection.base_url.replace(scheme=scheme))
            join = f"{program(anywhere=True)} debug {debugger.run} --server {url.rstrip('/')}"
            return msgspec.structs.replace(said, join=f"{join} --shell", join_sidecar=f"{join} --sidecar")
    return said


def routes(service: Service, limits: Limits) -> APIRouter:
    router = api_router("/runs/{run}/debug", route_class=DirectRoute)
    locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()  # between a check of an ETag and its change

    async def respond(request: Request, verb: Verb) -> Response:
        run = read_run_id(request)
        said = read_request(verb, request, {} if verb.method in WITHOUT_BODY else await read_body(request))
        debugger = Debugger(service.debugging, request.state.caller, run)
        is_checked = verb.changes and is_about_breakpoints(verb)
        async with locks.setdefault(run, asyncio.Lock()) if is_checked else nullcontext():
            if is_checked and (wanted := request.headers.get("if-match")):
                check_etag(_definitions(await debugger.say(verbs.Breakpoints())), wanted)
            result = await say(debugger, said, limits, request)
        if verb.method == "DELETE":
            return Response(status_code=204)
        headers = _headers(verb, run, result)
        if verb.method == "GET" and "ETag" in headers and request.headers.get("if-none-match") == headers["ETag"]:
            return Response(status_code=304, headers=headers)
        return answer(result, status_of(verb), **headers)

    for verb in VERBS.values():
        _add_route(router, verb, respond)
    return router


def _add_route(router: APIRouter, verb: Verb, respond: Respond) -> None:
    async def act(request: Request) -> Response:
        return await respond(request, verb)

    look = "looking" if verb.method == "GET" and verb.place else "debug"
    router.add_api_route(
        f"/{verb.place}".rstrip("/"),
        act,
        methods=[verb.method],
        name=verb.operation_id,
        summary=verb.summary,
        tags=["breakpoints" if is_about_breakpoints(verb) else look],
        status_code=status_of(verb),
        responses=problem_responses(404, 409, *([412] if is_about_breakpoints(verb) else [])),
    )


async def read_body(request: Request) -> dict[str, Any]:
    """The JSON object of a request; BadRequest."""
    if not await request.body() or not is_json(request.headers.get("content-type", "")):
        raise invalid("body: must be a JSON object, with the content type application/json")
    try:
        body = await request.json()
    except json.JSONDecodeError as error:
        raise invalid(f"body: {error.msg}") from None
    if not isinstance(body, dict):
        raise invalid("body: must be a JSON object")
    return body


def read_request(verb: Verb, request: Request, body: dict[str, Any]) -> debugging.Request[Any]:
    """What a request says: fields in its path, and in its query or its body; BadRequest."""
    given = dict(body)
    for field in verb.fields:
        name = field.encode_name
        if name in verb.path_fields:
            if name in body:
                raise invalid(f"body.{name}: is in the path")
            given[name] = read_text(request.path_params[name], field.type, f"path.{name}")
        elif verb.method in WITHOUT_BODY and name in request.query_params:
            given[name] = read_text(request.query_params[name], field.type, f"query.{name}")
    return read_value(given, verb.request, "query" if verb.method in WITHOUT_BODY else "body")


def _headers(verb: Verb, run: str, result: Any) -> dict[str, str]:
    if isinstance(result, DebugState):
        return {"ETag": f'"{result.last_event}"'}
    if verb.name == "breakpoints":
        return {"ETag": etag_of(_definitions(result))}
    if verb.name == "export":
        plain = "".join(char if char.isalnum() and char.isascii() else "-" for char in run)
        return {"Content_Disposition": f'attachment; filename="{plain}.json"'}
    return {}


def _definitions(listed: tuple[BreakpointInfo, ...]) -> list[tuple[int, BreakpointRequest]]:
    """Breakpoints without their hit counts, which are no reason to refuse a change."""
    return [(each.id, each.request) for each in listed]
