"""The connection to a container that carries its input and output."""

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import suppress

from pitstop.executors.machine.containers.engine import ContainerEngine

DRAINED_BYTES = 1024 * 1024


async def attach(engine: ContainerEngine, name: str, *, has_input: bool) -> socket.socket:
    """A connection that carries what the container says from now on, and what it is told."""
    query = {"stream": True, "stdout": True, "stderr": True, "stdin": has_input}
    return await engine.take_over(f"/containers/{name}/attach", query)


async def drain(connection: socket.socket) -> bool:
    """Read and discard what is left. Returns whether there was any."""
    has_more = False
    with suppress(ConnectionError):
        while await asyncio.get_running_loop().sock_recv(connection, DRAINED_BYTES):
            has_more = True
    return has_more


async def feed(connection: socket.socket, chunks: AsyncIterator[bytes]) -> None:
    """Give it its input, and the end of it."""
    with suppress(ConnectionError):  # it does not want to read any more
        async for data in chunks:
            await asyncio.get_running_loop().sock_sendall(connection, data)
        connection.shutdown(socket.SHUT_WR)
