"""500 commands that fork, hide and refuse to end, each of them ended in a random way at a random moment."""

import asyncio
import contextlib
import os
import random
import signal
import uuid
from pathlib import Path

import pytest

from pitstop.engine.executor import Command, CommandRef, Placement, WorkspaceRef
from pitstop.executors.machine.processes.executor import ProcessExecutor
from tests.executors.processes import descendants_of, parent_of, processes_with

RUNS = 500
AT_ONCE = 16
SEED = 20

HIDDEN = "env -i setsid sleep 1000.{mark} >/dev/null 2>&1"
PROGRAMS = (
    "true",
    "exec sleep 1000",
    "sleep 1000 & sleep 1000 & wait",
    "sleep 1000 | sleep 1000 | sleep 1000",
    "(sleep 1000 &)",
    f"{HIDDEN} & sleep 0.02",
    f"({HIDDEN} &) ; exec sleep 1000",
    f"(({HIDDEN} &) &) ; exit 3",
    "trap '' TERM HUP INT; while true; do sleep 0.01; done",
    "(trap '' TERM HUP; setsid sleep 1000 &) ; wait",
    "exec >&- 2>&-; sleep 1000",
    "for i in 1 2 3 4 5; do (setsid sh -c 'sleep 1000 & sleep 1000' &) ; done; exec sleep 1000",
    "while true; do (setsid sleep 1000 >/dev/null 2>&1 &) ; sleep 0.005; done",
    "yes & yes >&2 & wait",
    "kill -STOP $$",
)


class Storm:
    def __init__(self, executor: ProcessExecutor, workspace: WorkspaceRef, seed: int) -> None:
        self.executor = executor
        self.workspace = workspace
        self.random = random.Random(seed)
        self.mark = str(uuid.uuid4().int)
        self.states: list[str] = []
        self._turns = asyncio.Semaphore(AT_ONCE)

    async def run_one(self, number: int) -> None:
        async with self._turns:
            mark = f"{self.mark}{number:04}"
            program = self.random.choice(PROGRAMS).format(mark=mark)
            command = await self.executor.start(self.workspace, Command(key=mark, script=f"echo $$\n{program}"))
            await asyncio.sleep(self.random.random() * 0.03)  # the random moment
            await self.random.choice((self.cancel, self.cancel_twice, self.send_signal, self.kill_supervisor))(command)
            state = (await self.executor.wait(command)).state
            self.states.append(state)
            if state != "lost":
                assert processes_with(mark) == {}

    async def cancel(self, command: CommandRef) -> None:
        await self.executor.cancel(command, grace=self.random.choice((0, 0.02, 0.05)))

    async def cancel_twice(self, command: CommandRef) -> None:
        async with asyncio.TaskGroup() as group:
            group.create_task(self.executor.cancel(command, grace=1000))
            group.create_task(self.executor.cancel(command, grace=0.01))

    async def send_signal(self, command: CommandRef) -> None:
        pid = await self.pid_of(command)
        self.send(self.random.choice((signal.SIGTERM, signal.SIGKILL, signal.SIGHUP)), pid)
        await asyncio.sleep(self.random.random() * 0.01)
        await self.cancel(command)

    async def kill_supervisor(self, command: CommandRef) -> None:
        """Now and then; it may have gone on to another command, which is then the one that is lost."""
        if self.random.random() < 0.2:
            pid = await self.pid_of(command)
            if pid in processes_with(command.key):
                self.send(signal.SIGKILL, parent_of(pid))
        await self.cancel(command)

    async def pid_of(self, command: CommandRef) -> int:
        """What the command tells first; 0 if it was lost before that."""
        async for chunk in self.executor.logs(command):
            if chunk.stream == "stdout":
                return int(chunk.data.split(b"\n")[0])
        return 0

    def send(self, signal_number: signal.Signals, pid: int) -> None:
        """To a command or a supervisor of this test only: the id may be another's by now. The keeper is left alone."""
        if pid in descendants_of(os.getpid()) and parent_of(pid) != os.getpid():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal_number)


@pytest.mark.timeout(900)
async def test_after_500_random_ends_no_process_is_left(tmp_path: Path) -> None:
    others = descendants_of(os.getpid())
    executor = ProcessExecutor(tmp_path)
    storm = Storm(executor, await executor.acquire(Placement()), SEED)

    async with asyncio.TaskGroup() as group:
        for number in range(RUNS):
            group.create_task(storm.run_one(number))
    await executor.close()

    assert len(storm.states) == RUNS
    assert {"failed", "cancelled", "lost"} <= set(storm.states)
    assert processes_with(storm.mark) == {}
    assert descendants_of(os.getpid(), besides=others) == {}
