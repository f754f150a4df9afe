"""Step types, and what works on the server's machine."""

from fastapi import APIRouter
from starlette.responses import Response

from pitstop.doors.http.answers import answer, problem_responses
from pitstop.doors.http.routes.parameters import FlowName, Who
from pitstop.doors.http.routes.route import DoorRoute
from pitstop.service.desks import Service
from pitstop.service.flows import Finding, StepTypeHelp


def routes(service: Service) -> APIRouter:
    router = APIRouter(tags=["steps"], route_class=DoorRoute)

    @router.get(
        "/steps",
        operation_id="list_step_types",
        summary="List the step types, with the schemas of their configs",
        response_model=list[StepTypeHelp],
        responses=problem_responses(),
    )
    async def find(caller: Who) -> Response:
        return answer(await service.flows.step_types(caller))

    @router.get(
        "/steps/{name}",
        operation_id="get_step_type",
        summary="Get a step type",
        response_model=StepTypeHelp,
        responses=problem_responses(404),
    )
    async def get(caller: Who, name: FlowName) -> Response:
        return answer(await service.flows.step_type(caller, name))

    @router.get(
        "/doctor",
        operation_id="examine",
        summary="Check the setup of the server's machine",
        response_model=list[Finding],
        responses=problem_responses(),
    )
    async def examine(caller: Who) -> Response:
        return answer(await service.flows.examine(caller))

    return router
