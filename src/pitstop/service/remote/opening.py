"""Opens the service of a server."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib.metadata import version

from pitstop.errors import OtherVersion
from pitstop.service.desks import Service
from pitstop.service.remote.connection import Background, Connection
from pitstop.service.remote.debugging import RemoteDebugging
from pitstop.service.remote.flows import RemoteFlows
from pitstop.service.remote.runs import RemoteRuns
from pitstop.service.remote.workspaces import RemoteWorkspaces
from pitstop.service.wire import Me


@asynccontextmanager
async def open_remote_service(url: str, token: str | None = None) -> AsyncIterator[Service]:
    """Entering the context finds out whether the server is there, knows us, and is of our version.

    Leaving it ends no run: they are the server's.
    """
    connection = Connection(url, token)
    try:
        me, ours = await connection.get("/me", Me), version("pitstop")
        if me.version.split(".")[:2] != ours.split(".")[:2]:
            raise OtherVersion(connection.url, me.version, ours)
        async with Background() as background:
            yield Service(
                flows=RemoteFlows(connection),
                runs=RemoteRuns(connection, background),
                debugging=RemoteDebugging(connection),
                workspaces=RemoteWorkspaces(connection, background),
            )
    finally:
        await connection.close()
