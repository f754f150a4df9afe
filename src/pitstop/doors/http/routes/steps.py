"""Step types, and what works on the server's machine."""

from fastapi import APIRouter
from starlette.responses import Response

from pitstop.doors.http.answers import answer, problem_responses
from pitstop.doors.http.routes.parameters import FlowName
from pitstop.doors.http.routes.route import DoorRoute
from pitstop.service.api import Finding, Service, StepTypeHelp


def routes(service: Service) -> APIRouter:
    router = APIRouter(tags=["steps"], route_class=DoorRoute)

    @router.get(
        "/steps",
        operation_id="list_step_types",
        summary="Every type of step, with the schema of its config",
        response_model=list[StepTypeHelp],
        responses=problem_responses(),
    )
    async def find() -> Response:
        return answer(await service.step_types())

    @router.get(
        "/steps/{name}",
        operation_id="get_step_type",
        summary="A type of step",
        response_model=StepTypeHelp,
        responses=problem_responses(404),
    )
    async def get(name: FlowName) -> Response:
        return answer(await service.step_type(name))

    @router.get(
        "/doctor",
        operation_id="examine",
        summary="What works on the server's machine, and what is missing",
        response_model=list[Finding],
        responses=problem_responses(),
    )
    async def examine() -> Response:
        return answer(await service.examine())

    return router
