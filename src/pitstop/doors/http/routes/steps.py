"""Step types, and what works on the server's machine."""

from fastapi import APIRouter
from starlette.responses import Response

from pitstop.doors.http.answers import answer, problem_responses
from pitstop.doors.http.routes.parameters import FlowName, Who
from pitstop.doors.http.routes.route import api_router
from pitstop.service.desks import Service
from pitstop.service.flows import Finding, StepTypeHelp


def routes(service: Service) -> APIRouter:
    router = api_router("", "steps")

    @router.get("/steps", response_model=list[StepTypeHelp])
    async def list_step_types(caller: Who) -> Response:
        """List the step types, with the schemas of their configs."""
        return answer(await service.flows.step_types(caller))

    @router.get("/steps/{name}", response_model=StepTypeHelp, responses=problem_responses(404))
    async def get_step_type(caller: Who, name: FlowName) -> Response:
        """Get a step type."""
        return answer(await service.flows.step_type(caller, name))

    @router.get("/doctor", response_model=list[Finding])
    async def examine(caller: Who) -> Response:
        """Check the setup of the server's machine."""
        return answer(await service.flows.examine(caller))

    return router
