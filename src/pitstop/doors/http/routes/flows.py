"""Flows: those that are stored, and any text or file that is to be checked."""

from dataclasses import replace
from typing import Any

from fastapi import APIRouter
from starlette.responses import Response

from pitstop.doors.http.answers import answer, problem_responses
from pitstop.doors.http.routes.parameters import FlowName, Who
from pitstop.doors.http.routes.route import DoorRoute
from pitstop.errors import BadFlow, UnknownFlow
from pitstop.service.caller import Caller
from pitstop.service.desks import Service
from pitstop.service.flows import FlowInfo, StoredFlow
from pitstop.service.wire import CheckedFlow, CheckForm, FlowChoice, FlowDetail, RunForm


def routes(service: Service) -> APIRouter:
    router = APIRouter(prefix="/flows", tags=["flows"], route_class=DoorRoute)

    async def checked(caller: Caller, flow: str, text: str | None = None) -> CheckedFlow:
        try:
            return CheckedFlow(await service.flows.check(caller, flow, text))
        except BadFlow as error:
            return CheckedFlow(None, error.found)

    @router.get(
        "",
        operation_id="list_flows",
        summary="List the stored flows",
        response_model=list[StoredFlow],
        responses=problem_responses(),
    )
    async def find(caller: Who) -> Response:
        return answer(await service.flows.list(caller))

    @router.get(
        "/schema",
        operation_id="get_flow_schema",
        summary="The JSON Schema of flow files",
        response_model=dict[str, Any],
        responses=problem_responses(),
    )
    async def schema(caller: Who) -> Response:
        return answer(await service.flows.schema(caller))

    @router.post(
        "/check",
        operation_id="check_flow",
        summary="Validate a flow: its errors, or its steps",
        response_model=CheckedFlow,
        responses=problem_responses(404),
    )
    async def check(caller: Who, form: CheckForm) -> Response:
        return answer(await checked(caller, await named_flow(service, caller, form), form.text))

    @router.post(
        "/resolve",
        operation_id="resolve_flow",
        summary="Preview a flow with the given inputs",
        response_model=FlowInfo,
        responses=problem_responses(404, 409),
    )
    async def resolve(caller: Who, form: RunForm) -> Response:
        request = replace(form.to_request(), flow=await named_flow(service, caller, form.flow))
        return answer(await service.flows.resolve(caller, request))

    @router.get(
        "/{name:path}",
        operation_id="get_flow",
        summary="A stored flow",
        response_model=FlowDetail,
        responses=problem_responses(404),
    )
    async def get(caller: Who, name: FlowName) -> Response:
        text = await service.flows.text(caller, name)
        file = await _file_of(service, caller, name)
        known = await checked(caller, file)
        return answer(FlowDetail(name, file, text, known.flow, known.mistakes))

    return router


async def named_flow(service: Service, caller: Caller, choice: FlowChoice) -> str:
    """The flow that is meant; UnknownFlow for a name that no stored flow has, whatever file is called so."""
    is_named = choice.text is None and choice.path is None
    return await _file_of(service, caller, choice.flow) if is_named else choice.flow


async def _file_of(service: Service, caller: Caller, name: str) -> str:
    found = next((each for each in await service.flows.list(caller) if each.name == name), None)
    if found is None:
        raise UnknownFlow(name)
    return found.file
