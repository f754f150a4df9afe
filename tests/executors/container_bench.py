"""An executor with containers, a workspace, and short ways to use them."""

import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from pitstop.engine.executor import Command, CommandRef, CommandResult, Placement, Shell, WorkspaceRef
from pitstop.executors.machine.containers.finding import find_engine
from pitstop.executors.machine.containers.launcher import ContainerLauncher
from pitstop.executors.machine.containers.shell import DEFAULT_SHELLS, ShellOptions
from pitstop.executors.machine.placing import PlacingExecutor
from pitstop.executors.machine.processes.executor import ProcessExecutor
from tests.containers import BOX, Docker
from tests.patience import wait_until

WAIT_SECONDS = 90.0


class Bench:
    """Commands run in BOX unless they name another image; with `image=None`, as processes."""

    def __init__(self, docker: Docker, executor: PlacingExecutor, workspace: WorkspaceRef) -> None:
        self.docker = docker
        self.executor = executor
        self.workspace = workspace
        self._count = 0

    @property
    def repo(self) -> Path:
        return Path(self.workspace.repo)

    async def start(self, script: str = "", **fields: Any) -> CommandRef:
        self._count += 1
        fields = {"key": f"run-1:step:{self._count}", "image": BOX, **fields}
        command = Command(script=None if fields.get("argv") else script, **fields)
        return await self.executor.start(self.workspace, command)

    async def run(self, script: str = "", **fields: Any) -> tuple[CommandResult, str]:
        command = await self.start(script, **fields)
        said = b"".join([chunk.data async for chunk in self.executor.logs(command)])
        return await self.executor.wait(command), said.decode()

    async def wait_said(self, command: CommandRef, text: str = "up") -> str:
        log = ""
        async for chunk in self.executor.logs(command):
            log += chunk.data.decode()
            if text in log:
                return log
        raise AssertionError(f"it ended and had said {log!r}")

    async def wait_container(self) -> str:
        """The id of the one container that runs: a command may say something before its engine tells that it runs."""
        found: str = await wait_until(lambda: self.docker.says("ps", "--quiet"))
        return found

    async def wait_process(self, pattern: str) -> None:
        """Until there is a process in the one container of whose state and command line this is the pattern."""
        container = await self.wait_container()
        line = re.compile(rf"^\d+ +{pattern}$", re.MULTILINE)
        await wait_until(lambda: line.search(self.docker.says("top", container, "-o", "pid,stat,args")))

    def inspect(self, template: str) -> str:
        """What the daemon tells of the one container that is there."""
        (container,) = self.docker.says("ps", "--all", "--quiet").split()
        return self.docker.says("inspect", "--format", template, container)


@asynccontextmanager
async def open_bench(
    docker: Docker,
    workspaces: Path,
    *,
    leaves: dict[str, str] | None = None,
    shells: ShellOptions = DEFAULT_SHELLS,
    **placement: Any,
) -> AsyncIterator[Bench]:
    """A bench of which nothing is left, but for what others had there."""
    executor = new_executor(docker, workspaces, shells)
    try:
        yield Bench(docker, executor, await executor.acquire(Placement(**placement)))
    finally:
        await executor.close()
    assert docker.left() == (leaves or {})


def new_executor(docker: Docker, folder: Path, shells: ShellOptions = DEFAULT_SHELLS) -> PlacingExecutor:
    environment = {"DOCKER_HOST": docker.host}
    return PlacingExecutor(ProcessExecutor(folder), lambda: ContainerLauncher(lambda: find_engine(environment), shells))


async def wait_shown(shell: Shell, text: bytes) -> bytes:
    seen = b""
    while text not in seen:
        said = await shell.read()
        assert said, f"the shell ended and had said {seen!r}"
        seen += said
    return seen
