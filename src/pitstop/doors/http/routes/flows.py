"""Flows: those that are stored, and any text or file that is to be checked."""

from typing import Any

from fastapi import APIRouter
from msgspec.structs import replace
from starlette.responses import Response

from pitstop.doors.http.answers import answer, problem_responses
from pitstop.doors.http.routes.parameters import FlowName, Who
from pitstop.doors.http.routes.route import api_router
from pitstop.errors import BadFlow, UnknownFlow
from pitstop.service.caller import Caller
from pitstop.service.desks import Service
from pitstop.service.flows import FlowInfo, StoredFlow
from pitstop.service.wire import CheckedFlow, CheckForm, FlowChoice, FlowDetail, RunForm


def routes(service: Service) -> APIRouter:
    router = api_router("/flows", "flows")

    async def checked(caller: Caller, flow: str, choice: FlowChoice | None = None) -> CheckedFlow:
        chosen = choice or FlowChoice(name=flow)
        try:
            return CheckedFlow(await service.flows.check(caller, flow, chosen.text, repo=chosen.repo, ref=chosen.ref))
        except BadFlow as error:
            return CheckedFlow(None, error.found)

    @router.get("", response_model=list[StoredFlow])
    async def list_flows(caller: Who) -> Response:
        """List the stored flows."""
        return answer(await service.flows.list(caller))

    @router.get("/schema", response_model=dict[str, Any])
    async def get_flow_schema(caller: Who) -> Response:
        """The JSON Schema of flow files."""
        return answer(await service.flows.schema(caller))

    @router.post("/check", response_model=CheckedFlow, responses=problem_responses(404))
    async def check_flow(caller: Who, form: CheckForm) -> Response:
        """Validate a flow: its errors, or its steps."""
        return answer(await checked(caller, await named_flow(service, caller, form), form))

    @router.post("/resolve", response_model=FlowInfo, responses=problem_responses(404, 409))
    async def resolve_flow(caller: Who, form: RunForm) -> Response:
        """Preview a flow with the given inputs."""
        request = replace(form.to_request(), flow=await named_flow(service, caller, form.flow))
        return answer(await service.flows.resolve(caller, request))

    @router.get("/{name:path}", response_model=FlowDetail, responses=problem_responses(404))
    async def get_flow(caller: Who, name: FlowName) -> Response:
        """A stored flow."""
        text = await service.flows.text(caller, name)
        file = await _file_of(service, caller, name)
        known = await checked(caller, file)
        return answer(FlowDetail(name, file, text, known.flow, known.mistakes))

    return router


async def named_flow(service: Service, caller: Caller, choice: FlowChoice) -> str:
    """The flow that is meant; UnknownFlow for a name that no stored flow has, whatever file is called so."""
    is_named = choice.text is None and choice.path is None and choice.repo is None
    return await _file_of(service, caller, choice.flow) if is_named else choice.flow


async def _file_of(service: Service, caller: Caller, name: str) -> str:
    found = next((each for each in await service.flows.list(caller) if each.name == name), None)
    if found is None:
        raise UnknownFlow(name)
    return found.file
