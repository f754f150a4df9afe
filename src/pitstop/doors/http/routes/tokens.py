"""Who is asking, and the tokens and links that let others in."""

import time
from importlib.metadata import version
from typing import Annotated

from fastapi import APIRouter, Path, Request
from starlette.responses import Response

from pitstop.doors.http.answers import answer, problem_responses
from pitstop.doors.http.routes.parameters import Who
from pitstop.doors.http.routes.route import DoorRoute
from pitstop.service.access import CODE_SECONDS, Access, NewToken, TokenInfo
from pitstop.service.wire import LoginLink, Me, TokenForm

VERSION = version("pitstop")


def routes(access: Access) -> APIRouter:
    router = APIRouter(tags=["access"], route_class=DoorRoute)

    @router.get("/me", operation_id="get_me", summary="Who am I", response_model=Me, responses=problem_responses())
    async def me(caller: Who) -> Response:
        return answer(Me(caller.name, caller.role, VERSION))

    @router.get(
        "/tokens",
        operation_id="list_tokens",
        summary="List the tokens",
        response_model=list[TokenInfo],
        responses=problem_responses(),
    )
    async def find(caller: Who) -> Response:
        return answer(await access.tokens(caller))

    @router.post(
        "/tokens",
        operation_id="add_token",
        summary="Create a token; it is shown only once",
        status_code=201,
        response_model=NewToken,
        responses=problem_responses(409),
    )
    async def add(caller: Who, form: TokenForm) -> Response:
        return answer(await access.add_token(caller, form.name, form.role), 201)

    @router.delete(
        "/tokens/{name}",
        operation_id="remove_token",
        summary="Revoke a token",
        status_code=204,
        responses=problem_responses(404, 409),
    )
    async def remove(caller: Who, name: Annotated[str, Path(max_length=64)]) -> Response:
        await access.remove_token(caller, name)
        return Response(status_code=204)

    @router.post(
        "/login-links",
        operation_id="new_login_link",
        summary="Create a one-time login link for the client, valid for five minutes",
        status_code=201,
        response_model=LoginLink,
        responses=problem_responses(),
    )
    async def new_link(caller: Who, request: Request) -> Response:
        code = await access.add_login_code(caller)
        return answer(LoginLink(f"{request.base_url}login?code={code}", time.time() + CODE_SECONDS), 201)

    return router
