"""The gate: is the request for this server, from a page of this server, from a known client, and is it allowed?"""

from collections.abc import Collection, Iterable
from http.cookies import CookieError, SimpleCookie
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from pitstop.doors.http.answers import refusal
from pitstop.errors import BadRequest, Foreign, NotKnown, PitstopError
from pitstop.service.access import Access

COOKIE = "pitstop_session"
LOOPBACK = ("localhost", "127.0.0.1", "[::1]")
SAFE_METHODS = ("GET", "HEAD", "OPTIONS")
# What an anonymous client may read; a new route is closed until it is listed here. The pages have no data in them.
OPEN_PATHS = (
    "/health",
    "/ready",
    "/login",
    "/",
    "/new",
    "/repos",
    "/playground",
    "/index.html",
    "/first.js",
    "/icon.svg",
    "/favicon.ico",
)
OPEN_FOLDERS = ("/assets/", "/runs/", "/repos/", "/cards/")
VIEWER_PATHS = ("/logout", "/api/v1/login-links")  # that a viewer may post to: they act on the session of the caller


def host_name(host: str) -> str:
    """The name in a Host header, without its port; empty for what is none."""
    if host.startswith("["):
        name, bracket, port = host.partition("]")
        return name + bracket if not port or (port[0] == ":" and port[1:].isdigit()) else ""
    name, colon, port = host.partition(":")
    return name.lower().rstrip(".") if not colon or port.isdigit() else ""


def known_hosts(hosts: Iterable[str]) -> frozenset[str]:
    """The names that a request may be for: these, and those of this machine's loopback."""
    return frozenset((*LOOPBACK, *(host.lower() for host in hosts)))


def check_host(host: str, known: Collection[str]) -> None:
    """Foreign for a Host header that names another server."""
    if host_name(host) not in known:
        raise Foreign("Host", host)


def is_our_page(origin: str, host: str) -> bool:
    """Whether an Origin is that of the very place that the request was sent to, port included."""
    parts = urlsplit(origin)
    return parts.scheme in ("http", "https") and bool(host) and parts.netloc.lower() == host.lower()


class Gate:
    """ASGI: passes a request on with its `caller` in the state, or refuses it. A viewer may change nothing."""

    def __init__(self, app: ASGIApp, access: Access, hosts: Iterable[str]) -> None:
        self._app = app
        self._access = access
        self._hosts = known_hosts(hosts)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] not in ("http", "websocket"):
            await self._app(scope, receive, send)
            return
        try:
            await self._let_in(scope, Headers(scope=scope))
        except PitstopError as error:
            await refusal(error)(scope, receive, send)
            return
        await self._app(scope, receive, send)

    async def _let_in(self, scope: Scope, headers: Headers) -> None:
        host, origin = headers.get("host", ""), headers.get("origin")
        check_host(host, self._hosts)
        path: str = scope["path"]
        if "\0" in path:
            raise BadRequest("a URL must not contain a NUL character")
        is_socket = scope["type"] == "websocket"
        is_unsafe = not is_socket and scope["method"] not in SAFE_METHODS
        if not is_socket and not is_unsafe and (path in OPEN_PATHS or path.startswith(OPEN_FOLDERS)):
            return
        bearer = bearer_in(headers)
        cookie = cookie_in(headers) if bearer is None else None
        caller = await self._access.who(bearer=bearer, session=cookie, key=headers.get("idempotency-key"))
        needs_our_page = (is_socket and origin is not None) or (cookie is not None and (is_unsafe or is_socket))
        if needs_our_page and not is_our_page(origin or "", host):
            raise Foreign("Origin", origin or "")
        if caller is None:
            raise NotKnown
        caller.require_all()
        if (is_unsafe or (is_socket and path.endswith("/shell"))) and path not in VIEWER_PATHS:
            caller.require("operator")
        scope.setdefault("state", {})["caller"] = caller


def bearer_in(headers: Headers) -> str | None:
    """The token of an Authorization header; None when there is no such header."""
    given = headers.get("authorization")
    if given is None:
        return None
    scheme, _, token = given.partition(" ")
    return token.strip() if scheme.lower() == "bearer" else ""


def cookie_in(headers: Headers) -> str | None:
    try:
        jar = SimpleCookie(headers.get("cookie", ""))
    except CookieError:
        return None
    return jar[COOKIE].value if COOKIE in jar else None
