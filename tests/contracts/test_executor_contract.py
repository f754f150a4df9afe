from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from pitstop.engine.executor import Command, Executor
from pitstop.executors.fake import FakeExecutor
from pitstop.executors.process import ProcessExecutor
from tests.contracts.executor import PROGRAMS, ExecutorContract


class Processes:
    question = b"echo $((6 * 7))\n"
    answer = b"42"

    def __init__(self, folder: Path) -> None:
        self.executor: Executor = ProcessExecutor(folder)

    def command(self, program: str, key: str, **fields: Any) -> Command:
        return Command(key=key, script=PROGRAMS[program].script, **fields)


class Fakes:
    question = b"6 * 7?"
    answer = b"42"

    def __init__(self) -> None:
        programs = {name: program.fake for name, program in PROGRAMS.items()}
        self.executor: Executor = FakeExecutor(programs, answer=lambda typed: b"42" if typed == self.question else b"")

    def command(self, program: str, key: str, **fields: Any) -> Command:
        return Command(key=key, argv=(program,), **fields)


class TestProcessExecutor(ExecutorContract):
    @pytest.fixture
    async def place(self, tmp_path: Path) -> AsyncIterator[Processes]:
        processes = Processes(tmp_path)
        yield processes
        await processes.executor.close()


class TestFakeExecutor(ExecutorContract):
    @pytest.fixture
    async def place(self) -> AsyncIterator[Fakes]:
        fakes = Fakes()
        yield fakes
        await fakes.executor.close()
