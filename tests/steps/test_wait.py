import asyncio
import socket
from typing import Any

import pytest

from pitstop.steps.wait import split_address
from tests.ports import free_port
from tests.steps.bench import Bench, is_alive


async def failure_after_a_try(bench: Bench, config: dict[str, Any]) -> str:
    """The error of a step that had the time to try once: on a busy machine a short one is over before that."""
    for within in ("1s", "10s"):
        error = await bench.failure("wait", {**config, "within": within})
        if "the first attempt did not finish" not in error:
            return error
    return await bench.failure("wait", {**config, "within": "100s"})


async def test_it_waits_until_a_port_accepts_connections(bench: Bench) -> None:
    port = free_port()
    async with asyncio.TaskGroup() as group:
        waiting = group.create_task(bench.outputs("wait", {"port": port, "every": "10ms"}))
        await bench.wait_said("waiting for port")
        with socket.create_server(("127.0.0.1", port)):  # who only listens is connected to by the kernel
            assert (await waiting)["seconds"] >= 0


async def test_a_port_that_never_answers_is_told_with_the_reason(bench: Bench) -> None:
    port = free_port()
    error = await failure_after_a_try(bench, {"port": f"127.0.0.1:{port}", "every": "20ms"})

    assert f"waited for port {port} of 127.0.0.1, tried" in error
    assert error.endswith("Connection refused")


async def test_a_host_that_nobody_knows_is_told(bench: Bench) -> None:
    error = await bench.failure("wait", {"port": f"{'x' * 70}.invalid:80", "within": "1s"})

    assert error.startswith("CheckFailed: waited for port 80 of xxx")


async def test_it_waits_until_a_file_is_there(bench: Bench) -> None:
    async with asyncio.TaskGroup() as group:
        waiting = group.create_task(bench.outputs("wait", {"file": "out/ready", "every": "10ms"}))
        await bench.wait_said("waiting for file")
        (bench.repo / "out").mkdir()
        (bench.repo / "out" / "ready").touch()
        await waiting


@pytest.mark.parametrize("path", ["../x", "/etc/passwd", "link/passwd"])
async def test_it_does_not_look_outside_the_workspace(bench: Bench, path: str) -> None:
    (bench.repo / "link").symlink_to("/etc")

    assert (await bench.failure("wait", {"file": path, "within": "1h"})).startswith("OutsideWorkspace")


async def test_it_waits_until_a_command_succeeds(bench: Bench) -> None:
    config = {"command": 'echo x >> tries; test "$(wc -l < tries)" -ge 3', "every": "5ms"}
    await bench.outputs("wait", config)

    assert (bench.repo / "tries").read_text() == "x\n" * 3


async def test_a_command_that_never_succeeds_is_told_with_what_it_said(bench: Bench) -> None:
    error = await failure_after_a_try(bench, {"command": "echo no database; exit 2", "every": "10ms"})

    assert "exit code 2\n  no database" in error


async def test_a_command_that_hangs_is_ended_when_the_time_is_over(bench: Bench) -> None:
    pid = ""
    for within in ("1s", "10s", "100s"):  # on a busy machine the time may be over before the command has begun
        error = await bench.failure("wait", {"command": "echo $$ > pid; exec sleep 1000", "within": within})
        assert "the first attempt did not finish" in error
        if pid := "".join(bench.files_in(str(bench.repo)).values()):
            break

    assert not is_alive(int(pid))


@pytest.mark.parametrize(
    ("config", "told"),
    [
        ({}, "exactly one of port, file and command is required"),
        ({"port": 1, "file": "a"}, "exactly one of port, file and command is required"),
        ({"port": 70_000}, "port is 70000: a port must be a number from 1 to 65535, or host:port"),
        ({"port": "db:http"}, 'port is "db:http"'),
        ({"file": "a", "within": "soon"}, 'within is "soon": a duration must look like'),
        ({"file": "a\0b"}, "invalid path"),
    ],
)
async def test_a_bad_configuration_is_explained(bench: Bench, config: dict[str, Any], told: str) -> None:
    assert told in await bench.failure("wait", config)


@pytest.mark.parametrize(
    ("port", "address"), [(80, ("localhost", 80)), ("db:5432", ("db", 5432)), ("[::1]:80", ("::1", 80))]
)
def test_addresses(port: int | str, address: tuple[str, int]) -> None:
    assert split_address(port) == address
