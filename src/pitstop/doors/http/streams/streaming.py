"""Server-sent events: a response that writes blocks as they come, and never more than its client reads."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from pitstop.doors.http.gate.limits import Limits, Places

MEDIA_TYPE = "text/event-stream"
HELLO = b": here is your stream\n\n"
HEARTBEAT = b": still here\n\n"
END = b"event: end\ndata: {}\n\n"


def frame(data: bytes, *, event: str | None = None, id: int | None = None) -> bytes:
    """One event as it goes over the wire. JSON of ours has no line break in it."""
    head = b"" if id is None else b"id: %d\n" % id
    if event is not None:
        head += b"event: %s\n" % event.encode()
    return b"%sdata: %s\n\n" % (head, data)


class EventStream(Response):
    """Blocks of events, as long as the client reads them.

    The next block is asked for when the one before it was taken, so a client that does not read holds one block and
    what the socket buffers; it is let go after a while. A client that leaves ends the stream at once.
    """

    media_type = MEDIA_TYPE

    def __init__(self, blocks: AsyncGenerator[bytes, None], places: Places, name: str, limits: Limits) -> None:
        super().__init__(headers={"Cache-Control": "no-store", "X-Accel-Buffering": "no"})
        self._blocks = blocks
        self._place = places.take(name)
        self._place.__enter__()  # before anything is sent, so that it can still be refused
        self._limits = limits

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            async with asyncio.TaskGroup() as group:
                leaving = group.create_task(_gone(receive))
                writing = group.create_task(self._write(send))
                leaving.add_done_callback(lambda _: writing.cancel())
                writing.add_done_callback(lambda _: leaving.cancel())
        finally:
            self._place.__exit__(None, None, None)

    async def _write(self, send: Send) -> None:
        headers = [(name, value) for name, value in self.raw_headers if name != b"content-length"]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": HELLO, "more_body": True})
        async with aclosing(self._blocks) as blocks:
            async for block in blocks:
                try:
                    async with asyncio.timeout(self._limits.stalled_seconds):
                        await send({"type": "http.response.body", "body": block, "more_body": True})
                except TimeoutError:
                    return  # without an end: the server closes the connection
        await send({"type": "http.response.body", "body": b"", "more_body": False})


async def _gone(receive: Receive) -> None:
    """Wait until the client has left, or all was sent."""
    while (await receive())["type"] != "http.disconnect":
        pass
