"""Looking into a stopped run: variables, scope, config, watches, history, differences, and all of it as a file."""

from dataclasses import replace
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from starlette.responses import Response

from pitstop.doors.http.answers import answer, problem_responses
from pitstop.doors.http.gate.limits import Limits
from pitstop.doors.http.routes.cutting import cut_to_size
from pitstop.doors.http.routes.parameters import Limit, RunId, Search, StopId
from pitstop.doors.http.routes.route import DoorRoute
from pitstop.errors import BadRequest
from pitstop.service.api import Service
from pitstop.service.debugging import (
    ChangeInfo,
    ConfigInfo,
    ContextInfo,
    Debugger,
    FileChanges,
    FileDiff,
    PointInfo,
    VariablePage,
)
from pitstop.service.wire import WholeScope

JqPath = Annotated[str, Query(max_length=4096, description="A jq path, such as `.vars.list[0]`.")]
Point = Annotated[int | None, Query(ge=0, lt=2**53, description="The number of a point in the history.")]


def routes(service: Service, limits: Limits) -> APIRouter:
    router = APIRouter(prefix="/runs/{run}/debug", tags=["looking"], route_class=DoorRoute)
    at_stop = problem_responses(404, 409)

    async def debugger_of(run: str) -> Debugger:
        return (await service.run(run)).debugger

    @router.get(
        "/variables",
        operation_id="list_variables",
        summary="Page of one level of a step's scope",
        response_model=VariablePage,
        responses=at_stop,
    )
    async def variables(
        run: RunId,
        stop: StopId,
        path: JqPath = ".",
        cursor: Annotated[int, Query(ge=0, lt=2**53)] = 0,
        limit: Limit = 100,
        search: Search = None,
    ) -> Response:
        debugger = await debugger_of(run)
        return answer(await debugger.variables(stop, path, cursor=cursor, limit=limit, search=search))

    @router.get(
        "/scope",
        operation_id="get_scope",
        summary="A step's whole scope",
        response_model=WholeScope,
        responses=at_stop,
    )
    async def scope(run: RunId, stop: StopId) -> Response:
        return answer(WholeScope(*cut_to_size(await (await debugger_of(run)).scope(stop), limits.scope_bytes)))

    @router.get(
        "/config",
        operation_id="get_config",
        summary="A step's config, raw and resolved",
        response_model=ConfigInfo,
        responses=at_stop,
    )
    async def config(run: RunId, stop: StopId) -> Response:
        return answer(await (await debugger_of(run)).config(stop))

    @router.get(
        "/watches",
        operation_id="get_watch_values",
        summary='List the watches and their values; a failed one has `{"error": text}`',
        response_model=dict[str, Any],
        responses=at_stop,
    )
    async def watches(run: RunId, stop: StopId) -> Response:
        return answer(await (await debugger_of(run)).watch_values(stop))

    @router.get(
        "/history",
        operation_id="get_history",
        summary="List the points you can rewind to",
        response_model=list[PointInfo],
        responses=problem_responses(404),
    )
    async def history(run: RunId) -> Response:
        return answer(await (await debugger_of(run)).history())

    @router.get(
        "/diff",
        operation_id="get_diff",
        summary="Changed values since the previous stop, or between two points",
        response_model=list[ChangeInfo],
        responses=at_stop,
    )
    async def diff(
        run: RunId,
        stop: Annotated[int | None, Query(ge=1, lt=2**53)] = None,
        before: Annotated[Point, Query(alias="from")] = None,
        after: Annotated[Point, Query(alias="to")] = None,
    ) -> Response:
        debugger = await debugger_of(run)
        if stop is not None and before is None and after is None:
            return answer(await debugger.diff(stop))
        if stop is None and before is not None and after is not None:
            return answer(await debugger.diff_points(before, after))
        raise BadRequest("use `stop`, or `from` and `to`")

    @router.get(
        "/files",
        operation_id="list_file_changes",
        summary="Changed files between two points, or since a point",
        response_model=FileChanges,
        responses=at_stop,
    )
    async def files(
        run: RunId,
        before: Annotated[int, Query(alias="from", ge=0, lt=2**53)],
        after: Annotated[Point, Query(alias="to")] = None,
        limit: Annotated[int, Query(ge=1, le=100_000)] = 1000,
    ) -> Response:
        return answer(await (await debugger_of(run)).file_changes(before, after, limit=limit))

    @router.get(
        "/files/diff",
        operation_id="get_file_diff",
        summary="Diff of a file between two points, or since a point",
        response_model=FileDiff,
        responses=at_stop,
    )
    async def file_diff(
        run: RunId,
        path: Annotated[str, Query(max_length=4096, description="The path, as in the list of changes.")],
        before: Annotated[int, Query(alias="from", ge=0, lt=2**53)],
        after: Annotated[Point, Query(alias="to")] = None,
    ) -> Response:
        return answer(await (await debugger_of(run)).file_diff(path, before, after))

    @router.get(
        "/context",
        operation_id="get_context",
        summary="Context of a stop: commit, machine, image, step, log, and how to attach",
        response_model=ContextInfo,
        responses=at_stop,
    )
    async def context(request: Request, run: RunId, stop: StopId) -> Response:
        told = await (await debugger_of(run)).context(stop)
        join = f"pitstop debug {run} --server {str(request.base_url).rstrip('/')}"
        return answer(replace(told, join=f"{join} --shell", join_sidecar=f"{join} --sidecar"))

    @router.get(
        "/export",
        operation_id="export_session",
        summary="Export the session as a file, without secrets",
        response_model=dict[str, Any],
        responses=problem_responses(404),
    )
    async def export(run: RunId) -> Response:
        exported = await (await debugger_of(run)).export()
        return answer(exported, Content_Disposition=f'attachment; filename="{_plain(run)}.json"')

    return router


def _plain(run: str) -> str:
    return "".join(char if char.isalnum() and char.isascii() else "-" for char in run)
