"""The breakpoints of a session, and those that are kept with a flow."""

import asyncio
import dataclasses
import hashlib
from typing import Annotated, Any
from weakref import WeakValueDictionary

from fastapi import APIRouter, Path
from starlette.responses import Response

from pitstop.doors.http.answers import answer, encode, problem_responses
from pitstop.doors.http.routes.parameters import FlowName, IdempotencyKey, IfMatch, RunId
from pitstop.doors.http.routes.route import DoorRoute
from pitstop.errors import Changed, UnknownBreakpoint
from pitstop.service.api import BreakpointRequest, Service
from pitstop.service.debugging import BreakpointInfo, Debugger
from pitstop.service.wire import BreakpointChange, BreakpointForm, EnableForm

BreakpointId = Annotated[int, Path(ge=0, lt=2**53)]


def etag_of(value: Any) -> str:
    return f'"{hashlib.sha256(encode(value)).hexdigest()[:32]}"'


def check_etag(value: Any, wanted: str | None) -> None:
    """Changed when the value is not the one that somebody decided upon."""
    if wanted not in (None, "*", etag_of(value)):
        raise Changed(etag_of(value))


async def _listed(debugger: Debugger) -> tuple[BreakpointInfo, ...]:
    return (await debugger.state()).breakpoints


def _definitions(listed: tuple[BreakpointInfo, ...]) -> list[tuple[int, BreakpointRequest]]:
    """What people have set, without how often it was hit: that is no reason to refuse a change."""
    return [(each.id, each.request) for each in listed]


def routes(service: Service) -> APIRouter:
    router = APIRouter(prefix="/runs/{run}/debug/breakpoints", tags=["breakpoints"], route_class=DoorRoute)
    locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()  # between a check of an ETag and its change
    changing = problem_responses(404, 409, 412)

    @router.get(
        "",
        operation_id="list_breakpoints",
        summary="List the breakpoints of the session",
        response_model=list[BreakpointInfo],
        responses=problem_responses(404),
    )
    async def find(run: RunId) -> Response:
        listed = await _listed((await service.run(run)).debugger)
        return answer(listed, ETag=etag_of(_definitions(listed)))

    @router.post(
        "",
        operation_id="add_breakpoint",
        summary="Add a breakpoint",
        status_code=201,
        response_model=BreakpointInfo,
        responses=changing,
    )
    async def add(run: RunId, form: BreakpointForm, if_match: IfMatch = None, key: IdempotencyKey = None) -> Response:
        debugger = (await service.run(run)).debugger
        async with locks.setdefault(run, asyncio.Lock()):
            check_etag(_definitions(await _listed(debugger)), if_match)
            return answer(await debugger.add_breakpoint(form.to_request()), 201)

    @router.patch(
        "/{breakpoint}",
        operation_id="change_breakpoint",
        summary="Change a breakpoint; omitted fields stay as they are",
        response_model=BreakpointInfo,
        responses=changing,
    )
    async def change(
        run: RunId, breakpoint: BreakpointId, form: BreakpointChange, if_match: IfMatch = None
    ) -> Response:
        debugger = (await service.run(run)).debugger
        async with locks.setdefault(run, asyncio.Lock()):
            listed = await _listed(debugger)
            check_etag(_definitions(listed), if_match)
            found = next((each for each in listed if each.id == breakpoint), None)
            if found is None:
                raise UnknownBreakpoint(breakpoint)
            request = dataclasses.replace(found.request, **form.changes())
            return answer(await debugger.change_breakpoint(breakpoint, request))

    @router.delete(
        "/{breakpoint}",
        operation_id="remove_breakpoint",
        summary="Remove a breakpoint",
        status_code=204,
        responses=changing,
    )
    async def remove(run: RunId, breakpoint: BreakpointId, if_match: IfMatch = None) -> Response:
        debugger = (await service.run(run)).debugger
        async with locks.setdefault(run, asyncio.Lock()):
            check_etag(_definitions(await _listed(debugger)), if_match)
            await debugger.remove_breakpoint(breakpoint)
        return Response(status_code=204)

    @router.post(
        "/groups/{group}",
        operation_id="enable_breakpoint_group",
        summary="Enable or disable a breakpoint group",
        response_model=list[BreakpointInfo],
        responses=changing,
    )
    async def enable_group(run: RunId, group: str, form: EnableForm, key: IdempotencyKey = None) -> Response:
        debugger = (await service.run(run)).debugger
        await debugger.enable_group(group, form.enabled)
        return answer(await _listed(debugger))

    return router


def flow_routes(service: Service) -> APIRouter:
    router = APIRouter(prefix="/flows", tags=["breakpoints"], route_class=DoorRoute)
    lock = asyncio.Lock()

    @router.get(
        "/{name:path}/breakpoints",
        operation_id="get_flow_breakpoints",
        summary="List the breakpoints stored with a flow, for its next debugged run",
        response_model=list[BreakpointRequest],
        responses=problem_responses(404),
    )
    async def get(name: FlowName) -> Response:
        kept = await service.flow_breakpoints(name)
        return answer(kept, ETag=etag_of(kept))

    @router.put(
        "/{name:path}/breakpoints",
        operation_id="keep_flow_breakpoints",
        summary="Replace the breakpoints stored with a flow",
        response_model=list[BreakpointRequest],
        responses=problem_responses(404, 412),
    )
    async def put(name: FlowName, forms: list[BreakpointForm], if_match: IfMatch = None) -> Response:
        async with lock:
            check_etag(await service.flow_breakpoints(name), if_match)
            await service.keep_flow_breakpoints(name, [form.to_request() for form in forms])
            kept = await service.flow_breakpoints(name)
        return answer(kept, ETag=etag_of(kept))

    return router
