"""A terminal in a container: a shell in one of its own, or one that joins a command in its container."""

import asyncio
import secrets
import socket
import time
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack, suppress
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from pitstop.engine.container import ContainerOptions
from pitstop.engine.executor import CommandResult
from pitstop.errors import NoShell
from pitstop.executors.machine.characters import whole_characters
from pitstop.executors.machine.containers.engine import (
    NOT_THERE,
    ContainerEngine,
    EngineGone,
    EngineInfo,
    EngineRefused,
    execute,
)
from pitstop.executors.machine.containers.result import Seen, result_of

READ_BYTES = 64 * 1024
CLOSE_GRACE_SECONDS = 1.0
LOOK_SECONDS = 0.05
SHELL_PATHS = ("/bin/sh", "/usr/bin/sh", "/busybox/sh")
MARK = "PITSTOP_SHELL"
# An engine cannot end what it was told to execute: this finds it from inside, by a mark in its environment
SIGNAL_MARKED = 'for p in /proc/[0-9]*; do grep -qs "$1" "$p/environ" && kill -"$2" "${p#/proc/}"; done 2>/dev/null'


class ShellOptions(Struct, frozen=True, kw_only=True):
    """How the container of a shell is made: limits where its step sets none, and an image for sidecars.

    `sidecar_image` is for the sidecar of a step whose image has no shell; without one it opens on the machine. A limit
    of 0 is none.
    """

    cpus: int = 1
    memory_bytes: int = 2 * 1024**3
    processes: int = 512
    sidecar_image: str | None = None

    def limited(self, options: ContainerOptions, info: EngineInfo) -> ContainerOptions:
        """The options of a step with these limits. A rootless engine often cannot limit the CPU."""
        cpus = None if info.is_rootless else self.cpus or None
        return replace(
            options,
            entrypoint=False,
            cpus=options.cpus if options.cpus is not None else cpus,
            memory_bytes=options.memory_bytes if options.memory_bytes is not None else self.memory_bytes or None,
        )


async def check_shell(engine: ContainerEngine, container: str, image: str) -> None:
    """Raises NoShell if there is no `sh` in a container, which need not be running."""
    for path in SHELL_PATHS:
        try:
            async with engine.request("GET", f"/containers/{container}/archive", {"path": path}):
                return
        except EngineRefused as error:
            if error.status != NOT_THERE:
                raise
    raise NoShell(image)


DEFAULT_SHELLS = ShellOptions()


class OwnContainer:
    """A container whose one command is the shell. `remains` is what has to be undone when it has ended."""

    def __init__(self, engine: ContainerEngine, name: str, remains: AsyncExitStack) -> None:
        self._engine = engine
        self._name = name
        self._remains = remains

    async def resize(self, rows: int, cols: int) -> None:
        await self._engine.ask("POST", f"/containers/{self._name}/resize", {"h": rows, "w": cols})

    async def exit_code(self) -> int | None:
        """How the shell ended; None while it runs, or if it is unknown."""
        found = await self._engine.find(f"/containers/{self._name}/json")
        return None if found is None or found["State"]["Running"] else int(found["State"]["ExitCode"])

    async def wait_exit(self) -> None:
        await self._engine.ask("POST", f"/containers/{self._name}/wait")

    async def end(self) -> None:
        """Returns when nothing of the shell is left. It may have ended already."""
        await self._remains.aclose()


class JoinedContainer:
    """The container of a command that runs: the shell is one more process there, marked in its environment."""

    def __init__(self, engine: ContainerEngine, name: str, execution: str, mark: str) -> None:
        self._engine = engine
        self._name = name
        self._execution = execution
        self._mark = mark

    async def resize(self, rows: int, cols: int) -> None:
        await self._engine.ask("POST", f"/exec/{self._execution}/resize", {"h": rows, "w": cols})

    async def exit_code(self) -> int | None:
        found = await self._engine.find(f"/exec/{self._execution}/json")
        return None if found is None else _exit_code(found)

    async def wait_exit(self) -> None:
        while True:
            found = await self._engine.find(f"/exec/{self._execution}/json")
            if found is None or _exit_code(found) is not None:
                return
            await asyncio.sleep(LOOK_SECONDS)  # an engine cannot be asked to tell

    async def end(self) -> None:
        with suppress(EngineRefused):  # the container has ended, and all that was in it
            await self._signal("HUP")
            with suppress(TimeoutError):
                async with asyncio.timeout(CLOSE_GRACE_SECONDS):
                    await self.wait_exit()
            await self._signal("KILL")

    async def _signal(self, name: str) -> None:
        argv = ["sh", "-c", SIGNAL_MARKED, "sh", self._mark, name]
        await execute(self._engine, self._name, argv)


class ContainerShell:
    """A shell on a terminal of the engine's. One reader and one writer at a time."""

    def __init__(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        place: OwnContainer | JoinedContainer,
        digest: str = "",
    ) -> None:
        self._reader = reader
        self._writer = writer
        self._place = place
        self._seen = Seen(started_at=time.time(), digest=digest)
        self._rest = b""  # the beginning of a character
        self._wanted_size: tuple[int, int] | None = None
        self._resizing: asyncio.Task[None] | None = None
        self._turn = asyncio.Lock()
        self._result: CommandResult | None = None

    async def read(self) -> bytes:
        while True:
            try:
                said = await self._reader.read(READ_BYTES)
            except OSError:  # the engine is gone
                said = b""
            if not said:
                said, self._rest = self._rest, b""
                return said
            said = self._rest + said
            whole = whole_characters(said)
            self._rest = said[whole:]
            if whole:
                return said[:whole]

    async def write(self, data: bytes) -> None:
        """Type. What is typed into a terminal that has ended is lost."""
        with suppress(OSError):
            self._writer.write(data)
            await self._writer.drain()

    def resize(self, rows: int, cols: int) -> None:
        self._wanted_size = rows, cols
        if self._result is None and (self._resizing is None or self._resizing.done()):
            loop = asyncio.get_running_loop()
            self._resizing = loop.create_task(self._resize(), name="resize")  # `close` waits for it

    async def wait(self) -> CommandResult:
        if self._result is not None:
            return self._result
        try:
            await self._place.wait_exit()
        except EngineGone as gone:  # the next engine would tell anything of how it ended
            self._seen = replace(
                self._seen, is_lost=True, problem=f"lost the connection to the container engine: {gone}"
            )
        except EngineRefused:  # its container has been removed
            pass
        return await self._finish()

    async def close(self) -> None:
        self._writer.close()
        with suppress(OSError):
            await self._writer.wait_closed()
        if self._resizing is not None:
            await self._resizing
        await self._finish()

    async def _finish(self) -> CommandResult:
        """The result: how it ended, or that it was ended now. Nothing of it is left."""
        async with self._turn:
            if self._result is not None:
                return self._result
            seen = self._seen
            try:
                exit_code = await self._place.exit_code()
                seen = replace(seen, exit_code=exit_code, ending="cancelled" if exit_code is None else "")
                await self._place.end()
            except (EngineGone, EngineRefused) as error:
                seen = replace(seen, is_lost=True, problem=f"the container engine could not stop it: {error}")
            self._result = result_of(replace(seen, ended_at=time.time()))
            return self._result

    async def _resize(self) -> None:
        while self._wanted_size is not None:
            size, self._wanted_size = self._wanted_size, None
            with suppress(EngineGone, EngineRefused):  # it has ended
                await self._place.resize(*size)


def _exit_code(execution: dict[str, Any]) -> int | None:
    """Docker connects us before it starts a process, which then does not run, and has no exit code either."""
    return None if execution["Running"] or execution["ExitCode"] is None else int(execution["ExitCode"])


async def open_streams(connection: socket.socket) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """The two ways of a connection that was taken over. It belongs to the writer from now on, which closes it."""
    try:
        return await asyncio.open_unix_connection(sock=connection)
    except BaseException:
        connection.close()
        raise


async def join_container(
    engine: ContainerEngine, name: str, argv: Sequence[str], env: Mapping[str, str], cwd: str
) -> ContainerShell:
    """A shell in a container that runs. Raises EngineRefused if that has ended."""
    mark = f"{MARK}={secrets.token_hex(8)}"
    request = {
        "AttachStdin": True,
        "AttachStdout": True,
        "AttachStderr": True,
        "Tty": True,
        "Cmd": list(argv),
        "Env": [f"{key}={value}" for key, value in env.items()] + [mark],
        "WorkingDir": cwd,
    }
    execution = (await engine.ask("POST", f"/containers/{name}/exec", body=request))["Id"]
    connection = await engine.take_over(f"/exec/{execution}/start", body={"Detach": False, "Tty": True})
    return ContainerShell(*await open_streams(connection), JoinedContainer(engine, name, execution, mark))
