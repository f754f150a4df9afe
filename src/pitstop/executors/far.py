"""An executor for tests whose workspaces have paths that are not of this machine, as on a runner.

Commands get the real folders. Code that opens the path of a workspace itself finds nothing there.
"""

from typing import Any

import msgspec

from pitstop.engine.executor import Command, CommandRef, Executor, Placement, Shell, ShellRequest, WorkspaceRef
from pitstop.engine.workspace_files import WorkspaceFiles, WorkspaceSnapshots

FOLDERS = ("repo", "home", "artifacts", "control")


class FarExecutor:
    """Another executor, seen from a machine that does not have its folders."""

    def __init__(self, executor: Executor) -> None:
        self._executor = executor
        self._real: dict[str, WorkspaceRef] = {}

    async def acquire(self, placement: Placement) -> WorkspaceRef:
        real = await self._executor.acquire(placement)
        self._real[real.id] = real
        return msgspec.structs.replace(real, **{name: f"/far/{real.id}/{name}" for name in FOLDERS})

    def real(self, workspace: WorkspaceRef) -> WorkspaceRef:
        """The workspace with its folders as they are on this machine, for what a test looks at."""
        return self._real.get(workspace.id, workspace)

    async def release(self, workspace: WorkspaceRef, *, keep: bool = False) -> None:
        await self._executor.release(self.real(workspace), keep=keep)

    async def start(self, workspace: WorkspaceRef, command: Command) -> CommandRef:
        real = msgspec.structs.replace(
            command,
            argv=tuple(self._there(workspace, word) for word in command.argv),
            script_file=None if command.script_file is None else self._there(workspace, command.script_file),
            env={name: self._there(workspace, value) for name, value in command.env.items()},
        )
        return await self._executor.start(self.real(workspace), real)

    async def find_ended(self, workspace: WorkspaceRef, key: str) -> CommandRef | None:
        return await self._executor.find_ended(self.real(workspace), key)

    async def forget_ended(self, workspace: WorkspaceRef) -> None:
        await self._executor.forget_ended(self.real(workspace))

    async def shell(self, workspace: WorkspaceRef, request: ShellRequest) -> Shell:
        real = msgspec.structs.replace(
            request,
            argv=tuple(self._there(workspace, word) for word in request.argv),
            env={name: self._there(workspace, value) for name, value in request.env.items()},
        )
        return await self._executor.shell(self.real(workspace), real)

    def files(self, workspace: WorkspaceRef) -> WorkspaceFiles:
        return self._executor.files(self.real(workspace))

    def snapshots(self, workspace: WorkspaceRef) -> WorkspaceSnapshots:
        return self._executor.snapshots(self.real(workspace))

    def _there(self, workspace: WorkspaceRef, text: str) -> str:
        """A text with the paths of the workspace as they are where commands run."""
        for name in FOLDERS:
            text = text.replace(f"/far/{workspace.id}/{name}", getattr(self.real(workspace), name))
        return text

    def __getattr__(self, name: str) -> Any:
        return getattr(self._executor, name)
