"""The debugger of a run: its state, and a route for each verb."""

import dataclasses
from typing import Annotated, Any

from fastapi import APIRouter, Body, Header
from starlette.responses import Response

from pitstop.doors.http.answers import answer, problem_responses
from pitstop.doors.http.gate.limits import Limits
from pitstop.doors.http.routes.cutting import cut_to_size
from pitstop.doors.http.routes.parameters import IdempotencyKey, RunId
from pitstop.doors.http.routes.route import DoorRoute
from pitstop.doors.http.routes.verbs import VERBS, Verb
from pitstop.service.api import ActiveRun, Service
from pitstop.service.debugging import DebugState
from pitstop.service.wire import Evaluated, InjectedState

IfNoneMatch = Annotated[str | None, Header(alias="If-None-Match", max_length=200)]


def etag_of(state: DebugState) -> str:
    return f'"{state.last_event}"'


async def carry_out(run: ActiveRun, verb: Verb, form: Any, limits: Limits) -> Any:
    """Say the verb to the run's debugger; gives what it answers: the state after it, or the values."""
    result = await verb.act(run.debugger, form)
    if verb.name == "evaluate":
        return Evaluated(*cut_to_size(result, limits.scope_bytes))
    state = await run.debugger.state()
    if verb.name == "inject":
        fields = {each.name: getattr(state, each.name) for each in dataclasses.fields(state)}
        return InjectedState(**fields, path=result)
    return state


def routes(service: Service, limits: Limits) -> APIRouter:
    router = APIRouter(prefix="/runs/{run}/debug", tags=["debug"], route_class=DoorRoute)

    @router.get(
        "",
        operation_id="get_debug_state",
        summary="Snapshot of the session",
        description="Apply the events above `last_event`, which is also the ETag, to follow it from there.",
        response_model=DebugState,
        responses={304: {"description": "Not modified."}, **problem_responses(404)},
    )
    async def state(run: RunId, if_none_match: IfNoneMatch = None) -> Response:
        now = await (await service.run(run)).debugger.state()
        if if_none_match == etag_of(now):
            return Response(status_code=304, headers={"ETag": etag_of(now)})
        return answer(now, ETag=etag_of(now))

    @router.delete(
        "",
        operation_id="detach",
        summary="Resume all frames, and do not pause again",
        status_code=204,
        responses=problem_responses(404, 409),
    )
    async def detach(run: RunId) -> Response:
        await (await service.run(run)).debugger.detach()
        return Response(status_code=204)

    for verb in VERBS.values():
        _add_verb(router, service, verb, limits)
    return router


def _add_verb(router: APIRouter, service: Service, verb: Verb, limits: Limits) -> None:
    answered = {"evaluate": Evaluated, "inject": InjectedState}.get(verb.name, DebugState)

    async def act(run: RunId, form: Any, key: IdempotencyKey = None) -> Response:
        said = await carry_out(await service.run(run), verb, form, limits)
        return answer(said) if isinstance(said, Evaluated) else answer(said, ETag=etag_of(said))

    act.__annotations__["form"] = Annotated[verb.form, Body(examples=[verb.example])]
    router.post(
        f"/{verb.name}",
        operation_id=f"debug_{verb.name}",
        name=f"debug_{verb.name}",
        summary=verb.summary,
        response_model=answered,
        responses=problem_responses(404, 409),
    )(act)
