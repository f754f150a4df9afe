"""One executor for flows of both kinds: a command with an image runs in a container, any other as a process."""

import asyncio
from collections.abc import AsyncIterable, AsyncIterator, Callable, Mapping
from typing import TYPE_CHECKING

from pitstop.engine.container import ContainerOptions
from pitstop.engine.executor import (
    Command,
    CommandRef,
    CommandResult,
    ExecutorEvent,
    LogChunk,
    Placement,
    RunnerInfo,
    Shell,
    WorkspaceRef,
)
from pitstop.executors.container_traces import traces_of
from pitstop.executors.process import ProcessExecutor

if TYPE_CHECKING:
    from pitstop.executors.container import ContainerLauncher

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
        self._held: dict[str, WorkspaceRef] = {}
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
        self._held[workspace.id] = workspace
        return workspace

    async def release(self, workspace: WorkspaceRef, *, keep: bool = False) -> None:
        if self._held.pop(workspace.id, None) is not None:
            await self._leave(workspace)
        await self._processes.release(workspace, keep=keep)

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

    def snapshot(self, workspace: WorkspaceRef) -> AsyncIterator[bytes]:
        return self._processes.snapshot(workspace)

    async def restore(self, workspace: WorkspaceRef, chunks: AsyncIterable[bytes]) -> None:
        await self._processes.restore(workspace, chunks)

    # --- Commands

    async def start(self, workspace: WorkspaceRef, command: Command) -> CommandRef:
        image = command.image or self._image
        if image is None:
            return await self._processes.start(workspace, command)
        self._processes.check_held(workspace)
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

    async def cancel(self, command: CommandRef, grace: float = 10.0, *, timed_out: bool = False) -> None:
        if self._runs_in_container(command):
            await self._containers.cancel(command, grace, "timeout" if timed_out else "cancelled")
        else:
            await self._processes.cancel(command, grace, timed_out=timed_out)

    async def shell(
        self,
        workspace: WorkspaceRef,
        argv: tuple[str, ...] | None = None,
        image: str | None = None,
        rows: int = 24,
        cols: int = 80,
        *,
        cwd: str = ".",
        env: Mapping[str, str] | None = None,
        container: ContainerOptions | None = None,
        beside: CommandRef | None = None,
        read_only: bool = False,
    ) -> Shell:
        image = image or self._image
        if image is None:
            return await self._processes.shell(workspace, argv, None, rows, cols, cwd=cwd, env=env, read_only=read_only)
        self._processes.check_held(workspace)
        await self._post_sentry(workspace)
        try:
            shell = await self._containers.shell(
                workspace,
                image,
                argv=argv,
                rows=rows,
                cols=cols,
                cwd=cwd,
                env=env or {},
                container=container or ContainerOptions(),
                read_only=read_only,
                beside=beside,
            )
        finally:
            if workspace.id not in self._held:  # released while it was opened, which may take as long as a pull does
                await self._containers.leave_late(workspace)
        self._processes.check_held(workspace)
        return shell

    async def image_digest(self, image: str) -> str:
        return await self._containers.image_digest(image)

    async def close(self, *, keep: bool = False) -> None:
        try:
            for workspace in [*self._held.values()]:
                del self._held[workspace.id]
                await self._leave(workspace)
        finally:
            await self._processes.close(keep=keep)
            if self._launcher is not None:
                await self._launcher.close()

    @property
    def _containers(self) -> "ContainerLauncher":
        if self._launcher is None:
            self._launcher = self._new_launcher()
        return self._launcher

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
