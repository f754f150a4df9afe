from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from pitstop.engine.executor import Command, Executor
from pitstop.executors.fake import FakeDisk, FakeExecutor
from pitstop.executors.far import FarExecutor
from pitstop.executors.machine.processes.executor import ProcessExecutor
from tests.contracts.executor import PROGRAMS, ExecutorContract
from tests.executors.leases import LONG_LEASE_SECONDS, lapse


class Processes:
    question = b"echo $((6 * 7))\n"
    answer = b"42"
    attempt = b"cat a; echo spoiled > a || echo ref''used: $(cat a)\n"
    refusal = b"refused: first"

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.others: list[Executor] = []
        self.executor = self.another()

    def command(self, program: str, key: str, **fields: Any) -> Command:
        return Command(key=key, script=PROGRAMS[program].script, **fields)

    def another(self, lease_seconds: float | None = None) -> Executor:
        self.others.append(ProcessExecutor(self.folder, lease_seconds=lease_seconds))
        return self.others[-1]

    def lapsing(self) -> Executor:
        return self.another(LONG_LEASE_SECONDS)

    def lapse(self, executor: Executor) -> None:
        assert isinstance(executor, ProcessExecutor)
        lapse(executor)

    async def close(self) -> None:
        for executor in self.others:
            await executor.close()


class FarProcesses(Processes):
    """The same, with workspaces whose paths are not of this machine."""

    def another(self, lease_seconds: float | None = None) -> Executor:
        executor: Any = FarExecutor(super().another(lease_seconds))
        self.others[-1] = executor
        return self.others[-1]

    def lapse(self, executor: Executor) -> None:
        assert isinstance(executor, FarExecutor)
        super().lapse(executor._executor)


class Fakes:
    question = b"6 * 7?"
    answer = b"42"
    attempt = b"a = spoiled!"
    refusal = b"No."

    def __init__(self, folder: Path) -> None:
        self.disk = FakeDisk(folder)
        self.executor = self.another()

    def command(self, program: str, key: str, **fields: Any) -> Command:
        return Command(key=key, argv=(program,), **fields)

    def another(self) -> Executor:
        programs = {name: program.fake for name, program in PROGRAMS.items()}
        answers = {self.question: self.answer, self.attempt: self.refusal}
        return FakeExecutor(self.disk, programs, answer=lambda typed: answers.get(typed, b""))

    def lapsing(self) -> Executor:
        return self.another()

    def lapse(self, executor: Executor) -> None:
        assert isinstance(executor, FakeExecutor)
        executor.lapse()


class TestProcessExecutor(ExecutorContract):
    @pytest.fixture
    async def place(self, tmp_path: Path) -> AsyncIterator[Processes]:
        processes = Processes(tmp_path / "workspaces")
        yield processes
        await processes.close()


class TestFarExecutor(ExecutorContract):
    @pytest.fixture
    async def place(self, tmp_path: Path) -> AsyncIterator[FarProcesses]:
        processes = FarProcesses(tmp_path / "workspaces")
        yield processes
        await processes.close()


class TestFakeExecutor(ExecutorContract):
    @pytest.fixture
    async def place(self, tmp_path: Path) -> AsyncIterator[Fakes]:
        fakes = Fakes(tmp_path / "workspaces")
        yield fakes
        await fakes.executor.close()
