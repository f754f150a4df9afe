"""One executor for flows of both kinds: a command with an image runs in a container, any other as a process."""

import asyncio
from collections.abc import AsyncIterator, Callable
from functools import partial
from typing import TYPE_CHECKING

from msgspec.structs import replace

from pitstop.engine.executor import (
    Command,
    CommandRef,
    CommandResult,
    LogChunk,
    Placement,
    Shell,
    ShellRequest,
    WorkspaceRef,
)
from pitstop.errors import NoShell, Unavailable
from pitstop.executors.machine.processes.executor import ProcessExecutor
from pitstop.executors.machine.shell_words import announced
from pitstop.executors.machine.workspaces.workspace import traces_of

if TYPE_CHECKING:
    from pitstop.executors.machine.containers.launcher import ContainerLauncher

SENTRY = ("sleep", "1000000000")


class PlacingExecutor:
    """Processes and containers in the same workspaces, with the same paths.

    With `image` every command runs in a container: in that one, if it names none itself. `new_launcher` is called when
    the first container is wanted, for a run without any need not pay for it.

    The processes hold the workspaces. In each workspace with containers there is a sentry, a process that only sleeps:
    when that is lost, because Pitstop stood still for too long, the containers are ended as lost too.
    """

    def __init__(
        self, processes: ProcessExecutor, new_launcher: Callable[[], "ContainerLauncher"], image: str | None = None
    ) -> None:
        self._processes = processes
        self._new_launcher = new_launcher
        self._launcher: ContainerLauncher | None = None
        self._image = image
        self._acquired: set[str] = set()
        self._sentries: dict[str, asyncio.Task[None]] = {}
        processes.before_release(self._leave)
        self.runners = processes.runners
        self.events = processes.events
        self.release = processes.release
        self.orphans = processes.orphans
        self.kept = processes.kept
        self.remove_workspace = processes.remove_workspace
        self.forget_ended = processes.forget_ended
        self.files = processes.files
        self.snapshots = processes.snapshots

    # --- Workspaces

    async def acquire(self, placement: Placement) -> WorkspaceRef:
        workspace = await self._processes.acquire(placement)
        try:
            if traces_of(workspace).exists():
                await self._containers.take_up(workspace)
        except BaseException:
            await self._processes.release(workspace, keep=True)
            raise
        self._acquired.add(workspace.id)
        return workspace

    async def _leave(self, workspace: WorkspaceRef) -> None:
        if workspace.id in self._acquired and self._launcher is not None:
            await self._launcher.leave(workspace)
        self._acquired.discard(workspace.id)
        sentry = self._sentries.pop(workspace.id, None)
        if sentry is not None:
            sentry.cancel()
            await asyncio.wait([sentry])

    # --- Commands

    async def start(self, workspace: WorkspaceRef, command: Command) -> CommandRef:
        image = command.image or self._image
        if image is None:
            return await self._processes.start(workspace, command)
        if self._processes.knows(command.key):  # it was found: a container that ended before
            return CommandRef(workspace.id, command.key)
        self._processes.discard_end(workspace, command.key)
        await self._post_sentry(workspace)
        record = partial(self._processes.record, workspace, command.key)
        return await self._containers.start(workspace, command, image, record)

    async def find_ended(self, workspace: WorkspaceRef, key: str) -> CommandRef | None:
        return await self._processes.find_ended(workspace, key)

    def logs(self, command: CommandRef, offset: int = 0) -> AsyncIterator[LogChunk]:
        return self._place_of(command).logs(command, offset)

    async def wait(self, command: CommandRef) -> CommandResult:
        return await self._place_of(command).wait(command)

    async def write(self, command: CommandRef, data: bytes) -> None:
        await self._place_of(command).write(command, data)

    async def close_input(self, command: CommandRef) -> None:
        await self._place_of(command).close_input(command)

    async def cancel(self, command: CommandRef, grace: float = 10.0, *, timed_out: bool = False) -> None:
        await self._place_of(command).cancel(command, grace, timed_out=timed_out)

    async def shell(self, workspace: WorkspaceRef, request: ShellRequest) -> Shell:
        image = request.image or self._image
        if image is None:
            return await self._processes.shell(workspace, request)
        self._processes.check_held(workspace)
        await self._post_sentry(workspace)
        try:
            shell = await self._containers.shell(workspace, request, image)
            self._processes.check_held(workspace)
        except NoShell as none:
            argv = announced(f"{none}; this is the machine, with the workspace read-only", request.argv)
            return await self._processes.shell(workspace, replace(request, argv=argv, image=None))
        except (Unavailable, OSError):
            self._processes.check_held(workspace)
            raise
        finally:
            if not self._processes.holds(workspace):  # released while it was opened, which may take a whole pull
                await self._containers.leave_late(workspace)
        return shell

    async def image_digest(self, image: str) -> str:
        return await self._containers.image_digest(image)

    async def close(self, *, keep: bool = False) -> None:
        try:
            await self._processes.close(keep=keep)
        finally:
            if self._launcher is not None:
                await self._launcher.close()

    @property
    def _containers(self) -> "ContainerLauncher":
        if self._launcher is None:
            self._launcher = self._new_launcher()
        return self._launcher

    def _place_of(self, command: CommandRef) -> "ProcessExecutor | ContainerLauncher":
        if self._launcher is not None and self._launcher.knows(command):
            return self._launcher
        return self._processes

    async def _post_sentry(self, workspace: WorkspaceRef) -> None:
        if workspace.id not in self._sentries:
            sentry = await self._processes.start(workspace, Command(key=f"{workspace.id}:sentry", argv=SENTRY))
            loop = asyncio.get_running_loop()  # `release` ends it
            self._sentries[workspace.id] = loop.create_task(self._hear_sentry(sentry), name="sentry")

    async def _hear_sentry(self, sentry: CommandRef) -> None:
        result = await self._processes.wait(sentry)
        if result.state == "lost":
            self._containers.lose(sentry.workspace, result.reason)
