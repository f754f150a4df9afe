"""Talks to a Pitstop server: requests, streams that are taken up again when they break, and errors as raised there."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Coroutine, Mapping
from contextlib import asynccontextmanager
from typing import Any, Self, TypeVar
from urllib.parse import urlsplit

import httpx
import msgspec

from pitstop.errors import NotAttachable, PitstopError, ServerTrouble, ServerUnreachable, StoreUnavailable
from pitstop.service.caller import Caller
from pitstop.service.problems import from_problem

API = "/api/v1"
FIRST_WAIT_SECONDS = 0.1
LONGEST_WAIT_SECONDS = 5.0
GIVE_UP_SECONDS = 120.0  # a server that is started again within this time is taken up again
SILENCE_SECONDS = 45.0  # three heartbeats that did not come
ANSWER_SECONDS = 60.0
LOOPBACK = ("localhost", "127.0.0.1", "::1")

T = TypeVar("T")


class StreamEvent(msgspec.Struct, frozen=True):
    """A server-sent event."""

    id: str | None
    name: str
    data: bytes


class Background:
    """Tasks that end with their context, at the latest."""

    def __init__(self) -> None:
        self._group = asyncio.TaskGroup()
        self._tasks: set[asyncio.Task[None]] = set()

    async def __aenter__(self) -> Self:
        await self._group.__aenter__()
        return self

    async def __aexit__(self, *error: object) -> None:
        for task in self._tasks:
            task.cancel()
        await self._group.__aexit__(None, None, None)

    def start(self, work: Coroutine[Any, Any, None], name: str) -> asyncio.Task[None]:
        task = self._group.create_task(work, name=name)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task


class RunSocket(msgspec.Struct, frozen=True):
    """Where the process of a run listens."""

    run: str
    path: str


class Connection:
    """One server, for a client with a token. ServerUnreachable for an invalid address.

    With `socket` it is the process of a run, for which `url` is only a name; NotAttachable when that is gone.
    """

    def __init__(self, url: str, token: str | None, socket: RunSocket | None = None) -> None:
        _check_address(url)
        self.socket = socket
        self.url = url.rstrip("/")
        self.is_here = urlsplit(url).hostname in LOOPBACK
        self.token = token
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        timeout = httpx.Timeout(ANSWER_SECONDS, connect=10.0)
        limits = httpx.Limits(max_connections=None, max_keepalive_connections=20)
        self._client = httpx.AsyncClient(
            base_url=self.url + API,
            headers=headers,
            timeout=timeout,
            limits=limits,
            trust_env=False,
            transport=None if socket is None else httpx.AsyncHTTPTransport(uds=socket.path, limits=limits),
        )

    async def close(self) -> None:
        await self._client.aclose()

    # One request

    async def ask(
        self,
        method: str,
        path: str,
        body: Any = None,
        caller: Caller | None = None,
        version: int | None = None,
        /,
        **params: Any,
    ) -> bytes:
        """What the server answers; raises the error that it answers with, and ServerUnreachable.

        Of the caller only the idempotency key is sent: the token says who it is. A `version` is sent as `If-Match`.
        """
        given = {name: value for name, value in params.items() if value is not None}
        content = None if body is None else msgspec.json.encode(body)
        headers = {} if content is None else {"Content-Type": "application/json"}
        if caller is not None and caller.key is not None:
            headers["Idempotency-Key"] = caller.key
        if version is not None:
            headers["If-Match"] = f'"{version}"'
        try:
            response = await self._client.request(method, path, params=given, content=content, headers=headers)
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise self.unreachable(error) from error
        if response.status_code >= 400:
            raise error_in(response.status_code, response.content)
        return response.content

    async def get(self, path: str, type: type[T], /, **params: Any) -> T:
        return self.read(await self.ask("GET", path, **params), type)

    async def post(self, path: str, body: Any, type: type[T], caller: Caller | None = None, /, **params: Any) -> T:
        return self.read(await self.ask("POST", path, body, caller, **params), type)

    def read(self, content: bytes, type: type[T]) -> T:
        """What the server said, as a value of ours; ServerTrouble when it is none."""
        try:
            return msgspec.json.decode(content, type=type)
        except msgspec.DecodeError as error:
            raise ServerTrouble(f"unexpected response from the server at {self.url}: {error}") from error

    def unreachable(self, error: Exception) -> ServerUnreachable | NotAttachable:
        if self.socket is not None:
            return NotAttachable(self.socket.run)
        return ServerUnreachable(self.url, str(error) or type(error).__name__)

    # Streams

    async def download(self, path: str, /, **params: Any) -> AsyncGenerator[bytes, None]:
        """Blocks of a file or log; ServerUnreachable when the connection breaks, whatever was received before."""
        try:
            async with self._open(path, params, {}) as response:
                async for block in response.aiter_bytes():
                    yield block
        except httpx.HTTPError as error:
            raise self.unreachable(error) from error

    async def stream(self, path: str, /, **params: Any) -> AsyncGenerator[StreamEvent, None]:
        """Server-sent events until the one that is called `end`; taken up again where they broke off.

        ServerUnreachable when nobody has answered for too long, or the errors that the server answers with.
        """
        last_id: str | None = None
        broken_at: float | None = None
        wait_seconds = FIRST_WAIT_SECONDS
        clock = asyncio.get_running_loop().time
        while True:
            headers = {} if last_id is None else {"Last-Event-ID": last_id}
            try:
                async with self._open(path, params, headers) as response:
                    async for event in parse_stream(response.aiter_bytes()):
                        broken_at, wait_seconds = None, FIRST_WAIT_SECONDS
                        last_id = event.id or last_id
                        if event.name == "end":
                            return
                        yield event
            except (ServerTrouble, StoreUnavailable) as error:
                broken_at = clock() if broken_at is None else broken_at
                if clock() - broken_at > GIVE_UP_SECONDS:
                    raise error from None
            except httpx.HTTPError as error:
                broken_at = clock() if broken_at is None else broken_at
                if clock() - broken_at > GIVE_UP_SECONDS:
                    raise self.unreachable(error) from error
            await asyncio.sleep(wait_seconds)
            wait_seconds = min(wait_seconds * 2, LONGEST_WAIT_SECONDS)

    @asynccontextmanager
    async def _open(
        self, path: str, params: Mapping[str, Any], headers: Mapping[str, str]
    ) -> AsyncIterator[httpx.Response]:
        given = {name: value for name, value in params.items() if value is not None}
        timeout = httpx.Timeout(ANSWER_SECONDS, connect=10.0, read=SILENCE_SECONDS)
        try:
            async with self._client.stream(
                "GET", path, params=given, headers=dict(headers), timeout=timeout
            ) as response:
                if response.status_code >= 400:
                    raise error_in(response.status_code, await response.aread())
                yield response
        except httpx.ConnectError as error:
            raise self.unreachable(error) from error


def _check_address(url: str) -> None:
    try:
        parts = urlsplit(url)
        is_address = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
    except ValueError:  # a port beyond all ports
        is_address = False
    if not is_address:
        raise ServerUnreachable(url, "the address must be http://HOST:PORT")


def error_in(status: int, content: bytes) -> PitstopError:
    """The error that an answer tells of."""
    try:
        told = msgspec.json.decode(content)
    except msgspec.DecodeError:
        told = None
    if not isinstance(told, dict) or "code" not in told:
        return ServerTrouble(f"the server answered with status {status} and no reason: is it a Pitstop server?")
    return from_problem(told)


async def parse_stream(blocks: AsyncIterator[bytes]) -> AsyncGenerator[StreamEvent, None]:
    """The events in a stream of bytes; one that is not whole when it breaks off is left out."""
    rest = b""
    async for block in blocks:
        *whole, rest = (rest + block).split(b"\n\n")
        for text in whole:
            event = parse_event(text)
            if event is not None:
                yield event


def parse_event(text: bytes) -> StreamEvent | None:
    """None for what is only a comment."""
    id, name, data = None, "message", []
    for line in text.split(b"\n"):
        field, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        match field:
            case b"id":
                id = value.decode()
            case b"event":
                name = value.decode()
            case b"data":
                data.append(value)
    return StreamEvent(id, name, b"\n".join(data)) if data else None
