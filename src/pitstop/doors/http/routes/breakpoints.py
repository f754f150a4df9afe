"""Breakpoints outside of a run: those that are stored with a flow, and those that are to be checked."""

import asyncio
import hashlib
from typing import Annotated, Any

from fastapi import APIRouter, Body
from starlette.responses import Response

from pitstop.doors.http.answers import answer, encode, problem_responses
from pitstop.doors.http.routes.parameters import FlowName, IfMatch, RepoId, Who
from pitstop.doors.http.routes.reading import read_value
from pitstop.doors.http.routes.route import api_router
from pitstop.doors.http.routes.verb_schemas import REF, json_content
from pitstop.errors import Changed
from pitstop.service.caller import Caller
from pitstop.service.desks import Service
from pitstop.service.runs import BreakpointRequest

_LISTED = json_content({"type": "array", "items": {"$ref": REF.format(name="BreakpointRequest")}})
_PROBLEMS = json_content({"type": "array", "items": {"anyOf": [{"type": "string"}, {"type": "null"}]}})
_GIVES = {"responses": {"200": _LISTED}}
_GIVEN = json_content({"type": "array", "items": {"$ref": REF.format(name="BreakpointForm")}})
_TAKES = {"requestBody": _GIVEN, "responses": {"200": _LISTED}}


def etag_of(value: Any) -> str:
    return f'"{hashlib.sha256(encode(value)).hexdigest()[:32]}"'


def check_etag(value: Any, wanted: str | None) -> None:
    """Changed when the value is not the one that somebody decided upon."""
    if wanted not in (None, "*", etag_of(value)):
        raise Changed(etag_of(value))


def flow_routes(service: Service) -> APIRouter:
    router = api_router("/flows", "breakpoints")
    stored = _StoredBreakpoints(service)

    @router.get("/{name:path}/breakpoints", responses=problem_responses(404), openapi_extra=_GIVES)
    async def get_flow_breakpoints(caller: Who, name: FlowName) -> Response:
        """List the breakpoints stored with a flow, for its next debugged run."""
        return await stored.answer(caller, name)

    @router.put("/{name:path}/breakpoints", responses=problem_responses(404, 409, 412), openapi_extra=_TAKES)
    async def keep_flow_breakpoints(
        caller: Who, name: FlowName, body: Annotated[Any, Body()], if_match: IfMatch = None
    ) -> Response:
        """Replace the breakpoints stored with a flow."""
        return await stored.replace(caller, name, body, if_match)

    @router.post("/breakpoints/check", openapi_extra={"requestBody": _GIVEN, "responses": {"200": _PROBLEMS}})
    async def check_breakpoints(caller: Who, body: Annotated[Any, Body()]) -> Response:
        """Validate the jq of breakpoints: for each, its error or null."""
        breakpoints = read_value(body, list[BreakpointRequest], "body")
        return answer(await service.flows.check_breakpoints(caller, breakpoints))

    return router


def repo_flow_routes(service: Service) -> APIRouter:
    router = api_router("/repos/{repo}/flows", "triggers")
    stored = _StoredBreakpoints(service)

    @router.get("/{name:path}/breakpoints", responses=problem_responses(404), openapi_extra=_GIVES)
    async def get_repo_flow_breakpoints(caller: Who, repo: RepoId, name: FlowName) -> Response:
        """List the breakpoints stored with a flow of a repository."""
        return await stored.answer(caller, f"{repo}:{name}")

    @router.put("/{name:path}/breakpoints", responses=problem_responses(404, 409, 412), openapi_extra=_TAKES)
    async def keep_repo_flow_breakpoints(
        caller: Who, repo: RepoId, name: FlowName, body: Annotated[Any, Body()], if_match: IfMatch = None
    ) -> Response:
        """Replace the breakpoints stored with a flow of a repository."""
        return await stored.replace(caller, f"{repo}:{name}", body, if_match)

    return router


class _StoredBreakpoints:
    """What is stored with flows, changed by one client at a time."""

    def __init__(self, service: Service) -> None:
        self._flows = service.flows
        self._lock = asyncio.Lock()

    async def answer(self, caller: Caller, flow: str) -> Response:
        kept = await self._flows.breakpoints(caller, flow)
        return answer(kept, ETag=etag_of(kept))

    async def replace(self, caller: Caller, flow: str, body: Any, if_match: str | None) -> Response:
        breakpoints = read_value(body, list[BreakpointRequest], "body")
        async with self._lock:
            check_etag(await self._flows.breakpoints(caller, flow), if_match)
            await self._flows.store_breakpoints(caller, flow, breakpoints)
            return await self.answer(caller, flow)
