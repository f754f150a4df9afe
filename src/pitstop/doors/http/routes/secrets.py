"""Secrets: they can be written, named and removed, and never be read."""

from typing import Annotated

from fastapi import APIRouter, Path
from starlette.responses import Response

from pitstop.doors.http.answers import answer, problem_responses
from pitstop.doors.http.gate.ports import Secrets
from pitstop.doors.http.routes.route import DoorRoute
from pitstop.service.wire import SecretForm, SecretNames

SecretName = Annotated[str, Path(pattern=r"^[A-Za-z_][A-Za-z0-9_]{0,199}$", examples=["API_TOKEN"])]


def routes(secrets: Secrets) -> APIRouter:
    router = APIRouter(prefix="/secrets", tags=["secrets"], route_class=DoorRoute)

    @router.get(
        "",
        operation_id="list_secrets",
        summary="List the names of stored secrets",
        response_model=SecretNames,
        responses=problem_responses(),
    )
    async def names() -> Response:
        return answer(SecretNames(await secrets.names()))

    @router.put(
        "/{name}",
        operation_id="put_secret",
        summary="Set a secret",
        status_code=204,
        responses=problem_responses(),
    )
    async def put(name: SecretName, form: SecretForm) -> Response:
        await secrets.put(name, form.value)
        return Response(status_code=204)

    @router.delete(
        "/{name}",
        operation_id="delete_secret",
        summary="Delete a secret",
        status_code=204,
        responses=problem_responses(404),
    )
    async def delete(name: SecretName) -> Response:
        await secrets.delete(name)
        return Response(status_code=204)

    return router
