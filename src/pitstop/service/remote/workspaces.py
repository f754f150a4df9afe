"""The desk for workspaces, on a server: a shell there is a WebSocket, and one that breaks is made again."""

import asyncio
import json
from contextlib import suppress
from typing import Any, Unpack
from urllib.parse import quote, urlencode

from websockets.asyncio.client import ClientConnection, connect, unix_connect
from websockets.exceptions import ConnectionClosed, InvalidStatus, WebSocketException
from websockets.protocol import State

from pitstop.errors import PitstopError, ServerUnreachable
from pitstop.runs.run_request import ShellOptions, ShellPlace
from pitstop.service.caller import Caller
from pitstop.service.remote.connection import API, Background, Connection, error_in
from pitstop.service.wire import ShellToken

PIECE_BYTES = 64 * 1024
TRIES = 5
ENDED = 1000


class RemoteWorkspaces:
    """The Workspaces of a server."""

    def __init__(self, connection: Connection, background: Background) -> None:
        self._connection = connection
        self._background = background

    async def shell(
        self, caller: Caller, run: str, place: ShellPlace, **options: Unpack[ShellOptions]
    ) -> "RemoteTerminal":
        size = options.pop("rows", 24), options.pop("cols", 80)
        path = f"/runs/{quote(run, safe='')}/shell-tokens"
        where = "stop" if isinstance(place, int) else "step"
        made = await self._connection.post(path, {where: place, **options}, ShellToken)
        terminal = RemoteTerminal(self._connection, run, *size, self._background)
        await terminal.open(made.token)
        return terminal


class RemoteTerminal:
    """A Terminal."""

    def __init__(self, connection: Connection, run: str, rows: int, cols: int, background: Background) -> None:
        self._connection = connection
        self._run = run
        self._size = (rows, cols)
        self._background = background
        self._socket: ClientConnection | None = None
        self._session = ""
        self._is_closed = False
        self._lock = asyncio.Lock()

    async def open(self, token: str) -> None:
        self._socket = await self._connect(token=token)

    async def _connect(self, **how: str) -> ClientConnection:
        rows, cols = self._size
        query = urlencode({**how, "rows": rows, "cols": cols})
        base = self._connection.url.replace("http", "ws", 1)
        token = self._connection.token
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        url = f"{base}{API}/runs/{quote(self._run, safe='')}/shell?{query}"
        try:
            socket = await self._open(url, additional_headers=headers, max_size=None, proxy=None, compression=None)
            greeting = await socket.recv()
        except InvalidStatus as error:
            raise error_in(error.response.status_code, bytes(error.response.body or b"")) from None
        except (WebSocketException, OSError) as error:
            raise self._connection.unreachable(error) from error
        self._session = str(json.loads(greeting)["session"])
        return socket

    def _open(self, url: str, **options: Any) -> connect:
        here = self._connection.socket
        return connect(url, **options) if here is None else unix_connect(here.path, url, **options)

    async def read(self) -> bytes:
        """What it says next; empty when it has ended. After an interruption, all that is on the screen again."""
        while not self._is_closed and self._socket is not None:
            socket = self._socket
            try:
                said = await socket.recv()
            except ConnectionClosed as error:
                if error.rcvd is not None and error.rcvd.code == ENDED:
                    return b""
                await self._reconnect(socket)
            else:
                if isinstance(said, bytes):
                    return said
        return b""

    async def _reconnect(self, broken: ClientConnection) -> None:
        """Whoever notices first, of who reads and who writes, makes the connection again; the other waits for it."""
        async with self._lock:
            if self._socket is broken:
                self._socket = await self._connect_again()
            if self._is_closed and self._socket is not None:
                await _end(self._socket)

    async def _connect_again(self) -> ClientConnection | None:
        for attempt in range(TRIES):
            try:
                return await self._connect(session=self._session)
            except ServerUnreachable:
                await asyncio.sleep(0.2 * 2**attempt)
            except PitstopError:
                break  # the shell is gone
        return None

    async def write(self, data: bytes) -> None:
        for start in range(0, len(data), PIECE_BYTES):
            while not self._is_closed and self._socket is not None and self._socket.state is not State.OPEN:
                await self._reconnect(self._socket)  # what is typed is not to be lost where that is known before
            socket = self._socket
            if socket is None:
                return
            try:
                await socket.send(data[start : start + PIECE_BYTES])
            except ConnectionClosed:
                await self._reconnect(socket)

    def resize(self, rows: int, cols: int) -> None:
        self._size = (rows, cols)
        if self._socket is not None:
            self._background.start(self._send_size(self._socket), "size of a terminal")

    async def _send_size(self, socket: ClientConnection) -> None:
        rows, cols = self._size
        try:
            await socket.send(json.dumps({"resize": {"rows": rows, "cols": cols}}))
        except ConnectionClosed:
            return  # the next connection begins with this size

    async def close(self) -> None:
        self._is_closed = True
        if self._socket is not None:
            await _end(self._socket)


async def _end(socket: ClientConnection) -> None:
    with suppress(ConnectionClosed):
        await socket.send(json.dumps({"close": True}))
    await socket.close()
