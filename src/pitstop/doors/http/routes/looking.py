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
Point = Annotated[int | None, Query(ge=0, lt=2**53, description="The number of a point of the history.")]


def routes(service: Service, limits: Limits) -> APIRouter:
    router = APIRouter(prefix="/runs/{run}/debug", tags=["looking"], route_class=DoorRoute)
    at_stop = problem_responses(404, 409)

    async def debugger_of(run: str) -> Debugger:
        return (await service.run(run)).debugger

    @router.get(
        "/variables",
        operation_id="list_variables",
        summary="One level of what a step sees, a page of it",
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
        summary="All that a step sees",
        response_model=WholeScope,
        responses=at_stop,
    )
    async def scope(run: RunId, stop: StopId) -> Response:
        return answer(WholeScope(*cut_to_size(await (await debugger_of(run)).scope(stop), limits.scope_bytes)))

    @router.get(
        "/config",
        operation_id="get_config",
        summary="A step's config as written, and as it would resolve now",
        response_model=ConfigInfo,
        responses=at_stop,
    )
    async def config(run: RunId, stop: StopId) -> Response:
        return answer(await (await debugger_of(run)).config(stop))

    @router.get(
        "/watches",
        operation_id="get_watch_values",
        summary='The watches and their values; one that fails has `{"error": text}`',
        response_model=dict[str, Any],
        responses=at_stop,
    )
    async def watches(run: RunId, stop: StopId) -> Response:
        return answer(await (await debugger_of(run)).watch_values(stop))

    @router.get(
        "/history",
        operation_id="get_history",
        summary="The points that can be gone back to",
        response_model=list[PointInfo],
        responses=problem_responses(404),
    )
    async def history(run: RunId) -> Response:
        return answer(await (await debugger_of(run)).history())

    @router.get(
        "/diff",
        operation_id="get_diff",
        summary="What changed since the stop before, or between two points",
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
        raise BadRequest("say `stop`, or `from` and `to`")

    @router.get(
        "/files",
        operation_id="list_file_changes",
        summary="What changed in the workspace between two points, or from one until now",
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
        summary="One file of the workspace at two points, or at one and now",
        response_model=FileDiff,
        responses=at_stop,
    )
    async def file_diff(
        run: RunId,
        path: Annotated[str, Query(max_length=4096, description="As the list of changes has it.")],
        before: Annotated[int, Query(alias="from", ge=0, lt=2**53)],
        after: Annotated[Point, Query(alias="to")] = None,
    ) -> Response:
        return answer(await (await debugger_of(run)).file_diff(path, before, after))

    @router.get(
        "/context",
        operation_id="get_context",
        summary="Where a stop is: commit, machine, image, step, the end of its log, and how to join it",
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
        summary="The whole session as a file, without secrets",
        response_model=dict[str, Any],
        responses=problem_responses(404),
    )
    async def export(run: RunId) -> Response:
        exported = await (await debugger_of(run)).export()
        return answer(exported, Content_Disposition=f'attachment; filename="{_plain(run)}.json"')

    return router


def _plain(run: str) -> str:
    return "".join(char if char.isalnum() and char.isascii() else "-" for char in run)
