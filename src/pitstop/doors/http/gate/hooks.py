"""The way in for webhooks: a delivery is signed with the secret of its webhook, and has no token."""

import re
from collections.abc import Iterable

from starlette.datastructures import Headers
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from pitstop.doors.http.answers import answer, refusal
from pitstop.doors.http.gate.forwarding import Forwarding
from pitstop.doors.http.gate.gate import check_host, known_hosts
from pitstop.errors import PitstopError, RepoElsewhere, ServerBusy, TooLarge, Unknown
from pitstop.service.hooks import MOST_BODY_BYTES, HookServer

BELOW = "/hooks/"
MOST_AT_ONCE = 8  # bodies are read whole, before they are parsed

_ADDRESS = re.compile(r"/hooks/(?P<hook>[A-Za-z0-9_-]{16,64})")


class HookGate:
    """ASGI: answers what is below `/hooks/` by itself, and passes everything else on."""

    def __init__(self, app: ASGIApp, server: HookServer, hosts: Iterable[str], forwarding: Forwarding) -> None:
        self._app = app
        self._server = server
        self._hosts = known_hosts(hosts)
        self._forwarding = forwarding
        self._reading = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or not scope["path"].startswith(BELOW):
            await self._app(scope, receive, send)
            return
        try:
            response = await self._take(scope, receive)
        except ClientDisconnect:
            return
        except PitstopError as error:
            response = refusal(error)
        await response(scope, receive, send)

    async def _take(self, scope: Scope, receive: Receive) -> Response:
        headers = Headers(scope=scope)
        check_host(headers.get("host", ""), self._hosts)
        found = _ADDRESS.fullmatch(scope["path"])
        if found is None or scope["method"] != "POST":
            raise Unknown("webhook", scope["path"].removeprefix(BELOW), "deliveries are sent with POST")
        if self._reading >= MOST_AT_ONCE:
            raise ServerBusy(f"the server is reading {self._reading} other deliveries: send it again later")
        self._reading += 1
        try:
            body = await _read(receive, headers)
        finally:
            self._reading -= 1
        given = {name.lower(): value for name, value in headers.items()}
        try:
            delivered = await self._server.deliver(found["hook"], given, body)
        except RepoElsewhere as error:  # its signature is checked
            return await self._forwarding.ask(error, Request(scope), body)
        return answer(delivered, 200 if delivered.is_ping else 202)


async def _read(receive: Receive, headers: Headers) -> bytes:
    """The whole body; TooLarge as soon as that is known."""
    length = headers.get("content-length", "")
    if length.isascii() and length.isdigit() and int(length) > MOST_BODY_BYTES:
        raise TooLarge(MOST_BODY_BYTES)
    body = bytearray()
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise ClientDisconnect
        body += message.get("body", b"")
        if len(body) > MOST_BODY_BYTES:
            raise TooLarge(MOST_BODY_BYTES)
        if not message.get("more_body", False):
            return bytes(body)
