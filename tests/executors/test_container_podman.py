"""Podman is as good an engine as Docker: what its API does in its own way."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from signal import SIGTERM
from typing import Any

import pytest

from pitstop.engine.container import ContainerOptions, Health, Service
from pitstop.engine.executor import Placement, ShellRequest
from pitstop.executors.machine.containers.engine import ContainerEngine, EngineGone
from pitstop.executors.machine.containers.finding import find_engine
from tests.containers import BARE, BOX, WITH_PYTHON, Podman
from tests.executors.container_bench import WAIT_SECONDS, Bench, new_executor, open_bench, wait_shown
from tests.executors.test_container_forwards import ASK, answering


@pytest.fixture(scope="module")
def podman() -> Iterator[Podman]:
    service = Podman()
    try:
        service.start()
        service.make_images()
        yield service
    finally:
        service.remove()


@pytest.fixture
async def bench(podman: Podman, tmp_path: Path) -> AsyncIterator[Bench]:
    async with open_bench(podman, tmp_path) as bench:
        yield bench


async def test_it_is_told_from_docker(podman: Podman) -> None:
    _, info = await find_engine({"CONTAINER_HOST": podman.host})

    assert (info.name, info.is_podman, info.is_survived) == ("Podman", True, True)


async def test_a_command_gets_its_input_and_tells_its_output_and_its_end(bench: Bench) -> None:
    result, said = await bench.run("cat; exit 3", stdin=b"as it is")
    assert (result.state, result.exit_code, said) == ("failed", 3, "as it is")

    result, _ = await bench.run("true", image=BARE)
    assert result.exit_code == 127
    assert f"image {BARE} has no sh to run the script with" in result.reason

    command = await bench.start("echo up; exec sleep 1000")
    await bench.wait_said(command)
    await bench.executor.cancel(command)
    assert (await bench.executor.wait(command)).signal == SIGTERM


async def test_a_port_of_a_container_leads_to_a_socket(podman: Podman, bench: Bench) -> None:
    podman.make_image_with_python()
    async with answering(bench):
        _, said = await bench.run(f"{ASK} | wc -c", image=WITH_PYTHON, network="none", forwards={8080: "relay.sock"})

    assert said.split() == ["130000"]


async def test_a_command_that_ended_is_found_when_its_workspace_is_taken_up(podman: Podman, tmp_path: Path) -> None:
    first, second = new_executor(podman, tmp_path), new_executor(podman, tmp_path)
    workspace = await first.acquire(Placement(workspace="run-1"))
    result, _ = await Bench(podman, first, workspace).run("echo done; exit 3", key="1")
    await first.release(workspace, keep=True)

    found = await second.find_ended(await second.acquire(Placement(workspace="run-1")), "1")

    assert found is not None
    assert await second.wait(found) == result
    assert [chunk.data async for chunk in second.logs(found)] == [b"done\n"]
    await first.close()
    await second.close()


async def test_a_command_that_is_cancelled_while_its_engine_is_away_is_ended_when_that_is_back(
    bench: Bench, podman: Podman, monkeypatch: pytest.MonkeyPatch
) -> None:
    command = await bench.start("echo up; exec sleep 1000")
    await bench.wait_said(command)
    ask = ContainerEngine.ask
    is_missed = asyncio.Event()

    async def ask_and_tell(self: ContainerEngine, method: str, path: str, *args: Any) -> Any:
        try:
            return await ask(self, method, path, *args)
        except EngineGone:
            if path.endswith("/kill"):
                is_missed.set()
            raise

    monkeypatch.setattr(ContainerEngine, "ask", ask_and_tell)
    podman.stop()
    async with asyncio.timeout(WAIT_SECONDS), asyncio.TaskGroup() as group:
        group.create_task(bench.executor.cancel(command, grace=0))
        await is_missed.wait()
        podman.start()

    result = await bench.executor.wait(command)
    assert result.state in ("cancelled", "lost")  # it depends on whether it still ran when its engine was asked
    assert podman.left() == {}


async def test_a_command_is_kept_from_protected_files_the_network_and_a_fork_bomb(bench: Bench) -> None:
    (bench.repo / "src/made").mkdir(parents=True)
    (bench.repo / "src/made/code").write_text("first")
    script = """
        exec 2>&1
        echo spoiled > src/made/code; rm src/made/code; mv src/made src/kept; mv src kept; echo * src/*
        cut -d: -f1 /proc/net/dev | tail -n +3
        for each in $(seq 30); do sleep 1000 & done; echo went off
    """
    _, said = await bench.run(script, shell=("sh",), read_only=("src/made/code",), network="none", pids=10)

    assert (bench.repo / "src/made/code").read_text() == "first"
    assert [line.strip() for line in said.splitlines() if ":" not in line] == ["src src/made", "lo"]
    assert "can't fork" in said


async def test_a_service_is_reached_by_its_name(bench: Bench) -> None:
    web = Service(
        name="web",
        image=BOX,
        argv=("sh", "-c", "mkdir -p /www; echo hello > /www/index.html; exec httpd -f -p 8080 -h /www"),
        health=Health(command=("wget", "-q", "-O", "/dev/null", "http://localhost:8080"), interval_seconds=0.1),
    )

    _, said = await bench.run("wget -q -O - http://web:8080", container=ContainerOptions(services=(web,)))

    assert said.endswith("hello\n")


async def test_a_shell_joins_a_command_and_leaves_nothing_behind(bench: Bench) -> None:
    command = await bench.start("echo up; exec sleep 1000")
    await bench.wait_said(command)

    shell = await bench.executor.shell(bench.workspace, ShellRequest(image=BOX, beside=command))
    await shell.write(b"sleep 2001 & echo rea''dy\n")
    await wait_shown(shell, b"ready")
    await shell.close()

    (container,) = bench.docker.says("ps", "--quiet").split()
    assert "sleep 2001" not in bench.docker.says("top", container)
    await bench.executor.cancel(command, grace=0)
