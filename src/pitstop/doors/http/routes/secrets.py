"""Secrets: they can be written, listed and removed, and never be read."""

from typing import Annotated

from fastapi import APIRouter, Path, Query
from starlette.responses import Response

from pitstop.doors.http.answers import answer, problem_responses
from pitstop.doors.http.routes.parameters import Who
from pitstop.doors.http.routes.route import api_router
from pitstop.service.secret_scopes import SERVER
from pitstop.service.secrets import SecretInfo, Secrets
from pitstop.service.wire import SecretForm

SecretName = Annotated[str, Path(examples=["API_TOKEN"])]
Scope = Annotated[str, Query(description="`server`, `repo:<repo>`, `flow:<repo>:<flow>` or `flow::<flow>`.")]


def routes(secrets: Secrets) -> APIRouter:
    router = api_router("/secrets", "secrets")

    @router.get("", response_model=list[SecretInfo])
    async def list_secrets(caller: Who) -> Response:
        """List stored secrets, without their values."""
        return answer(await secrets.all(caller))

    @router.put("/{name}", status_code=204)
    async def put_secret(caller: Who, name: SecretName, form: SecretForm, scope: Scope = SERVER) -> Response:
        """Set the secret of that name and scope."""
        await secrets.put(caller, name, scope, form.value, form.repos)
        return Response(status_code=204)

    @router.delete("/{name}", status_code=204, responses=problem_responses(404))
    async def delete_secret(caller: Who, name: SecretName, scope: Scope = SERVER) -> Response:
        """Delete the secret of that name and scope."""
        await secrets.delete(caller, name, scope)
        return Response(status_code=204)

    return router
