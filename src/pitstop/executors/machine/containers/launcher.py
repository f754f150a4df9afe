"""Commands in containers of this machine's engine, beside a workspace that somebody else holds."""

import asyncio
import secrets
import shutil
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AsyncExitStack, suppress

from msgspec.structs import replace

from pitstop.engine.container import ContainerOptions
from pitstop.engine.executor import Command, CommandRef, CommandResult, LogChunk, Shell, ShellRequest, WorkspaceRef
from pitstop.engine.threads import in_thread
from pitstop.errors import NoShell, Unavailable
from pitstop.executors.machine.containers import guard
from pitstop.executors.machine.containers.attached import attach
from pitstop.executors.machine.containers.command import ContainerCommand, Yard, make_container
from pitstop.executors.machine.containers.config import ContainerRequest, folder_in_repo
from pitstop.executors.machine.containers.engine import ContainerEngine, EngineGone, EngineInfo, EngineRefused
from pitstop.executors.machine.containers.finding import find_engine
from pitstop.executors.machine.containers.images import Images
from pitstop.executors.machine.containers.labels import (
    labels_of,
    new_owner,
    remove_all_in,
    remove_container,
    remove_orphans,
)
from pitstop.executors.machine.containers.ownership import any_image, keep_owner
from pitstop.executors.machine.containers.recording import Record
from pitstop.executors.machine.containers.result import NotRun
from pitstop.executors.machine.containers.services import Services
from pitstop.executors.machine.containers.shell import (
    DEFAULT_SHELLS,
    ContainerShell,
    OwnContainer,
    ShellOptions,
    check_shell,
    join_container,
    open_streams,
)
from pitstop.executors.machine.shell_words import BASH_OR_SH, announced
from pitstop.executors.machine.workspaces.workspace import traces_of

LEAVE_GRACE_SECONDS = 1.0
TERMINAL = {"TERM": "xterm-256color"}

FindEngine = Callable[[], Awaitable[tuple[ContainerEngine, EngineInfo]]]


class ContainerLauncher:
    """Starts commands and shells in containers. The engine is looked for when the first is wanted.

    The folders of a workspace are on this machine, and mounted into each container where they are outside.
    """

    def __init__(self, find: FindEngine = find_engine, shells: ShellOptions = DEFAULT_SHELLS) -> None:
        self._find = find
        self._shell_options = shells
        self._owner = new_owner()
        self._yard: Yard | None = None
        self._guard: subprocess.Popen[bytes] | None = None
        self._is_closed = False
        self._finding = asyncio.Lock()
        self._started: dict[str, ContainerCommand] = {}
        self._lives: dict[str, asyncio.Task[None]] = {}
        self._shells: dict[str, list[ContainerShell]] = {}

    def knows(self, command: CommandRef) -> bool:
        return command.key in self._started

    # --- Workspaces

    async def take_up(self, workspace: WorkspaceRef) -> None:
        """Remove what others left running in a workspace that was theirs before."""
        yard = await self._open_yard()
        try:
            await remove_all_in(yard.engine, workspace.id)
        except EngineRefused as error:
            raise Unavailable(f"cannot remove the containers of workspace {workspace.id!r}: {error.message}") from error
        labels = labels_of(self._owner, workspace)
        await keep_owner(yard.engine, yard.info, workspace, await any_image(yard.engine), labels)
        await asyncio.to_thread(shutil.rmtree, traces_of(workspace), ignore_errors=True)

    async def leave(self, workspace: WorkspaceRef) -> None:
        """End what runs there."""
        for shell in self._shells.pop(workspace.id, []):
            await shell.close()
        keys = self._keys_in(workspace.id)
        for key in keys:
            self._started[key].cancel(LEAVE_GRACE_SECONDS, "cancelled")
        if keys:
            await asyncio.wait([self._lives[key] for key in keys])  # which ends none, should this be cancelled
        for key in keys:
            self._lives.pop(key).result()
        was_lost = [self._started.pop(key).ended.result().state == "lost" for key in keys]
        if self._yard is not None:
            with suppress(EngineGone, EngineRefused):  # the guard, or who comes next, removes what is left
                await self._yard.services.leave(workspace.id)
                if any(was_lost):
                    await remove_all_in(self._yard.engine, workspace.id)
        await asyncio.to_thread(shutil.rmtree, traces_of(workspace), ignore_errors=True)

    async def leave_late(self, workspace: WorkspaceRef) -> None:
        """End what was opened there though it had been left: its files may be somebody else's by now."""
        for shell in self._shells.pop(workspace.id, []):
            await shell.close()
        if self._yard is not None:
            with suppress(EngineGone, EngineRefused):
                await self._yard.services.leave(workspace.id)

    def lose(self, workspace: str, reason: str) -> None:
        """The workspace is not ours any more: end what runs there, as lost."""
        for key in self._keys_in(workspace):
            self._started[key].lose(reason)

    def _keys_in(self, workspace: str) -> list[str]:
        return [key for key, started in self._started.items() if started.workspace == workspace]

    # --- Commands

    async def start(self, workspace: WorkspaceRef, command: Command, image: str, record: Record) -> CommandRef:
        """Start the command, at most once per key. `record` starts the process that stores its output and its end."""
        ref = CommandRef(workspace.id, command.key)
        if command.key not in self._started:
            traces_of(workspace).mkdir(exist_ok=True)
            labels = labels_of(self._owner, workspace, command.key)
            started = ContainerCommand(command, image, workspace, labels, record)
            self._started[command.key] = started
            loop = asyncio.get_running_loop()  # `leave` waits for it
            self._lives[command.key] = loop.create_task(self._live(started, workspace, command), name=started.name)
        return ref

    async def _live(self, started: ContainerCommand, workspace: WorkspaceRef, command: Command) -> None:
        try:
            folder = folder_in_repo(workspace, command.cwd)
            yard = await self._open_yard()
        except ValueError as error:
            started.refuse(f"cannot run in the folder {command.cwd}: {error}")
        except (Unavailable, EngineRefused, OSError) as error:
            started.refuse(str(error))
        else:
            await started.run(yard, folder)

    def logs(self, command: CommandRef, offset: int = 0) -> AsyncIterator[LogChunk]:
        return self._started[command.key].log.read(offset)

    async def wait(self, command: CommandRef) -> CommandResult:
        return await self._started[command.key].wait_ended()

    async def write(self, command: CommandRef, data: bytes) -> None:
        await self._started[command.key].write(data)

    async def close_input(self, command: CommandRef) -> None:
        await self._started[command.key].write(None)

    async def cancel(self, command: CommandRef, grace: float, *, timed_out: bool) -> None:
        started = self._started[command.key]
        started.cancel(grace, "timeout" if timed_out else "cancelled")
        await started.wait_ended()

    async def image_digest(self, image: str) -> str:
        """The digest of an image that is here; nothing when it is not, or no engine answers."""
        try:
            return await (await self._open_yard()).images.digest(image)
        except (Unavailable, EngineGone):
            return ""

    # --- Shells

    async def shell(self, workspace: WorkspaceRef, request: ShellRequest, image: str) -> Shell:
        """A shell in the container of `beside` while that runs, else in one that is made as that of a command is.

        A sidecar of an image without a shell is in the sidecar image. NoShell if there is none.
        """
        try:
            return await self._shell(workspace, request, image)
        except NoShell as none:
            other = self._shell_options.sidecar_image
            if other is None or other == image:
                raise
            argv = announced(f"{none}; this is image {other}, read-only", request.argv)
            options = ContainerOptions(services=request.container.services)
            return await self._shell(workspace, replace(request, argv=argv, container=options), other)

    async def _shell(self, workspace: WorkspaceRef, request: ShellRequest, image: str) -> Shell:
        try:
            folder = folder_in_repo(workspace, request.cwd)
        except ValueError as error:
            raise Unavailable(f"cannot open a shell in the folder {request.cwd}: {error}") from error
        yard = await self._open_yard()
        env, argv, options = {**TERMINAL, **request.env}, request.argv or BASH_OR_SH, request.container
        try:
            shell = None if request.read_only else await self._join(yard, request.beside, argv, env, folder)
            if shell is None:
                container = ContainerRequest(
                    image=await yard.images.get(image, options.pull, options.platform, _nobody),
                    argv=argv,
                    cwd=folder,
                    env=env,
                    options=options if request.is_step else self._shell_options.limited(options, yard.info),
                    labels=labels_of(self._owner, workspace),
                    has_input=True,
                    is_terminal=True,
                    read_only=request.read_only,
                    most_processes=None if request.is_step else self._shell_options.processes,
                )
                shell = await self._own_shell(yard, workspace, container)
        except NotRun as error:
            raise Unavailable(error.reason) from error
        except EngineRefused as error:
            raise Unavailable(f"no shell in image {image}: {error.message}") from error
        self._shells.setdefault(workspace.id, []).append(shell)
        shell.resize(request.rows, request.cols)
        return shell

    async def _join(
        self, yard: Yard, beside: CommandRef | None, argv: tuple[str, ...], env: Mapping[str, str], folder: str
    ) -> ContainerShell | None:
        """A shell in the container of a command; None if that does not run (any more)."""
        running = None if beside is None else self._started.get(beside.key)
        if running is None or not await running.is_joinable():
            return None
        try:
            return await join_container(yard.engine, running.name, argv, env, folder)
        except EngineRefused:
            found = await yard.engine.find(f"/containers/{running.name}/json")
            if found is not None and found["State"]["Running"]:
                raise
            return None  # it has just ended, which may not have been heard yet

    async def _own_shell(self, yard: Yard, workspace: WorkspaceRef, request: ContainerRequest) -> ContainerShell:
        """A container that is the shell, with the services that its command has. What is left of it ends with it."""
        name = f"pitstop-{workspace.id}-shell-{secrets.token_hex(4)}"
        traces_of(workspace).mkdir(exist_ok=True)
        async with AsyncExitStack() as stack:
            beside = await stack.enter_async_context(
                yard.services.beside(request.options.services, workspace.id, request.labels, _nobody)
            )
            stack.push_async_callback(remove_container, yard.engine, name)
            await make_container(yard, name, replace(request, networks=beside.networks), workspace)
            if request.read_only:
                await check_shell(yard.engine, name, request.image.name)
            connection = await attach(yard.engine, name, has_input=True)
            try:
                await yard.engine.make(f"/containers/{name}/start")
            except BaseException:
                connection.close()
                raise
            streams = await open_streams(connection)
            return ContainerShell(*streams, OwnContainer(yard.engine, name, stack.pop_all()), request.image.digest)

    async def close(self) -> None:
        """Let go of the engine; every workspace has been left."""
        async with self._finding:  # who still looks for the engine would begin a guard that nobody dismisses
            self._is_closed = True
            self._yard = None
            if self._guard is not None:
                process, self._guard = self._guard, None
                await in_thread(process.communicate)  # which closes its input, and waits for it

    async def _open_yard(self) -> Yard:
        """The engine and what is made with it. What the dead have left there is removed first."""
        async with self._finding:
            if self._is_closed:
                raise Unavailable("this executor is closed")
            if self._yard is None:
                engine, info = await self._find()
                self._guard = self._guard or _start_guard(engine.path, self._owner)
                await remove_orphans(engine)
                images = Images(engine)
                self._yard = Yard(engine, info, images, Services(engine, images))
            return self._yard


def _start_guard(path: str, owner: str) -> subprocess.Popen[bytes]:
    """The process that removes our containers when its input ends, because we closed it or died."""
    return subprocess.Popen(
        [sys.executable, "-I", "-S", guard.__file__, path, owner],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        cwd="/",
        env={},
        start_new_session=True,  # what ends Pitstop in a terminal shall not end its guard
    )


def _nobody(_line: str) -> None:
    """Nobody reads what a pull for a shell tells."""
