"""A shell on a server whose connection breaks: it is the same shell after that."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from types import SimpleNamespace
from typing import Any

from websockets.asyncio.server import ServerConnection, serve
from websockets.exceptions import ConnectionClosed

from pitstop.errors import ServerUnreachable
from pitstop.service.caller import LOCAL
from pitstop.service.remote.connection import Background
from pitstop.service.remote.workspaces import RemoteTerminal, RemoteWorkspaces
from tests.patience import PATIENCE_SECONDS


class Script:
    """A server that lets a shell be opened, and be come back to when it is told to."""

    def __init__(self) -> None:
        self.sockets: list[ServerConnection] = []
        self.was_come_back_to = asyncio.Event()
        self.lets_back = asyncio.Event()
        self.was_ended = asyncio.Event()
        self.heard: asyncio.Queue[bytes | str] = asyncio.Queue()

    async def answer(self, socket: ServerConnection) -> None:
        self.sockets.append(socket)
        if len(self.sockets) > 1:
            self.was_come_back_to.set()
            await self.lets_back.wait()
        await socket.send(json.dumps({"session": "s1"}))
        if len(self.sockets) > 1:
            await socket.send(b"as it was\n")
        try:
            async for said in socket:
                self.heard.put_nowait(said)
                if said == json.dumps({"close": True}):
                    self.was_ended.set()
        except ConnectionClosed:
            return


@asynccontextmanager
async def shell_on(script: Script) -> AsyncIterator[RemoteTerminal]:
    async def post(*_: object) -> Any:
        return SimpleNamespace(token="t1")

    def unreachable(error: Exception) -> ServerUnreachable:
        return ServerUnreachable(url, str(error))

    async with asyncio.timeout(PATIENCE_SECONDS), serve(script.answer, "127.0.0.1", 0) as server:
        url = f"http://127.0.0.1:{next(iter(server.sockets)).getsockname()[1]}"
        connection: Any = SimpleNamespace(url=url, token=None, post=post, socket=None, unreachable=unreachable)
        async with Background() as background:
            terminal = await RemoteWorkspaces(connection, background).shell(LOCAL, "r1", 1)
            yield terminal
            await terminal.close()


async def break_off(script: Script, terminal: RemoteTerminal) -> None:
    """Break the connection, and see that whoever writes has noticed."""
    script.sockets[0].transport.abort()
    while not script.was_come_back_to.is_set():
        await terminal.write(b"x")
        await asyncio.sleep(0)


async def test_who_reads_while_the_connection_is_made_again_does_not_take_the_shell_for_ended() -> None:
    script = Script()
    async with shell_on(script) as terminal, asyncio.TaskGroup() as group:
        writing = group.create_task(break_off(script, terminal))
        await script.was_come_back_to.wait()
        reading = group.create_task(terminal.read())
        await asyncio.sleep(0)  # it reads by now
        script.lets_back.set()

        assert await reading == b"as it was\n"
        await writing


async def test_a_shell_that_is_closed_while_the_connection_is_made_again_is_ended_on_the_server() -> None:
    script = Script()
    async with shell_on(script) as terminal, asyncio.TaskGroup() as group:
        group.create_task(break_off(script, terminal))
        await script.was_come_back_to.wait()
        await terminal.close()
        script.lets_back.set()

        await script.was_ended.wait()


async def test_what_is_typed_when_the_connection_is_known_to_be_broken_reaches_the_shell() -> None:
    script = Script()
    script.lets_back.set()
    async with shell_on(script) as terminal:
        assert terminal._socket is not None
        script.sockets[0].transport.abort()
        await terminal._socket.wait_closed()
        await terminal.write(b"ls")

        assert await script.heard.get() == b"ls"
