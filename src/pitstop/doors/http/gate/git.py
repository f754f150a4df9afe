"""The way in for git clients: clone, fetch and push over smart HTTP, with a token as the password."""

import asyncio
import base64
import binascii
import re
from collections.abc import AsyncIterator, Iterable
from contextlib import AbstractAsyncContextManager, asynccontextmanager

from starlette.datastructures import Headers
from starlette.requests import ClientDisconnect, Request
from starlette.responses import PlainTextResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from pitstop.doors.http.gate.forwarding import Forwarding
from pitstop.doors.http.gate.gate import check_host, known_hosts
from pitstop.errors import (
    BadRepoName,
    Foreign,
    NotKnown,
    PitstopError,
    RepoElsewhere,
    RepoNotReady,
    ServerBusy,
    Unknown,
    UnknownRepo,
)
from pitstop.service.access import Access
from pitstop.service.caller import Caller
from pitstop.service.problems import status_of
from pitstop.service.repos import GitAnswer, GitRequest, GitServer

BELOW = "/git/"
CHALLENGE = {"WWW-Authenticate": 'Basic realm="Pitstop", charset="UTF-8"'}
BUSY_SECONDS = "2"
ANSWERED = ("cache-control", "content-type", "expires", "pragma", "retry-after")  # of the headers of the home

_ADDRESS = re.compile(r"/git/(?P<repo>[^/]+)\.git(?P<path>/.*)")


class GitGate:
    """ASGI: answers what is below `/git/` by itself, and passes everything else on. Browsers have no business here."""

    def __init__(
        self, app: ASGIApp, access: Access, server: GitServer, hosts: Iterable[str], forwarding: Forwarding
    ) -> None:
        self._app = app
        self._access = access
        self._server = server
        self._hosts = known_hosts(hosts)
        self._forwarding = forwarding

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or not scope["path"].startswith(BELOW):
            await self._app(scope, receive, send)
            return
        has_begun = False

        async def send_noting(message: Message) -> None:
            nonlocal has_begun
            has_begun = True
            await send(message)

        try:
            await self._serve(scope, receive, send_noting)
        except ClientDisconnect:
            return
        except PitstopError as error:
            if has_begun:  # the connection is closed without an end, so git knows that it is not all
                raise
            await _refusal(error)(scope, receive, send)

    async def _serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = Headers(scope=scope)
        check_host(headers.get("host", ""), self._hosts)
        if headers.get("origin") is not None:
            raise Foreign("Origin", headers["origin"])
        caller = await self._access.who(bearer=token_in(headers))
        if caller is None:
            raise NotKnown
        found = _ADDRESS.fullmatch(scope["path"])
        if found is None:
            raise Unknown("git address", scope["path"], "a repository is at /git/NAME.git")
        request = GitRequest(
            method=scope["method"],
            path=found["path"],
            query=scope["query_string"].decode("latin-1"),
            content_type=headers.get("content-type"),
            content_length=_length_in(headers),
            content_encoding=headers.get("content-encoding"),
            git_protocol=headers.get("git-protocol"),
            who=caller.name,
            may_push=False,  # the desk decides it
            remote_address=(scope.get("client") or ("",))[0],
        )
        await self._answer_while_there(caller, found["repo"], request, scope, receive, send)

    async def _answer_while_there(
        self, caller: Caller, repo: str, request: GitRequest, scope: Scope, receive: Receive, send: Send
    ) -> None:
        """Answer, and stop when the client has gone. A push that has arrived is completed all the same."""
        has_ended = asyncio.Event()
        if request.method == "GET":
            has_ended.set()
        answer = self._open(caller, repo, request, _body(receive, has_ended), scope)
        try:
            async with asyncio.TaskGroup() as group:
                answering = group.create_task(_send(answer, send))
                watching = group.create_task(_cancel_when_gone(receive, has_ended, answering))
                await asyncio.wait([answering])
                watching.cancel()
        except BaseExceptionGroup as group_of_one:
            raise group_of_one.exceptions[0] from None

    @asynccontextmanager
    async def _open(
        self, caller: Caller, repo: str, request: GitRequest, body: AsyncIterator[bytes], scope: Scope
    ) -> AsyncIterator[GitAnswer]:
        """Git's answer here or at the home. git would lose its token if it were redirected there."""
        try:
            async with self._server.git(caller, repo, request, body) as answer:
                yield answer
                return
        except RepoElsewhere as error:
            elsewhere = error
        sent = b"" if request.method == "GET" else body
        async with self._forwarding.open(elsewhere, Request(scope), sent) as answered:
            headers = [(name, answered.headers[name]) for name in ANSWERED if name in answered.headers]
            yield GitAnswer(answered.status_code, headers, answered.aiter_raw())


async def _send(opening: AbstractAsyncContextManager[GitAnswer], send: Send) -> None:
    async with opening as answer:
        answered = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in answer.headers]
        await send({"type": "http.response.start", "status": answer.status, "headers": answered})
        async for piece in answer.body:
            await send({"type": "http.response.body", "body": piece, "more_body": True})
    await send({"type": "http.response.body", "body": b""})


def token_in(headers: Headers) -> str | None:
    """The token of a git client: the password of Basic, whatever the user name, or a Bearer token."""
    scheme, _, given = headers.get("authorization", "").partition(" ")
    if scheme.lower() == "bearer":
        return given.strip()
    if scheme.lower() != "basic":
        return None
    try:
        return base64.b64decode(given, validate=True).decode().partition(":")[2]
    except (binascii.Error, ValueError):
        return None


async def _body(receive: Receive, has_ended: asyncio.Event) -> AsyncIterator[bytes]:
    """The body as it arrives; ClientDisconnect when the client is gone before its end."""
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise ClientDisconnect
        if message.get("body"):
            yield message["body"]
        if not message.get("more_body", False):
            has_ended.set()
            return


async def _cancel_when_gone(receive: Receive, has_ended: asyncio.Event, answering: "asyncio.Task[None]") -> None:
    """Only one may receive at a time: the body is read first."""
    await has_ended.wait()
    while (await receive())["type"] != "http.disconnect":
        pass
    answering.cancel()


def _length_in(headers: Headers) -> int | None:
    given = headers.get("content-length", "")
    return int(given) if given.isascii() and given.isdigit() and len(given) < 19 else None


def _refusal(error: PitstopError) -> Response:
    """What git shows to its user. A repository that is not there looks like one that the token is not for."""
    headers: dict[str, str] = {}
    status = status_of(error.code)
    if isinstance(error, NotKnown):
        headers = CHALLENGE
    elif isinstance(error, UnknownRepo | BadRepoName):
        status = 404
    elif isinstance(error, ServerBusy | RepoNotReady):
        status, headers = 503, {"Retry-After": BUSY_SECONDS}
    return PlainTextResponse(f"{error}\n", status, headers)
