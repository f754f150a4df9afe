"""Secrets: they can be written, listed and removed, and never be read."""

from typing import Annotated

from fastapi import APIRouter, Path, Query
from starlette.responses import Response

from pitstop.doors.http.answers import answer, problem_responses
from pitstop.doors.http.routes.parameters import Who
from pitstop.doors.http.routes.route import DoorRoute
from pitstop.service.secret_scopes import SERVER
from pitstop.service.secrets import SecretInfo, Secrets
from pitstop.service.wire import SecretForm

SecretName = Annotated[str, Path(examples=["API_TOKEN"])]
Scope = Annotated[str, Query(description="`server`, `repo:<repo>`, `flow:<repo>:<flow>` or `flow::<flow>`.")]


def routes(secrets: Secrets) -> APIRouter:
    router = APIRouter(prefix="/secrets", tags=["secrets"], route_class=DoorRoute)

    @router.get(
        "",
        operation_id="list_secrets",
        summary="List stored secrets, without their values",
        response_model=list[SecretInfo],
        responses=problem_responses(),
    )
    async def find(caller: Who) -> Response:
        return answer(await secrets.all(caller))

    @router.put(
        "/{name}",
        operation_id="put_secret",
        summary="Set the secret of that name and scope",
        status_code=204,
        responses=problem_responses(),
    )
    async def put(caller: Who, name: SecretName, form: SecretForm, scope: Scope = SERVER) -> Response:
        await secrets.put(caller, name, scope, form.value, form.repos)
        return Response(status_code=204)

    @router.delete(
        "/{name}",
        operation_id="delete_secret",
        summary="Delete the secret of that name and scope",
        status_code=204,
        responses=problem_responses(404),
    )
    async def delete(caller: Who, name: SecretName, scope: Scope = SERVER) -> Response:
        await secrets.delete(caller, name, scope)
        return Response(status_code=204)

    return router
