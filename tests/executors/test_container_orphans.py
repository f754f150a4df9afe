"""Nothing of a container outlives Pitstop, however that ends."""

import asyncio
import os
import platform
import signal
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pitstop.executors.machine.containers import guard as container_guard
from pitstop.executors.machine.containers.engine import ContainerEngine, EngineRefused
from pitstop.executors.machine.containers.labels import is_dead, new_owner
from tests.containers import BOX, Docker
from tests.executors.container_bench import open_bench
from tests.executors.processes import descendants_of
from tests.patience import wait_here_until

PITSTOP = """
    import asyncio, sys
    from functools import partial
    from pathlib import Path
    from pitstop.engine.container import ContainerOptions, Service
    from pitstop.engine.executor import Command, Placement
    from pitstop.executors.machine.containers.launcher import ContainerLauncher
    from pitstop.executors.machine.containers.finding import find_engine
    from pitstop.executors.machine.placing import PlacingExecutor
    from pitstop.executors.machine.processes.executor import ProcessExecutor

    async def main(host, folder, image):
        find = partial(find_engine, {"DOCKER_HOST": host})
        executor = PlacingExecutor(ProcessExecutor(Path(folder)), partial(ContainerLauncher, find))
        workspace = await executor.acquire(Placement())
        options = ContainerOptions(services=(Service(name="db", image=image, argv=("sleep", "1000")),))
        script = "echo up; exec sleep 1000"
        command = await executor.start(workspace, Command(key="k", script=script, image=image, container=options))
        async for chunk in executor.logs(command):
            print(chunk.data.decode(), end="", flush=True)

    asyncio.run(main(*sys.argv[1:]))
"""
WAIT_SECONDS = 90.0


@pytest.fixture
def pitstop(docker: Docker, tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    """Another Pitstop, in a process of its own, whose command runs in a container beside a service."""
    words = [sys.executable, "-c", textwrap.dedent(PITSTOP), docker.host, str(tmp_path), BOX]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        while "up" not in process.stdout.readline():
            assert process.poll() is None
        assert set(docker.left()) == {"containers", "networks"}
        try:
            yield process
        finally:
            process.kill()


def test_when_pitstop_is_killed_its_guard_removes_its_containers(
    docker: Docker, pitstop: subprocess.Popen[str]
) -> None:
    pitstop.kill()

    wait_here_until(lambda: docker.left() == {})


async def test_when_the_guard_is_killed_too_the_next_pitstop_removes_them(
    docker: Docker, pitstop: subprocess.Popen[str], tmp_path: Path
) -> None:
    guards = [pid for pid in descendants_of(pitstop.pid) if "containers/guard.py" in command_line(pid)]
    for pid in (*guards, pitstop.pid):
        os.kill(pid, signal.SIGKILL)
    pitstop.wait()
    assert guards
    assert set(docker.left()) == {"containers", "networks"}

    async with open_bench(docker, tmp_path) as bench:
        assert (await bench.run("echo hello"))[1] == "hello\n"
        assert docker.left() == {}


def leave(docker: Docker, owner: str) -> None:
    """A container of that owner, which is on a network of his."""
    label = ("--label", f"pitstop.owner={owner}")
    docker.says("network", "create", *label, "of-the-owner")
    docker.says("run", "--detach", *label, "--network", "of-the-owner", BOX, "sleep", "1000")


async def test_what_somebody_else_is_just_removing_is_waited_for(
    docker: Docker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    leave(docker, f"{platform.node()}:4194305:1:dead")
    refusals = [EngineRefused(409, "removal of container is already in progress")]
    ask = ContainerEngine.ask

    async def ask_or_be_refused(self: ContainerEngine, method: str, path: str, *args: Any) -> Any:
        if method == "DELETE" and refusals:
            raise refusals.pop()
        return await ask(self, method, path, *args)

    monkeypatch.setattr(ContainerEngine, "ask", ask_or_be_refused)
    async with asyncio.timeout(WAIT_SECONDS), open_bench(docker, tmp_path) as bench:
        assert (await bench.run("echo hello"))[1] == "hello\n"

    assert docker.left() == {}


async def test_what_an_engine_does_not_remove_holds_up_nobody(
    docker: Docker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    leave(docker, f"{platform.node()}:4194305:1:dead")
    left = docker.left()
    ask = ContainerEngine.ask

    async def ask_or_be_refused(self: ContainerEngine, method: str, path: str, *args: Any) -> Any:
        if method == "DELETE" and not path.startswith("/containers/pitstop-"):
            raise EngineRefused(500, "the disk is busy")
        return await ask(self, method, path, *args)

    monkeypatch.setattr(ContainerEngine, "ask", ask_or_be_refused)
    async with asyncio.timeout(WAIT_SECONDS), open_bench(docker, tmp_path, leaves=left) as bench:
        assert (await bench.run("echo hello"))[1] == "hello\n"
    monkeypatch.undo()

    async with open_bench(docker, tmp_path) as bench:
        assert (await bench.run("echo hello"))[1] == "hello\n"


def test_a_guard_waits_for_what_is_just_being_removed(docker: Docker, monkeypatch: pytest.MonkeyPatch) -> None:
    leave(docker, "me")
    refusals = [b'{"message": "removal of container is already in progress"}']
    ask = container_guard._ask

    def ask_or_be_refused(path: str, method: str, target: str) -> bytes:
        return refusals.pop() if method == "DELETE" and refusals else ask(path, method, target)

    monkeypatch.setattr(container_guard, "_ask", ask_or_be_refused)
    container_guard.remove_all(str(docker.socket), "me")

    assert docker.left() == {}


async def test_containers_of_those_who_live_are_left_alone(
    docker: Docker, pitstop: subprocess.Popen[str], tmp_path: Path
) -> None:
    theirs = docker.left()

    async with open_bench(docker, tmp_path, leaves=theirs) as bench:
        await bench.run("true")

    assert docker.left() == theirs
    pitstop.kill()
    wait_here_until(lambda: docker.left() == {})


def test_an_owner_is_dead_when_his_process_has_ended() -> None:
    host, pid, started, token = new_owner().split(":")

    assert not is_dead(f"{host}:{pid}:{started}:{token}")
    assert is_dead(f"{host}:{pid}:{int(started) + 1}:{token}")  # another process had that id
    assert is_dead(f"{platform.node()}:4194305:1:{token}")
    assert not is_dead(f"another-{host}:4194305:1:{token}")
    assert not is_dead("nonsense")


def command_line(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode()
    except OSError:
        return ""
