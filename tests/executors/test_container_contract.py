"""Containers keep every promise of the executor port, against a real daemon."""

from collections.abc import AsyncIterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from pitstop.engine.executor import Command, Executor
from pitstop.executors.machine.containers.finding import find_engine
from pitstop.executors.machine.containers.launcher import ContainerLauncher
from pitstop.executors.machine.placing import PlacingExecutor
from pitstop.executors.machine.processes.executor import ProcessExecutor
from tests.containers import BOX, Docker
from tests.contracts.executor import PROGRAMS, ExecutorContract
from tests.executors.leases import LONG_LEASE_SECONDS, lapse


class Containers:
    question = b"echo $((6 * 7))\n"
    answer = b"42"
    attempt = b"cat a; echo spoiled > a || echo ref''used: $(cat a)\n"
    refusal = b"refused: first"

    def __init__(self, folder: Path, docker: Docker) -> None:
        self.folder = folder
        self.docker = docker
        self.others: list[Executor] = []
        self.executor = self.another()

    def another(self, lease_seconds: float | None = None) -> Executor:
        processes = ProcessExecutor(self.folder, lease_seconds=lease_seconds)
        environment = {"DOCKER_HOST": self.docker.host}
        new_launcher = partial(ContainerLauncher, partial(find_engine, environment))
        self.others.append(PlacingExecutor(processes, new_launcher, BOX))
        return self.others[-1]

    def command(self, program: str, key: str, **fields: Any) -> Command:
        return Command(key=key, script=PROGRAMS[program].script, **fields)

    def lapsing(self) -> Executor:
        return self.another(LONG_LEASE_SECONDS)

    def lapse(self, executor: Executor) -> None:
        assert isinstance(executor, PlacingExecutor)
        lapse(executor._processes)

    async def close(self) -> None:
        for executor in self.others:
            await executor.close()


class TestContainers(ExecutorContract):
    @pytest.fixture
    async def place(self, tmp_path: Path, docker: Docker) -> AsyncIterator[Containers]:
        containers = Containers(tmp_path / "workspaces", docker)
        yield containers
        await containers.close()
        assert docker.left() == {}
