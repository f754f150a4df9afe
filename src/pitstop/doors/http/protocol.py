"""One connection: HTTP/1.1 as uvicorn speaks it, with limits on connections and on the head of a request."""

import asyncio
from typing import Any

from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

from pitstop.doors.http.answers import refusal
from pitstop.doors.http.gate.connections import Connections
from pitstop.doors.http.gate.limits import Limits
from pitstop.errors import HeadTimeout, HeadTooLarge, PitstopError, ServerTrouble


class LimitedProtocol(HttpToolsProtocol):
    """Closes a connection whose request head is too large or takes too long."""

    def __init__(self, *, open_connections: Connections, limits: Limits, **options: Any) -> None:
        super().__init__(**options)
        self._open_connections = open_connections
        self._limits = limits
        self._head_timer: asyncio.TimerHandle | None = None
        self._head_bytes = 0
        self._chunk_bytes = 0
        self._is_in_head = False
        self._is_busy = False
        self._fault: PitstopError | None = None

    def close(self) -> None:
        self.transport.close()

    # The connection

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        try:
            self._open_connections.add(self, self.client[0] if self.client else "")
        except ServerTrouble as error:
            self._refuse(error)
        else:
            self._start_head_timer()

    def connection_lost(self, exc: Exception | None) -> None:
        self._leave()
        super().connection_lost(exc)

    def handle_websocket_upgrade(self) -> None:
        self._leave()  # WebSockets have a limit of their own
        super().handle_websocket_upgrade()

    def data_received(self, data: bytes) -> None:
        self._chunk_bytes = len(data)
        super().data_received(data)
        if self.transport.is_closing():
            return
        if self._is_in_head:
            self._head_bytes += len(data)
            if self._head_bytes > self._limits.head_bytes:
                self._refuse(HeadTooLarge(self._limits.head_bytes))
                return
        if not self._is_busy and self._head_timer is None:
            self._start_head_timer()

    # The parser: what is raised here comes to `send_400_response`

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._is_in_head, self._head_bytes = True, 0

    def on_headers_complete(self) -> None:
        if self._head_bytes + self._chunk_bytes > self._limits.head_bytes:  # with a part of the body, perhaps
            size = len(self.url) + sum(len(name) + len(value) for name, value in self.headers)
            if size > self._limits.head_bytes:
                self._fault = HeadTooLarge(self._limits.head_bytes)
                raise self._fault
        self._is_in_head, self._is_busy = False, True
        self._stop_head_timer()
        self._open_connections.set_busy(self)
        super().on_headers_complete()

    def send_400_response(self, msg: str) -> None:
        """Refuse what the parser has failed with."""
        if self._fault is None:
            super().send_400_response(msg)
        else:
            self._refuse(self._fault)

    def on_response_complete(self) -> None:
        if not self.pipeline:
            self._is_busy = False
            self._open_connections.set_idle(self)
        super().on_response_complete()

    # The limits

    def _start_head_timer(self) -> None:
        self._head_timer = self.loop.call_later(self._limits.head_seconds, self._end_waiting)

    def _stop_head_timer(self) -> None:
        if self._head_timer is not None:
            self._head_timer.cancel()
            self._head_timer = None

    def _end_waiting(self) -> None:
        if self._is_in_head:
            self._refuse(HeadTimeout(self._limits.head_seconds))
        else:  # a browser opens connections before it needs them, and would show this answer to the next request
            self.close()

    def _refuse(self, error: PitstopError) -> None:
        """Answer with the error, unless another answer has begun, and close the connection."""
        has_begun = bool(self.cycle) and self.cycle.response_started and not self.cycle.response_complete
        if not has_begun:
            response = refusal(error)
            head = [*response.raw_headers, *self.server_state.default_headers, (b"connection", b"close")]
            lines = b"".join(b"%s: %s\r\n" % header for header in head)
            self.transport.write(STATUS_LINE[response.status_code] + lines + b"\r\n" + bytes(response.body))
        self.close()

    def _leave(self) -> None:
        self._stop_head_timer()
        self._open_connections.remove(self)
