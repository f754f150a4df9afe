"""A container engine, Docker or Podman, as its API socket shows it: questions, streams, and connections to take over.

Each request has a connection of its own, so an engine that was restarted is simply reached again.
"""

import asyncio
import contextlib
import json
import socket
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any
from urllib.parse import quote, urlencode

from msgspec import Struct

from pitstop.errors import Unavailable

CONNECT_SECONDS = 5.0
HEAD_LIMIT_BYTES = 1024 * 1024
TAKEN_OVER = 101
GOOD = range(200, 300)
NOT_THERE = 404
NOT_CHANGED = 304  # it was so already
SAID_BYTES = 64 * 1024  # of what a command in a container said last
LOOK_SECONDS = 0.02
NOT_RUN = 126  # what an engine tells of a program that is not there

Query = Mapping[str, Any]


class EngineGone(Unavailable):
    """The engine cannot be reached, or closed the connection before it had answered."""


class EngineRefused(Exception):
    """The engine answered that it did not do it; `status` is that of HTTP."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.message = message


class EngineInfo(Struct, frozen=True):
    """What an engine tells of itself."""

    name: str
    version: str
    arch: str
    is_rootless: bool = False
    remaps_users: bool = False
    has_selinux: bool = False
    is_survived: bool = False  # by its containers, when it is restarted

    @property
    def is_podman(self) -> bool:
        return self.name == "Podman"


class ContainerEngine:
    """The API of the engine at a socket."""

    def __init__(self, path: str) -> None:
        self.path = path

    async def ask(self, method: str, path: str, query: Query | None = None, body: object = None) -> Any:
        """The answer. Raises EngineRefused if it is an error, EngineGone if none came."""
        async with self.request(method, path, query, body) as answer:
            return await answer.read_json()

    async def make(self, path: str, query: Query | None = None, body: object = None) -> Any:
        """As `ask`, for what has to be removed again: cancelling waits until it is made, and can be."""
        asking = asyncio.get_running_loop().create_task(self.ask("POST", path, query, body))
        try:
            return await asyncio.shield(asking)
        except asyncio.CancelledError:
            await asyncio.wait([asking])
            raise

    async def find(self, path: str) -> Any | None:
        """What is there, or None."""
        try:
            return await self.ask("GET", path)
        except EngineRefused as error:
            if error.status == NOT_THERE:
                return None
            raise

    async def stream(
        self, method: str, path: str, query: Query | None = None, headers: Mapping[str, str] | None = None
    ) -> AsyncIterator[Any]:
        """One message after the other, as they come."""
        async with self.request(method, path, query, headers=headers) as answer:
            rest = b""
            async for chunk in answer.chunks():
                *lines, rest = (rest + chunk).split(b"\n")
                for line in lines:
                    if line.strip():
                        yield json.loads(line)
            if rest.strip():
                yield json.loads(rest)

    async def take_over(self, path: str, query: Query | None = None, body: object = None) -> socket.socket:
        """A connection that carries no HTTP any more, but what a process says and is told. The caller closes it."""
        connection = await self._connect()
        try:
            loop = asyncio.get_running_loop()
            taken = {"Connection": "Upgrade", "Upgrade": "tcp"}
            await loop.sock_sendall(connection, _request_text("POST", path, query, body, taken))
            head = await _read_head_exactly(loop, connection)
            status, headers = _parse_head(head)
            if status == TAKEN_OVER or (status in GOOD and "content-length" not in headers):
                return connection
            text = await loop.sock_recv(connection, HEAD_LIMIT_BYTES)
            raise EngineRefused(status, _message(text))
        except BaseException as error:
            connection.close()
            if isinstance(error, OSError):
                raise EngineGone(f"lost the connection to the container engine at {self.path}: {error}") from error
            raise

    async def info(self) -> EngineInfo:
        """What engine it is, and what it does differently."""
        info, version = await self.ask("GET", "/info"), await self.ask("GET", "/version")
        components = [part.get("Name", "") for part in version.get("Components") or ()]
        security = " ".join(info.get("SecurityOptions") or ())
        name = "Podman" if any("Podman" in name for name in components) else "Docker"
        return EngineInfo(
            name=name,
            version=version.get("Version", ""),
            arch=version.get("Arch", ""),
            is_rootless="name=rootless" in security,
            remaps_users="name=userns" in security,
            has_selinux="name=selinux" in security,
            is_survived=name == "Podman" or bool(info.get("LiveRestoreEnabled")),
        )

    @asynccontextmanager
    async def request(
        self,
        method: str,
        path: str,
        query: Query | None = None,
        body: object = None,
        headers: Mapping[str, str] | None = None,
    ) -> AsyncIterator["Answer"]:
        """A block that begins when the engine has accepted the request; the body of its answer may come later."""
        connection = await self._connect()
        reader, writer = await asyncio.open_unix_connection(sock=connection, limit=HEAD_LIMIT_BYTES)
        try:
            with told_gone(self.path):
                writer.write(_request_text(method, path, query, body, {"Connection": "close", **(headers or {})}))
                await writer.drain()
                status, found = _parse_head(await reader.readuntil(b"\r\n\r\n"))
            answer = Answer(reader, found, self.path)
            if status not in GOOD and status != NOT_CHANGED:
                raise EngineRefused(status, _message(await answer.read_all()))
            yield answer
        finally:
            writer.close()
            with contextlib.suppress(OSError):
                await writer.wait_closed()

    async def _connect(self) -> socket.socket:
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        connection.setblocking(False)
        try:
            async with asyncio.timeout(CONNECT_SECONDS):
                await asyncio.get_running_loop().sock_connect(connection, self.path)
        except OSError as error:  # a TimeoutError is one too
            connection.close()
            reason = error.strerror or "it does not answer"
            raise EngineGone(f"cannot reach the container engine at {self.path}: {reason}") from error
        except BaseException:
            connection.close()
            raise
        return connection


class Answer:
    """The body of an answer, whichever way its end is told. Raises EngineGone if it breaks off before that."""

    def __init__(self, reader: asyncio.StreamReader, headers: Mapping[str, str], path: str) -> None:
        self._reader = reader
        self._headers = headers
        self._path = path

    async def read_json(self) -> Any:
        text = await self.read_all()
        return json.loads(text) if text.strip() else None

    async def read_all(self) -> bytes:
        return b"".join([chunk async for chunk in self.chunks()])

    async def chunks(self) -> AsyncIterator[bytes]:
        with told_gone(self._path):
            if self._headers.get("transfer-encoding") == "chunked":
                while size := int((await self._reader.readuntil(b"\r\n")).split(b";")[0], 16):
                    yield await self._reader.readexactly(size)
                    await self._reader.readexactly(2)
            elif "content-length" in self._headers:
                yield await self._reader.readexactly(int(self._headers["content-length"]))
            else:
                while chunk := await self._reader.read(HEAD_LIMIT_BYTES):
                    yield chunk


@contextlib.contextmanager
def told_gone(path: str) -> Iterator[None]:
    """A connection that breaks off is raised as EngineGone."""
    try:
        yield
    except (OSError, EOFError, asyncio.LimitOverrunError) as error:
        raise EngineGone(f"lost the connection to the container engine at {path}: {error}") from error


async def execute(
    engine: ContainerEngine, name: str, argv: Sequence[str], env: Mapping[str, str] | None = None
) -> tuple[int, bytes]:
    """Run one more command in a container: its exit code, and the last that it said. Cancelling leaves it running.

    Raises EngineRefused.
    """
    variables = [f"{key}={value}" for key, value in (env or {}).items()]
    request = {"AttachStdout": True, "AttachStderr": True, "Tty": True, "Cmd": list(argv), "Env": variables}
    execution = (await engine.ask("POST", f"/containers/{name}/exec", body=request))["Id"]
    said = b""
    take_over = engine.take_over(f"/exec/{execution}/start", body={"Detach": False, "Tty": True})
    with told_gone(engine.path), await take_over as connection:
        while chunk := await asyncio.get_running_loop().sock_recv(connection, SAID_BYTES):
            said = (said + chunk)[-SAID_BYTES:]
    while True:
        state = await engine.ask("GET", f"/exec/{execution}/json")
        if not state["Running"]:
            return NOT_RUN if state["ExitCode"] is None else int(state["ExitCode"]), said
        await asyncio.sleep(LOOK_SECONDS)  # it has said all, and is not seen to have ended yet


async def ask_exit(engine: ContainerEngine, info: EngineInfo, name: str, stack: AsyncExitStack) -> Answer | None:
    """Ask how a container will end, before it is started: the next engine would tell anything of what it did not start.

    One whose containers survive it can be asked later, which is None.
    """
    if info.is_survived:
        return None
    asking = engine.request("POST", f"/containers/{name}/wait", {"condition": "next-exit"})
    return await stack.enter_async_context(asking)


async def _read_head_exactly(loop: asyncio.AbstractEventLoop, connection: socket.socket) -> bytes:
    """The head and not a byte more: what comes next is not HTTP. It is looked at before it is taken."""
    head = b""
    while not head.endswith(b"\r\n\r\n"):
        seen = await _peek(loop, connection)
        if not seen:
            raise ConnectionResetError("it closed the connection")
        end = (head[-3:] + seen).find(b"\r\n\r\n")
        count = len(seen) if end < 0 else end + 4 - len(head[-3:])
        head += connection.recv(count)
    return head


async def _peek(loop: asyncio.AbstractEventLoop, connection: socket.socket) -> bytes:
    readable = asyncio.Event()
    loop.add_reader(connection, readable.set)
    try:
        await readable.wait()
    finally:
        loop.remove_reader(connection)
    return connection.recv(64 * 1024, socket.MSG_PEEK)


def _request_text(method: str, path: str, query: Query | None, body: object, headers: Mapping[str, str]) -> bytes:
    content = b"" if body is None else json.dumps(body).encode()
    target = quote(path, safe="/:@") + ("?" + urlencode(_as_texts(query)) if query else "")
    lines = [f"{method} {target} HTTP/1.1", "Host: localhost", f"Content-Length: {len(content)}"]
    if content:
        lines.append("Content-Type: application/json")
    lines += [f"{name}: {value}" for name, value in headers.items()]
    return "\r\n".join([*lines, "", ""]).encode() + content


def _as_texts(query: Query) -> dict[str, str]:
    """As the API wants them: filters as JSON, yes and no as 1 and 0."""
    return {
        name: json.dumps(value) if isinstance(value, dict) else str(int(value) if isinstance(value, bool) else value)
        for name, value in query.items()
        if value is not None
    }


def _parse_head(head: bytes) -> tuple[int, dict[str, str]]:
    status_line, *lines = head.decode("latin-1").split("\r\n")
    pairs = (line.partition(":") for line in lines if line)
    return int(status_line.split()[1]), {name.lower(): value.strip() for name, _, value in pairs}


def _message(text: bytes) -> str:
    try:
        return str(json.loads(text)["message"])
    except (ValueError, KeyError, TypeError):
        return text.decode(errors="replace").strip()
