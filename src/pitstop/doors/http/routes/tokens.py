"""Who is asking, and the tokens and links that let others in."""

import time
from importlib.metadata import version
from typing import Annotated

from fastapi import APIRouter, Path, Request
from starlette.responses import Response

from pitstop.doors.http.answers import answer, problem_responses
from pitstop.doors.http.routes.parameters import Who
from pitstop.doors.http.routes.route import api_router
from pitstop.service.access import CODE_SECONDS, Access, NewToken, TokenInfo
from pitstop.service.wire import LoginLink, Me, TokenForm

VERSION = version("pitstop")


def routes(access: Access) -> APIRouter:
    router = api_router("", "access")

    @router.get("/me", response_model=Me)
    async def get_me(caller: Who) -> Response:
        """Who am I."""
        return answer(Me(caller.name, caller.role, VERSION))

    @router.get("/tokens", response_model=list[TokenInfo])
    async def list_tokens(caller: Who) -> Response:
        """List the tokens."""
        return answer(await access.tokens(caller))

    @router.post("/tokens", status_code=201, response_model=NewToken, responses=problem_responses(409))
    async def add_token(caller: Who, form: TokenForm) -> Response:
        """Create a token; it is shown only once."""
        added = await access.add_token(
            caller, form.name, form.role, scope=form.scope, repo=form.repo, lasts_seconds=form.lasts_seconds
        )
        return answer(added, 201)

    @router.delete("/tokens/{name}", status_code=204, responses=problem_responses(404, 409))
    async def remove_token(caller: Who, name: Annotated[str, Path(max_length=64)]) -> Response:
        """Revoke a token."""
        await access.remove_token(caller, name)
        return Response(status_code=204)

    @router.post("/login-links", status_code=201, response_model=LoginLink)
    async def new_login_link(caller: Who, request: Request) -> Response:
        """Create a one-time login link for the client, valid for five minutes."""
        code = await access.add_login_code(caller)
        return answer(LoginLink(f"{request.base_url}login?code={code}", time.time() + CODE_SECONDS), 201)

    return router
