"""What one server takes on: bytes of a body, open streams and sockets, sizes of what it sends."""

import asyncio
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

from msgspec import Struct
from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from pitstop.doors.http.answers import refusal
from pitstop.errors import ServerBusy, TooLarge, TooMany

MEGABYTE = 1024 * 1024


class Limits(Struct, frozen=True, kw_only=True):
    """Above these a request is refused, or what it is answered is cut, which is said."""

    connections: int = 10_000
    connections_of_one: int = 5_000  # from one client address: a proxy has one
    head_bytes: int = 64 * 1024
    head_seconds: float = 10.0  # until a request has its URL and headers
    idle_seconds: int = 75  # longer than clients and proxies keep a connection, so that they seldom use a closed one
    body_bytes: int = 8 * MEGABYTE
    body_seconds: float = 30.0  # without a byte of a body that is to come
    streams: int = 4000
    streams_of_one: int = 2000
    sockets: int = 500
    stalled_seconds: float = 60.0  # until a stream that nobody reads is closed
    heartbeat_seconds: float = 15.0
    page_bytes: int = 4 * MEGABYTE  # of log lines
    scope_bytes: int = 8 * MEGABYTE
    shells: int = 200
    shells_of_one: int = 20
    shell_idle_seconds: float = 300.0  # until a shell is closed that nobody is connected to


class BodyLimit:
    """ASGI: reads no more of a body than it may have, and does not wait for the rest for ever."""

    def __init__(self, app: ASGIApp, limits: Limits) -> None:
        self._app = app
        self._limits = limits

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        most = self._limits.body_bytes
        length = Headers(scope=scope).get("content-length", "0")
        if not length.isdigit() or int(length) > most:
            response = refusal(TooLarge(most))
            response.headers["Connection"] = "close"  # the rest of the body is not read
            await response(scope, receive, send)
            return
        read, is_whole = 0, False

        async def receive_some() -> Message:
            nonlocal read, is_whole
            try:
                async with asyncio.timeout(None if is_whole else self._limits.body_seconds):
                    message = await receive()
            except TimeoutError:
                raise HTTPException(408, "the request body did not arrive", {"Connection": "close"}) from None
            if message["type"] == "http.request":
                read += len(message.get("body", b""))
                is_whole = not message.get("more_body", False)
                if read > most:
                    raise HTTPException(413, str(TooLarge(most)), {"Connection": "close"})
            return message

        await self._app(scope, receive_some, send)


class Places:
    """Counts what is open, so that nobody and no crowd takes all of it."""

    def __init__(self, most: int, most_of_one: int, what: str) -> None:
        self._most = most
        self._most_of_one = most_of_one
        self._what = what
        self._taken: Counter[str] = Counter()

    @property
    def taken(self) -> int:
        return self._taken.total()

    @contextmanager
    def take(self, name: str) -> Iterator[None]:
        """A place for as long as the context lasts; ServerBusy when all are taken, TooMany when one has too many."""
        if self._taken.total() >= self._most:
            raise ServerBusy(f"the server has reached its limit of {self._most} open {self._what}: try again later")
        if self._taken[name] >= self._most_of_one:
            raise TooMany(f"you have reached your limit of {self._most_of_one} open {self._what}: close some")
        self._taken[name] += 1
        try:
            yield
        finally:
            self._taken[name] -= 1
            if not self._taken[name]:
                del self._taken[name]
