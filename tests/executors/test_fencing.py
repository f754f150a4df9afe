"""What becomes of the commands and workspaces of a Pitstop that is killed, or stopped for longer than its lease."""

import asyncio
import os
import random
import signal
import subprocess
import sys
import textwrap
import threading
import uuid
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from pitstop.engine.executor import Command, Placement
from pitstop.errors import Unavailable, WorkspaceLost
from pitstop.executors.machine.processes.executor import ProcessExecutor
from pitstop.executors.machine.workspaces import held as workspaces
from pitstop.executors.machine.workspaces.workspace import Workspace, open_workspace
from tests.amounts import amount
from tests.executors.leases import LONG_LEASE_SECONDS
from tests.executors.processes import descendants_of, parent_of, processes_with, wait_ended
from tests.patience import wait_until

KILLS = amount(50, soak=500)

SERVER = """
    import asyncio, os, signal, sys
    from pathlib import Path
    from pitstop.engine.executor import Command, Placement
    from pitstop.errors import WorkspaceLost
    from pitstop.executors.machine.processes.executor import ProcessExecutor

    async def main(folder, mark, away):
        executor = ProcessExecutor(Path(folder), lease_seconds={lease})
        workspace = await executor.acquire(Placement(workspace="run-1"))
        script = "trap '' TERM HUP INT; (" + away + " sleep 1000." + mark + " &) ; echo up; sleep 1000; sleep 1000"
        command = await executor.start(workspace, Command(key=mark, script=script))
        await anext(executor.logs(command))

        def stop():
            executor._supervisors._send_beat(0.0)  # the last that the keeper hears is good for no time
            os.kill(os.getpid(), signal.SIGSTOP)

        asyncio.get_running_loop().add_signal_handler(signal.SIGUSR1, stop)
        print("up", flush=True)
        print((await executor.wait(command)).state, flush=True)
        try:
            await executor.start(workspace, Command(key=mark + "next", script="true"))
        except WorkspaceLost as error:
            print(error, flush=True)
        await executor.release(workspace)
        other = await executor.acquire(Placement())
        after = await executor.start(other, Command(key=mark + "after", script="true"))
        print((await executor.wait(after)).state, flush=True)
        await executor.close()

    asyncio.run(main(*sys.argv[1:]))
"""


class Server:
    """A Pitstop in a process of its own, which has workspace `run-1` and a command in it that ends for nobody."""

    def __init__(self, process: subprocess.Popen[str], mark: str) -> None:
        self.process = process
        self.mark = mark
        assert self.readline() == "up"
        (self.keeper,) = (pid for pid in descendants_of(process.pid) if parent_of(pid) == process.pid)

    def readline(self) -> str:
        assert self.process.stdout is not None
        return self.process.stdout.readline().strip()


@contextmanager
def serving(folder: Path, *, lease: float = LONG_LEASE_SECONDS, away: str = "env -i setsid") -> Iterator[Server]:
    mark = str(uuid.uuid4().int)
    program = textwrap.dedent(SERVER).replace("{lease}", repr(lease))
    words = [sys.executable, "-c", program, str(folder), mark, away]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield Server(process, mark)
        finally:
            process.kill()


@pytest.fixture
async def executor(tmp_path: Path) -> AsyncIterator[ProcessExecutor]:
    others = descendants_of(os.getpid())
    executor = ProcessExecutor(tmp_path)
    yield executor
    await executor.close()
    assert descendants_of(os.getpid(), besides=others) == {}


async def test_a_stopped_server_loses_its_commands_and_its_workspace_and_learns_it_when_it_goes_on(
    executor: ProcessExecutor, tmp_path: Path
) -> None:
    with serving(tmp_path) as server:
        server.process.send_signal(signal.SIGUSR1)
        taken = await executor.acquire(Placement(workspace="run-1", deadline_seconds=60))

        assert processes_with(f"1000.{server.mark}") == {}
        server.process.send_signal(signal.SIGCONT)
        assert server.readline() == "lost"
        assert f"was suspended for {LONG_LEASE_SECONDS:g} s" in server.readline()
        assert server.readline() == "completed"  # in another workspace it can go on
        assert server.process.wait() == 0

    assert "repo" in names_in(tmp_path / taken.id)  # it did not remove what is another's now


async def test_a_server_that_was_stopped_for_less_than_its_lease_goes_on(
    executor: ProcessExecutor, tmp_path: Path
) -> None:
    with serving(tmp_path, lease=60) as server:
        server.process.send_signal(signal.SIGSTOP)
        with pytest.raises(Exception, match="in use by process"):
            await executor.acquire(Placement(workspace="run-1", deadline_seconds=0.3))
        server.process.send_signal(signal.SIGCONT)

        assert processes_with(f"1000.{server.mark}") != {}


async def test_when_a_server_is_killed_its_workspace_can_be_taken_up_once_nothing_runs_in_it(
    executor: ProcessExecutor, tmp_path: Path
) -> None:
    with serving(tmp_path) as server:
        server.process.kill()
        server.process.wait()
        taken = await executor.acquire(Placement(workspace="run-1"))

        assert processes_with(server.mark) == {}
        assert taken.id == "run-1"


async def test_what_is_left_when_server_keeper_and_supervisors_are_killed_at_once_is_found_and_ended(
    executor: ProcessExecutor, tmp_path: Path
) -> None:
    with serving(tmp_path, away="setsid") as server:
        supervisors = [pid for pid in descendants_of(server.process.pid) if parent_of(pid) == server.keeper]
        all_of_them = [server.process.pid, server.keeper, *supervisors]
        for pid in all_of_them:  # stopped first, so that none can act on the death of another
            os.kill(pid, signal.SIGSTOP)
        pidfds = [os.pidfd_open(pid) for pid in all_of_them[1:]]
        for pid in all_of_them:
            os.kill(pid, signal.SIGKILL)
        server.process.wait()
        for pidfd in pidfds:
            wait_ended(pidfd)
        assert len(processes_with(server.mark)) >= 2

        assert await executor.orphans() == ["run-1"]
        await executor.acquire(Placement(workspace="run-1"))

        assert processes_with(server.mark) == {}


async def test_a_killed_keeper_is_replaced_and_still_guards_the_lease(tmp_path: Path) -> None:
    others = descendants_of(os.getpid())
    executor = ProcessExecutor(tmp_path, lease_seconds=60)
    workspace = await executor.acquire(Placement(workspace="run-1"))
    (keeper,) = descendants_of(os.getpid(), besides=others)
    pidfd = os.pidfd_open(keeper)
    os.kill(keeper, signal.SIGKILL)
    wait_ended(pidfd)

    await wait_until(lambda: bool(descendants_of(os.getpid(), besides={keeper, *others})))
    command = await executor.start(workspace, Command(key="k", script="echo fine"))

    assert (await executor.wait(command)).state == "completed"
    await executor.close()
    assert names_in(tmp_path) == []


async def test_a_workspace_that_was_being_acquired_when_the_epoch_ended_is_in_use_all_the_same(
    executor: ProcessExecutor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lost = await executor.acquire(Placement(workspace="run-0"))
    is_open, may_go_on = threading.Event(), threading.Event()

    def open_and_stand_still(*args: Any) -> Workspace:
        workspace = open_workspace(*args)
        is_open.set()
        may_go_on.wait()
        return workspace

    monkeypatch.setattr(workspaces, "takes_long", lambda *_: True)  # so that it is opened in a thread
    monkeypatch.setattr(workspaces, "open_workspace", open_and_stand_still)
    async with asyncio.TaskGroup() as group:
        acquiring = group.create_task(executor.acquire(Placement(workspace="run-1")))
        await asyncio.to_thread(is_open.wait)
        end_epochs(tmp_path)
        with pytest.raises(WorkspaceLost):
            executor.check_held(lost)
        may_go_on.set()

    executor.check_held(acquiring.result())
    other = ProcessExecutor(tmp_path)
    with pytest.raises(Unavailable, match="'run-1' is in use"):
        await other.acquire(Placement(workspace="run-1"))
    await other.close()


def end_epochs(folder: Path) -> None:
    """As a keeper does it."""
    for epoch in folder.glob("*.epoch"):
        epoch.unlink()


def names_in(folder: Path) -> list[str]:
    return [path.name for path in folder.iterdir()]


# --- Killed at any moment

STARTING = """
import asyncio, itertools, os, sys
from pathlib import Path
from pitstop.engine.executor import Command, Placement
from pitstop.executors.machine.processes.executor import ProcessExecutor

SCRIPTS = (
    "true",
    "exec sleep 1000",
    "sleep 1000 & (setsid sleep 1000 &) ; wait",
    "env -i setsid sleep 1000.{mark} & sleep 0.01",
)

async def main(folder, mark):
    executor = ProcessExecutor(Path(folder))
    workspace = await executor.acquire(Placement(workspace="run-1"))
    for number, script in enumerate(itertools.cycle(SCRIPTS)):
        command = await executor.start(
            workspace, Command(key=mark + str(number), script=script.replace("{mark}", mark))
        )
        if number % 3 == 0:
            await executor.cancel(command, 0)
        await asyncio.sleep(0)

for line in sys.stdin:  # one life for each line
    pid = os.fork()
    if pid == 0:
        asyncio.run(main(*line.split()))
    print(pid, flush=True)
    os.waitpid(pid, 0)
    print("dead", flush=True)
"""


def lives_of_servers() -> subprocess.Popen[str]:
    words = [sys.executable, "-c", STARTING]
    return subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


@pytest.mark.repeats
@pytest.mark.timeout(900)
async def test_after_many_kills_of_a_server_that_starts_commands_nothing_is_left(
    executor: ProcessExecutor, tmp_path: Path
) -> None:
    chance = random.Random(4)
    with lives_of_servers() as lives:
        assert lives.stdin is not None
        assert lives.stdout is not None
        for _ in range(KILLS):
            mark = str(uuid.uuid4().int)
            print(tmp_path, mark, file=lives.stdin, flush=True)
            server = int(lives.stdout.readline())
            await asyncio.sleep(chance.random() * 0.08)  # the random moment
            os.kill(server, signal.SIGKILL)
            assert lives.stdout.readline() == "dead\n"
            workspace = await executor.acquire(Placement(workspace="run-1"))
            assert processes_with(mark) == {}
            await executor.release(workspace, keep=True)
        lives.stdin.close()
