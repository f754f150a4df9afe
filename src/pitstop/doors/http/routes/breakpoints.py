"""Breakpoints outside of a run: those that are stored with a flow, and those that are to be checked."""

import asyncio
import hashlib
from typing import Annotated, Any

from fastapi import APIRouter, Body
from starlette.responses import Response

from pitstop.doors.http.answers import answer, encode, problem_responses
from pitstop.doors.http.routes.parameters import FlowName, IfMatch, Who
from pitstop.doors.http.routes.reading import read_value
from pitstop.doors.http.routes.route import api_router
from pitstop.doors.http.routes.verb_schemas import REF, json_content
from pitstop.errors import Changed
from pitstop.service.desks import Service
from pitstop.service.runs import BreakpointRequest

_LISTED = json_content({"type": "array", "items": {"$ref": REF.format(name="BreakpointRequest")}})
_PROBLEMS = json_content({"type": "array", "items": {"anyOf": [{"type": "string"}, {"type": "null"}]}})
_GIVEN = json_content({"type": "array", "items": {"$ref": REF.format(name="BreakpointForm")}})


def etag_of(value: Any) -> str:
    return f'"{hashlib.sha256(encode(value)).hexdigest()[:32]}"'


def check_etag(value: Any, wanted: str | None) -> None:
    """Changed when the value is not the one that somebody decided upon."""
    if wanted not in (None, "*", etag_of(value)):
        raise Changed(etag_of(value))


def flow_routes(service: Service) -> APIRouter:
    router = api_router("/flows", "breakpoints")
    lock = asyncio.Lock()

    @router.get(
        "/{name:path}/breakpoints", responses=problem_responses(404), openapi_extra={"responses": {"200": _LISTED}}
    )
    async def get_flow_breakpoints(caller: Who, name: FlowName) -> Response:
        """List the breakpoints stored with a flow, for its next debugged run."""
        kept = await service.flows.breakpoints(caller, name)
        return answer(kept, ETag=etag_of(kept))

    @router.put(
        "/{name:path}/breakpoints",
        responses=problem_responses(404, 409, 412),
        openapi_extra={"requestBody": _GIVEN, "responses": {"200": _LISTED}},
    )
    async def keep_flow_breakpoints(
        caller: Who, name: FlowName, body: Annotated[Any, Body()], if_match: IfMatch = None
    ) -> Response:
        """Replace the breakpoints stored with a flow."""
        breakpoints = read_value(body, list[BreakpointRequest], "body")
        async with lock:
            check_etag(await service.flows.breakpoints(caller, name), if_match)
            await service.flows.store_breakpoints(caller, name, breakpoints)
            kept = await service.flows.breakpoints(caller, name)
        return answer(kept, ETag=etag_of(kept))

    @router.post("/breakpoints/check", openapi_extra={"requestBody": _GIVEN, "responses": {"200": _PROBLEMS}})
    async def check_breakpoints(caller: Who, body: Annotated[Any, Body()]) -> Response:
        """Validate the jq of breakpoints: for each, its error or null."""
        breakpoints = read_value(body, list[BreakpointRequest], "body")
        return answer(await service.flows.check_breakpoints(caller, breakpoints))

    return router
