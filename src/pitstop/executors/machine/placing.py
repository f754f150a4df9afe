"""One executor for flows of both kinds: a command with an image runs in a container, any other as a process."""

import asyncio
from collections.abc import AsyncIterator, Callable
from dataclasses import field
from typing import TYPE_CHECKING

from pitstop.engine.executor import (
    Command,
    CommandRef,
    CommandResult,
    ExecutorEvent,
    LogChunk,
    Placement,
    RunnerInfo,
    Shell,
    ShellRequest,
    WorkspaceRef,
)
from pitstop.engine.workspace_files import WorkspaceFiles, WorkspaceSnapshots
from pitstop.errors import Unavailable, WorkspaceLost
from pitstop.executors.machine.containers.traces import traces_of
from pitstop.executors.machine.processes.executor import ProcessExecutor
from pitstop.lazy_dataclass import dataclass

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
        self._held: dict[str, _Held] = {}
        self._sentries: dict[str, asyncio.Task[None]] = {}

    async def runners(self) -> list[RunnerInfo]:
        return await self._processes.runners()

    def events(self) -> AsyncIterator[ExecutorEvent]:
        return self._processes.events()

    # --- Workspaces

    async def acquire(self, placement: Placement) -> WorkspaceRef:
        workspace = await self._processes.acquire(placement)
        try:
            if traces_of(workspace).exists():
                await self._containers.take_up(workspace)
        except BaseException:
            await self._processes.release(workspace, keep=True)
            raise
        self._held[workspace.id] = _Held(workspace)
        return workspace

    async def release(self, workspace: WorkspaceRef, *, keep: bool = False) -> None:
        held = self._held.get(workspace.id)
        if held is None:
            await self._processes.release(workspace, keep=keep)
            return
        held.is_left, held.is_kept = True, held.is_kept or keep
        async with held.turn:  # who releases it meanwhile, or closes all, waits until it is done
            if self._held.get(workspace.id) is held:
                await self._leave(workspace)
                await self._processes.release(workspace, keep=held.is_kept)
                del self._held[workspace.id]

    async def _leave(self, workspace: WorkspaceRef) -> None:
        if self._launcher is not None:
            await self._launcher.leave(workspace)
        sentry = self._sentries.pop(workspace.id, None)
        if sentry is not None:
            sentry.cancel()
            await asyncio.wait([sentry])

    async def orphans(self) -> list[str]:
        return await self._processes.orphans()

    async def kept(self) -> list[str]:
        return await self._processes.kept()

    async def remove_workspace(self, workspace: str) -> None:
        await self._processes.remove_workspace(workspace)

    def files(self, workspace: WorkspaceRef) -> WorkspaceFiles:
        return self._processes.files(workspace)

    def snapshots(self, workspace: WorkspaceRef) -> WorkspaceSnapshots:
        return self._processes.snapshots(workspace)

    # --- Commands

    async def start(self, workspace: WorkspaceRef, command: Command) -> CommandRef:
        image = command.image or self._image
        if image is None:
            return await self._processes.start(workspace, command)
        self._check_held(workspace)
        await self._post_sentry(workspace)
        return await self._containers.start(workspace, command, image)

    def logs(self, command: CommandRef, offset: int = 0) -> AsyncIterator[LogChunk]:
        if self._runs_in_container(command):
            return self._containers.logs(command, offset)
        return self._processes.logs(command, offset)

    async def wait(self, command: CommandRef) -> CommandResult:
        if self._runs_in_container(command):
            return await self._containers.wait(command)
        return await self._processes.wait(command)

    async def write(self, command: CommandRef, data: bytes) -> None:
        if self._runs_in_container(command):
            await self._containers.write(command, data)
        else:
            await self._processes.write(command, data)

    async def close_input(self, command: CommandRef) -> None:
        if self._runs_in_container(command):
            await self._containers.write(command, None)
        else:
            await self._processes.close_input(command)

    async def cancel(self, command: CommandRef, grace: float = 10.0, *, timed_out: bool = False) -> None:
        if self._runs_in_container(command):
            await self._containers.cancel(command, grace, "timeout" if timed_out else "cancelled")
        else:
            await self._processes.cancel(command, grace, timed_out=timed_out)

    async def shell(self, workspace: WorkspaceRef, request: ShellRequest) -> Shell:
        image = request.image or self._image
        if image is None:
            return await self._processes.shell(workspace, request)
        self._check_held(workspace)
        await self._post_sentry(workspace)
        try:
            shell = await self._containers.shell(workspace, request, image)
            self._check_held(workspace)
        except (Unavailable, OSError):
            self._check_held(workspace)
            raise
        finally:
            if self._is_left(workspace):  # released while it was opened, which may take as long as a pull does
                await self._containers.leave_late(workspace)
        return shell

    async def image_digest(self, image: str) -> str:
        return await self._containers.image_digest(image)

    async def close(self, *, keep: bool = False) -> None:
        try:
            for held in [*self._held.values()]:
                held.is_left = True
                async with held.turn:
                    if self._held.pop(held.workspace.id, None) is held:
                        await self._leave(held.workspace)
                        if held.is_kept:
                            await self._processes.release(held.workspace, keep=True)
        finally:
            await self._processes.close(keep=keep)
            if self._launcher is not None:
                await self._launcher.close()

    @property
    def _containers(self) -> "ContainerLauncher":
        if self._launcher is None:
            self._launcher = self._new_launcher()
        return self._launcher

    def _check_held(self, workspace: WorkspaceRef) -> None:
        self._processes.check_held(workspace)
        if self._is_left(workspace):
            raise WorkspaceLost(workspace.id, "it was released")

    def _is_left(self, workspace: WorkspaceRef) -> bool:
        held = self._held.get(workspace.id)
        return held is None or held.is_left

    def _runs_in_container(self, command: CommandRef) -> bool:
        return self._launcher is not None and self._launcher.knows(command)

    async def _post_sentry(self, workspace: WorkspaceRef) -> None:
        if workspace.id not in self._sentries:
            sentry = await self._processes.start(workspace, Command(key=f"{workspace.id}:sentry", argv=SENTRY))
            loop = asyncio.get_running_loop()  # `release` ends it
            self._sentries[workspace.id] = loop.create_task(self._hear_sentry(sentry), name="sentry")

    async def _hear_sentry(self, sentry: CommandRef) -> None:
        result = await self._processes.wait(sentry)
        if result.state == "lost":
            self._containers.lose(sentry.workspace, result.reason)


@dataclass(slots=True)
class _Held:
    """A workspace that somebody acquired. When it `is_left`, nothing more may begin there."""

    workspace: WorkspaceRef
    is_left: bool = False
    is_kept: bool = False
    turn: asyncio.Lock = field(default_factory=asyncio.Lock)
