"""A one-time login link starts a session of a browser, and logging out ends it."""

from fastapi import APIRouter, Request
from starlette.responses import RedirectResponse, Response

from pitstop.doors.http.gate.gate import COOKIE
from pitstop.service.access import SESSION_SECONDS, Access

EXPIRED = "/?login=expired"  # where the page says so, unless the browser is logged in already


def routes(access: Access) -> APIRouter:
    router = APIRouter(include_in_schema=False)

    @router.get("/login")
    async def login(request: Request, code: str = "") -> Response:
        cookie = await access.login(code)
        if cookie is None:
            return RedirectResponse(EXPIRED, 303)
        response = RedirectResponse("/", 303)
        is_secure = request.url.scheme == "https"
        response.set_cookie(
            COOKIE, cookie, SESSION_SECONDS, path="/", httponly=True, samesite="strict", secure=is_secure
        )
        response.headers["Cache-Control"] = "no-store"
        return response

    @router.post("/logout")
    async def logout(request: Request) -> Response:
        await access.logout(request.cookies.get(COOKIE, ""))
        response = Response(status_code=204)
        response.delete_cookie(COOKIE, path="/", httponly=True, samesite="strict")
        return response

    return router
