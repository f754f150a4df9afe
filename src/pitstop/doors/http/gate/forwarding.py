"""Sends a request to the server that has the files of its repository, and answers as that server does."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress

import httpx
from starlette.requests import Request
from starlette.responses import Response

from pitstop.doors.http.gate.gate import COOKIE, SAFE_METHODS, cookie_in
from pitstop.errors import RepoElsewhere, Unknown
from pitstop.service.caller import Caller
from pitstop.service.cards import repo_of
from pitstop.service.desks import Service

FORWARDED = "pitstop-forwarded"  # the header of a request that must not be forwarded again
CONNECT_SECONDS = 5.0
ANSWER_SECONDS = 60.0

_SENT = (
    *("accept", "authorization", "content-type", "idempotency-key", "if-match"),
    *("content-encoding", "content-length", "git-protocol"),  # of git clients
)
_ANSWERED = ("content-type", "etag", "idempotency-replayed", "location", "retry-after")
_OF_WEBHOOKS = ("x-forgejo-", "x-gitea-", "x-github-", "x-gitlab-", "x-gogs-", "x-hub-", "x-pitstop-")
_NOT_KNOWN = (
    "which does not know your token or session: try again if it is new, "
    "else copy `secrets.key` and `token` from the state folder of one server to that of the other"
)

Answer = Callable[[], Awaitable[Response]]


class Forwarding:
    """Lets the home of a repository answer what only that server can. Nothing is forwarded twice."""

    def __init__(self, service: Service) -> None:
        self._repos = service.repos
        self._runs = service.runs
        self._playground = service.playground
        self._client: httpx.AsyncClient | None = None  # a server that is alone needs none

    async def close(self) -> None:
        if self._client is not None:
            await self._client.aclose()

    async def answer(self, request: Request, answer_here: Answer) -> Response:
        """The answer of this server or of the home; RepoElsewhere with the reason if the home cannot be asked.

        Reads are tried here first. Changes are made by the home alone, which knows what else changes there.
        """
        if self._repos is None or FORWARDED in request.headers:
            return await answer_here()
        try:
            if request.method not in SAFE_METHODS:
                await self._check_home(request)
            return await answer_here()
        except RepoElsewhere as error:
            return await self.ask(error, request, await request.body())

    async def _check_home(self, request: Request) -> None:
        """RepoElsewhere when the request names a repository whose files are on another server."""
        assert self._repos is not None
        caller: Caller = request.state.caller
        with suppress(Unknown):  # the route says so
            repo = await self._repo_of(request, caller)
            if repo is not None and (await self._repos.get(caller, repo)).address is not None:
                await self._repos.branches(caller, repo, limit=1)  # raises it, with all that is known of the home

    async def _repo_of(self, request: Request, caller: Caller) -> str | None:
        if request.scope["route"].name == "rerun":  # it needs the files only after it was answered
            return (await (await self._runs.get(caller, request.path_params["run"])).info()).repo
        trial: str | None = request.path_params.get("trial")
        if trial is not None and self._playground is not None:
            return (await self._playground.get(caller, trial)).repo
        card: str | None = request.path_params.get("card")
        return request.path_params.get("repo") if card is None else repo_of(card)

    async def ask(self, error: RepoElsewhere, request: Request, body: bytes) -> Response:
        """What the home answers, once all of it is here; RepoElsewhere as in `open`."""
        async with self.open(error, request, body) as answered:
            content = await answered.aread()
        headers = {name: answered.headers[name] for name in _ANSWERED if name in answered.headers}
        return Response(content, answered.status_code, headers)

    @asynccontextmanager
    async def open(
        self, error: RepoElsewhere, request: Request, body: bytes | AsyncIterator[bytes]
    ) -> AsyncIterator[httpx.Response]:
        """The answer of the home, to be read while the context lasts; RepoElsewhere with the reason if it has none."""
        if error.trouble or FORWARDED in request.headers:
            raise error
        address, query = error.address.rstrip("/"), request.scope["query_string"].decode("latin-1")
        url = address + request.scope["raw_path"].decode("latin-1") + (f"?{query}" if query else "")
        client, headers = self._open_client(), _headers(request, address)
        try:
            async with client.stream(request.method, url, content=body, headers=headers) as answered:
                if answered.status_code == 401:  # a 401 of ours would log out a user who is logged in here
                    raise RepoElsewhere(error.repo, error.address, _NOT_KNOWN)
                yield answered
        except (httpx.HTTPError, httpx.InvalidURL) as problem:
            reason = str(problem) or type(problem).__name__
            trouble = f"which does not answer ({reason}): check that it is running, then try again"
            raise RepoElsewhere(error.repo, error.address, trouble) from problem

    def _open_client(self) -> httpx.AsyncClient:
        if self._client is None:
            timeout = httpx.Timeout(ANSWER_SECONDS, connect=CONNECT_SECONDS)
            self._client = httpx.AsyncClient(timeout=timeout, trust_env=False)
        return self._client


def _headers(request: Request, address: str) -> dict[str, str]:
    """What the home has to know. The gate has compared the origin with this server; the home expects its own."""
    given = request.headers.items()
    headers = {name: value for name, value in given if name in _SENT or name.startswith(_OF_WEBHOOKS)}
    session = cookie_in(request.headers)
    if session is not None and "authorization" not in headers:
        headers |= {"cookie": f"{COOKIE}={session}", "origin": address}
    return headers | {FORWARDED: "1", "accept-encoding": "identity"}
