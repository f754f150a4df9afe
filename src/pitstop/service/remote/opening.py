"""Opens the service of a server, or of another process of this user."""

from collections.abc import AsyncIterator
from contextlib import ExitStack, asynccontextmanager
from importlib.metadata import version

from pitstop.errors import NotAttachable, OtherVersion
from pitstop.service.attaching import short_name, socket_of
from pitstop.service.desks import Service
from pitstop.service.remote.cards import RemoteCards
from pitstop.service.remote.connection import Background, Connection, RunSocket
from pitstop.service.remote.debugging import RemoteDebugging
from pitstop.service.remote.flows import RemoteFlows
from pitstop.service.remote.hooks import RemoteHooks
from pitstop.service.remote.playground import RemotePlayground
from pitstop.service.remote.repos import RemoteRepos
from pitstop.service.remote.runs import RemoteRuns
from pitstop.service.remote.test_history import RemoteTestHistory
from pitstop.service.remote.triggers import RemoteTriggers
from pitstop.service.remote.workspaces import RemoteWorkspaces
from pitstop.service.wire import Me
from pitstop.settings import Settings


@asynccontextmanager
async def open_remote_service(url: str, token: str | None = None) -> AsyncIterator[Service]:
    """Entering the context finds out whether the server is there, knows us, and is of our version.

    Leaving it ends no run: they are the server's.
    """
    async with _open(Connection(url, token)) as service:
        yield service


@asynccontextmanager
async def open_attached_service(settings: Settings, run: str) -> AsyncIterator[Service]:
    """The service of the process that a run is in; NotAttachable. Leaving the context ends no run."""
    with ExitStack() as stack:
        try:
            path = stack.enter_context(short_name(socket_of(settings, run)))
        except OSError as error:  # there is no such run
            raise NotAttachable(run) from error
        async with _open(Connection("http://localhost", None, RunSocket(run, path))) as service:
            yield service


@asynccontextmanager
async def _open(connection: Connection) -> AsyncIterator[Service]:
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
                repos=RemoteRepos(connection),
                triggers=RemoteTriggers(connection),
                cards=RemoteCards(connection),
                playground=RemotePlayground(connection),
                hooks=RemoteHooks(connection),
                test_history=RemoteTestHistory(connection),
            )
    finally:
        await connection.close()
