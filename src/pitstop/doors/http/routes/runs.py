"""Runs: start, find, end, forget, run again."""

from typing import Annotated, Literal

from fastapi import APIRouter, Query
from msgspec.structs import asdict, replace
from starlette.responses import Response

from pitstop.doors.http.answers import answer, problem_responses
from pitstop.doors.http.routes.flows import named_flow
from pitstop.doors.http.routes.parameters import Cursor, IdempotencyKey, Plain, ReservedRunId, RunId, Search, Who
from pitstop.doors.http.routes.route import API, api_router
from pitstop.doors.http.streams.streams import Streams
from pitstop.service.debugging import DebugState
from pitstop.service.desks import Service
from pitstop.service.fixing import choose_way
from pitstop.service.runs import ActiveRun, RunInfo, RunPage, RunQuery, RunStatus
from pitstop.service.step_views import OccurrenceInfo, occurrences
from pitstop.service.wire import CancelForm, FixWayForm, PinForm, RerunForm, RunDetail, RunForm

FixWay = Literal["take-over", "guide", "roll-back", "skip", "stop"]
Hear = Annotated[bool, Query(description="Buffer the output of steps for the next output stream.")]


def routes(service: Service, streams: Streams) -> APIRouter:
    router = api_router("/runs", "runs")
    known = problem_responses(404)

    async def started(run: ActiveRun, hear: bool) -> Response:
        if hear:
            streams.output.await_listener(run)
        return answer(await run.info(), 201, Location=f"{API}/runs/{run.id}")

    @router.post("", status_code=201, response_model=RunInfo, responses=problem_responses(404, 409, 413))
    async def start_run(
        caller: Who, form: RunForm, run_id: ReservedRunId, key: IdempotencyKey = None, hear: Hear = False
    ) -> Response:
        """Start a run."""
        flow = await named_flow(service, caller, form.flow)
        request = replace(form.to_request(), flow=flow, run_id=run_id)
        return await started(await service.runs.start(caller, request), hear)

    @router.get("", response_model=RunPage)
    async def list_runs(
        caller: Who,
        status: Annotated[list[RunStatus], Query(max_length=7)] = [],  # noqa: B006 - FastAPI makes a new one each time
        flow: Plain = None,
        repo: Plain = None,
        ref: Plain = None,
        search: Search = None,
        cursor: Cursor = None,
        limit: Annotated[int, Query(ge=1, le=500)] = 50,
    ) -> Response:
        """List runs, newest first."""
        chosen = RunQuery(status=tuple(status), flow=flow, repo=repo, ref=ref, search=search)
        query = replace(chosen, cursor=cursor, limit=limit)
        return answer(await service.runs.list(caller, query))

    @router.get("/{run}", response_model=RunDetail, responses=known)
    async def get_run(caller: Who, run: RunId) -> Response:
        """Get a run."""
        found = await service.runs.get(caller, run)
        info = await found.info()
        return answer(RunDetail(**asdict(info), flow_info=found.flow, texts=found.texts))

    @router.delete("/{run}", status_code=204, responses=problem_responses(404, 409))
    async def delete_run(caller: Who, run: RunId) -> Response:
        """Delete a run that has ended."""
        await service.runs.delete(caller, run)
        return Response(status_code=204)

    @router.post("/{run}/cancel", response_model=RunInfo, responses=problem_responses(404, 409))
    async def cancel_run(
        caller: Who, run: RunId, form: CancelForm | None = None, key: IdempotencyKey = None
    ) -> Response:
        """Cancel a run and clean up; with `now`, kill it."""
        found, form = await service.runs.get(caller, run), form or CancelForm()
        await (service.runs.kill(caller, run) if form.now else service.runs.cancel(caller, run, form.reason))
        return answer(await found.info())

    @router.post("/{run}/pin", response_model=RunInfo, responses=known)
    async def pin_run(caller: Who, run: RunId, form: PinForm, key: IdempotencyKey = None) -> Response:
        """Keep the run and its workspace until it is unpinned."""
        await service.runs.pin(caller, run, pinned=form.pinned)
        return answer(await (await service.runs.get(caller, run)).info())

    @router.post("/{run}/rerun", status_code=201, response_model=RunInfo, responses=problem_responses(404, 409, 413))
    async def rerun(
        caller: Who,
        run: RunId,
        form: RerunForm,
        run_id: ReservedRunId,
        key: IdempotencyKey = None,
        hear: Hear = False,
    ) -> Response:
        """Re-run a run."""
        request = replace(form.to_request(), run_id=run_id)
        return await started(await service.runs.rerun(caller, run, request), hear)

    @router.post("/{run}/fix/{way}", response_model=DebugState, responses=problem_responses(404, 409))
    async def choose_fix_way(
        caller: Who, run: RunId, way: FixWay, form: FixWayForm | None = None, key: IdempotencyKey = None
    ) -> Response:
        """Choose how a fix loop that gave up continues."""
        text = "" if form is None else form.text
        return answer(await choose_way(service.debugging, caller, run, way, text))

    @router.get("/{run}/steps", response_model=list[OccurrenceInfo], responses=known)
    async def list_steps(caller: Who, run: RunId) -> Response:
        """List all occurrences of steps."""
        return answer(await occurrences(await service.runs.get(caller, run)))

    return router
