"""Serves the app over HTTP until it is told to end."""

import asyncio
import resource
import socket
from contextlib import suppress
from functools import partial
from typing import Any

import uvicorn
from fastapi import FastAPI

from pitstop.doors.http.gate.connections import Connections
from pitstop.doors.http.gate.limits import Limits
from pitstop.doors.http.protocol import LimitedProtocol
from pitstop.doors.http.streams.streams import Streams

LAST_SECONDS = 5  # for requests that are being answered when the server ends
LARGEST_FRAME = 16 * 1024 * 1024


class HttpServer(uvicorn.Server):
    """A uvicorn that lets streams and sockets go before it waits for requests to be answered."""

    def __init__(self, app: FastAPI) -> None:
        limits: Limits = app.state.limits
        new_protocol: Any = partial(LimitedProtocol, open_connections=_connections(limits), limits=limits)
        super().__init__(
            uvicorn.Config(
                app,
                http=new_protocol,
                log_config=None,
                access_log=False,
                lifespan="on",
                server_header=False,
                timeout_keep_alive=limits.idle_seconds,
                timeout_graceful_shutdown=LAST_SECONDS,
                ws_max_size=LARGEST_FRAME,
            )
        )
        self._streams: Streams = app.state.streams
        self.listening = asyncio.Event()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self.listening.set()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._streams.close()
        await super().shutdown(sockets)


def open_socket(host: str, port: int) -> socket.socket:
    """A socket that listens there; OSError when it cannot. Port 0 takes a free one: see `getsockname`.

    A connection that takes nothing for a while is dropped by the kernel, which knows it better than we do.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listening = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if hasattr(socket, "TCP_USER_TIMEOUT"):
            milliseconds = int(Limits().stalled_seconds * 1000)
            listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, milliseconds)
        listening.bind((host, port))
        listening.listen(2048)
        listening.setblocking(False)
    except BaseException:
        listening.close()
        raise
    return listening


def allow_connections() -> None:
    """Let this process have as many files open as the system allows it to."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    with suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


def _connections(limits: Limits) -> Connections:
    """Connections use at most half of the files that this process may open: runs need the others."""
    allowed, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    share = 1.0 if allowed == resource.RLIM_INFINITY else min(1.0, allowed / 2 / limits.connections)
    return Connections(int(limits.connections * share), int(limits.connections_of_one * share))
