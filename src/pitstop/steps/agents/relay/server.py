"""An HTTP server for one agent, on loopback or a Unix socket, that ends with its context whatever is going on."""

import asyncio
import os
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from msgspec import Struct, field

CONNECTIONS = 64
LARGEST_BODY_BYTES = 64 * 1024 * 1024
_LARGEST_BODIES_BYTES = 2 * LARGEST_BODY_BYTES  # of all requests at once

Headers = list[tuple[bytes, bytes]]
Receive = Callable[[], Awaitable[dict[str, Any]]]
Send = Callable[[dict[str, Any]], Awaitable[None]]


class Request(Struct, frozen=True):
    """A request of the agent. `body` is None if it is too large, or of unknown size."""

    method: str
    path: str
    query: str
    headers: Headers
    body: bytes | None


class Answer(Struct, eq=False):
    """The answer to a request, and what was sent of it. One that is not ended is cut off, which the agent notices."""

    write: Send
    status: int = 0
    content_type: str = ""
    body: bytearray = field(default_factory=bytearray)
    is_whole: bool = False

    @property
    def is_streamed(self) -> bool:
        return self.content_type.startswith("text/event-stream")

    @property
    def texts(self) -> list[bytes]:
        """The JSON texts in it: that of each event if it is streamed, and else one."""
        whole = bytes(self.body)
        events = (line[5:] for line in whole.splitlines() if line.startswith(b"data:"))
        return list(events) if self.is_streamed else [whole]

    async def begin(self, status: int, headers: Headers) -> None:
        self.status, self.content_type = status, dict(headers).get(b"content-type", b"").decode("latin-1")
        headers = [*headers, (b"connection", b"close")]  # one that is kept open may be closed while it is used again
        await self.write({"type": "http.response.start", "status": status, "headers": headers})

    async def send(self, data: bytes) -> None:
        if len(self.body) + len(data) <= LARGEST_BODY_BYTES:
            self.body += data
        await self.write({"type": "http.response.body", "body": data, "more_body": True})

    async def end(self) -> None:
        self.is_whole = True
        await self.write({"type": "http.response.body"})


Handle = Callable[[Request, Answer], Coroutine[Any, Any, None]]


@asynccontextmanager
async def serve(handle: Handle, socket: Path | None) -> AsyncIterator[str]:
    """Serve until this is left, which ends every connection; gives the URL. OSError if it cannot listen.

    `handle` is cancelled when the agent leaves, and must not raise.
    """
    app = _app(handle)
    state: Any = None

    def connect() -> asyncio.Protocol:
        nonlocal state
        from uvicorn import Config, server
        from uvicorn.protocols.http.h11_impl import H11Protocol

        state = state or server.ServerState()
        is_full = len(state.connections) >= CONNECTIONS or not listening.is_serving()
        config = Config(app, http=H11Protocol, ws="none", lifespan="off", log_config=None, access_log=False)
        return _Closed() if is_full else H11Protocol(config, state, {})

    loop = asyncio.get_running_loop()
    if socket is None:
        listening = await loop.create_server(connect, "127.0.0.1", 0)
    else:
        listening = await loop.create_unix_server(connect, socket)
        os.chmod(socket, 0o666)  # noqa: PTH101 (for other users of a container; as on loopback, the URL is the secret)
    try:
        yield f"http://127.0.0.1:{listening.sockets[0].getsockname()[1]}" if socket is None else "http://localhost"
    finally:
        listening.close()
        for connection in list(state.connections) if state else ():
            connection.transport.abort()
        if state and state.tasks:
            await asyncio.wait(state.tasks)  # each ends when its connection has


class _Closed(asyncio.Protocol):
    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        transport.close()


def _app(handle: Handle) -> Any:
    held_bytes = 0

    async def app(scope: Any, receive: Receive, send: Send) -> None:
        nonlocal held_bytes
        size = int(dict(scope["headers"]).get(b"content-length", b"0"))
        is_read = size <= LARGEST_BODY_BYTES and held_bytes + size <= _LARGEST_BODIES_BYTES
        is_read &= b"transfer-encoding" not in dict(scope["headers"])
        held_bytes += size * is_read
        try:
            body = await _read_body(receive, is_ignored=not is_read)
            path, query = scope["raw_path"].decode("latin-1"), scope["query_string"].decode("latin-1")
            request = Request(scope["method"], path, query, scope["headers"], body if is_read else None)
            answer = Answer(send)
            async with asyncio.TaskGroup() as group:
                working = group.create_task(handle(request, answer))
                leaving = group.create_task(_wait_left(receive))
                await asyncio.wait({working, leaving}, return_when=asyncio.FIRST_COMPLETED)
                leaving.cancel()
                if not answer.is_whole:  # else the answer has just ended
                    working.cancel()
        except EOFError:
            pass  # the agent is gone
        finally:
            held_bytes -= size * is_read

    return app


async def _read_body(receive: Receive, *, is_ignored: bool) -> bytes:
    """Read to the end even what is ignored: an agent that is still sending does not read the answer."""
    parts: list[bytes] = []
    while (message := await receive())["type"] == "http.request":
        if not is_ignored:
            parts.append(message["body"])
        if not message["more_body"]:
            return b"".join(parts)
    raise EOFError


async def _wait_left(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
