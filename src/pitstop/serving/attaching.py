"""Serves the runs of a process without a server to other processes of its user, over a Unix socket."""

import asyncio
import socket
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from pathlib import Path

from msgspec.structs import replace

from pitstop.doors.http.app import create_app
from pitstop.doors.http.server import HttpServer
from pitstop.service.attaching import SocketAccess, short_name, socket_of
from pitstop.service.audit import Audit
from pitstop.service.desks import Service
from pitstop.service.idempotency import Idempotency
from pitstop.service.in_memory import AlwaysReady, MemoryAnswers, MemoryAudit, MemorySecrets, MemoryTokens, new_seal
from pitstop.service.secrets import Secrets
from pitstop.settings import Settings

# A client that hears of the end asks for the outcome and leaves; this process does not wait longer for it.
LAST_LOOKS, LOOK_SECONDS = 40, 0.05


@asynccontextmanager
async def serve_run(service: Service, settings: Settings, run: str) -> AsyncIterator[None]:
    """Let other processes of this user use the service of this one, at a socket in the folder of the run."""
    audit = Audit(MemoryAudit())
    whole = replace(
        service,
        access=SocketAccess(MemoryTokens()),
        secrets=Secrets(MemorySecrets(), new_seal(), audit.record),
        audit=audit,
    )
    server = HttpServer(create_app(whole, Idempotency(MemoryAnswers()), AlwaysReady(), web=None))
    with _listening(socket_of(settings, run)) as listening:
        async with audit.open(), asyncio.TaskGroup() as group:
            serving = group.create_task(server._serve([listening]), name="attaching")
            await server.listening.wait()
            try:
                yield
                await _wait_left(server)
            finally:
                server.should_exit = True
                await asyncio.wait([serving])


async def _wait_left(server: HttpServer) -> None:
    for _ in range(LAST_LOOKS):
        if not server.server_state.connections:
            return
        await asyncio.sleep(LOOK_SECONDS)


@contextmanager
def _listening(file: Path) -> Iterator[socket.socket]:
    """A socket that only this user can open: it has its mode before it listens."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listening:
        with short_name(file) as name:
            listening.bind(name)
        try:
            file.chmod(0o600)
            listening.listen()
            listening.setblocking(False)
            yield listening
        finally:
            with suppress(OSError):
                file.unlink()
