"""Ports in a container that lead to sockets of the workspace, in images with Python, with Node, and with neither."""

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
import pytest_asyncio

from pitstop.engine.container import ContainerOptions
from pitstop.engine.executor import Command
from tests.containers import BARE, BOX, WITH_NODE, WITH_PYTHON, Docker
from tests.executors.container_bench import Bench, open_bench

ASK = "yes hello | head -n 100000 | nc 127.0.0.1 8080"


@pytest.fixture(scope="module", autouse=True)
def images(docker: Docker) -> None:
    docker.make_image_with_python()
    docker.make_image_with_node()


@pytest_asyncio.fixture
async def bench(docker: Docker, tmp_path: Path) -> AsyncIterator[Bench]:
    async with open_bench(docker, tmp_path) as opened:
        yield opened


@asynccontextmanager
async def answering(bench: Bench) -> AsyncIterator[None]:
    """A socket `relay.sock` in the control folder, whose server says how much it was told."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        told = await reader.read()
        writer.write(f"{len(told)} bytes\n".encode() * 10_000)
        await writer.drain()
        writer.close()

    control = os.open(bench.workspace.control, os.O_RDONLY)  # the path of a socket must be short
    path = f"/proc/self/fd/{control}/relay.sock"
    async with await asyncio.start_unix_server(answer, path):
        os.chmod(path, 0o666)  # noqa: PTH101
        yield
    os.close(control)


@pytest.mark.parametrize("network", ["all", "none"])
@pytest.mark.parametrize("image", [WITH_PYTHON, WITH_NODE])
async def test_a_command_in_a_container_reaches_a_socket_by_a_port(bench: Bench, image: str, network: str) -> None:
    async with answering(bench):
        script = f"{ASK} | uniq -c; {ASK} | wc -c"
        result, said = await bench.run(script, image=image, network=network, forwards={8080: "relay.sock"})

    assert (result.exit_code, said.split()) == (0, ["10000", "600000", "bytes", "130000"])


async def test_another_user_of_a_container_can_use_it_too(bench: Bench) -> None:
    async with answering(bench):
        options = ContainerOptions(user="app")
        script = f"id -un; {ASK} | wc -c"
        _, said = await bench.run(script, image=WITH_PYTHON, container=options, forwards={8080: "relay.sock"})

    assert said.split() == ["app", "130000"]


@pytest.mark.parametrize("image", [WITH_PYTHON, WITH_NODE])
async def test_a_port_whose_server_has_ended_closes_connections(bench: Bench, image: str) -> None:
    result, said = await bench.run(f"{ASK} 2>/dev/null | wc -c", image=image, forwards={8080: "none.sock"})

    assert (result.exit_code, said.split()) == (0, ["0"])


async def test_arguments_input_and_exit_code_are_those_of_the_command(bench: Bench) -> None:
    argv = ("sh", "-c", 'printf "%s\\n" "$@"; cat; exit 3', "name", "it's one", "", "$(two)")
    result, said = await bench.run(argv=argv, image=WITH_PYTHON, forwards={8080: "relay.sock"}, stdin=b"told")

    assert (result.exit_code, said) == (3, "it's one\n\n$(two)\ntold")


async def test_a_cancelled_command_leaves_no_forwarder(bench: Bench) -> None:
    command = await bench.start("echo up; sleep 1000", image=WITH_NODE, forwards={8080: "relay.sock"})
    await bench.wait_said(command)
    await bench.executor.cancel(command, grace=0)
    await bench.executor.wait(command)

    assert bench.docker.left() == {}


@pytest.mark.parametrize(
    ("image", "reason"),
    [(BOX, "ports cannot be forwarded in this image: add python3 or node to it"), (BARE, "command not found: sh")],
)
async def test_an_image_that_cannot_forward_is_told_and_the_command_does_not_run(
    bench: Bench, image: str, reason: str
) -> None:
    result, said = await bench.run(argv=("touch", "made"), image=image, forwards={8080: "relay.sock"})

    assert result.state == "failed"
    assert reason in said + result.reason
    assert not (bench.repo / "made").exists()


def test_ports_of_this_machine_are_never_forwarded() -> None:
    with pytest.raises(ValueError, match="can forward ports only in a container, or without a network"):
        Command(key="key", argv=("true",), forwards={8080: "relay.sock"})
