"""Services beside commands, against a real daemon."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from pitstop.engine.container import ContainerOptions, Health, Service
from pitstop.engine.executor import ShellRequest
from pitstop.executors.machine.containers.engine import ContainerEngine, EngineRefused
from pitstop.steps.commands import why_it_ended
from tests.containers import BOX, Docker
from tests.executors.container_bench import Bench, open_bench, wait_shown
from tests.patience import PATIENCE_SECONDS, wait_until

SERVE = ("sh", "-c", "mkdir -p /www; echo $GREETING > /www/index.html; exec httpd -f -p 8080 -h /www")
READY = Health(command=("wget", "-q", "-O", "/dev/null", "http://localhost:8080"), interval_seconds=0.1)
ASK = "wget -q -O - http://web:8080"


def web(greeting: str = "hello", *, shared: bool = False) -> Service:
    return Service(name="web", image=BOX, argv=SERVE, env={"GREETING": greeting}, health=READY, shared=shared)


def beside(*services: Service) -> ContainerOptions:
    return ContainerOptions(services=services)


@pytest.fixture
async def bench(docker: Docker, tmp_path: Path) -> AsyncIterator[Bench]:
    async with open_bench(docker, tmp_path) as bench:
        yield bench


async def test_a_service_is_reached_by_its_name_when_it_is_ready_and_ends_with_its_step(bench: Bench) -> None:
    result, said = await bench.run(ASK, container=beside(web()))

    assert result.state == "completed"
    assert said.endswith("hello\n")
    assert "pitstop: service web is ready after" in said
    assert bench.docker.left() == {}


async def test_several_services_see_each_other_and_steps_at_the_same_time_do_not_mix_them(bench: Bench) -> None:
    proxy = Service(
        name="proxy",
        image=BOX,
        argv=("sh", "-c", "while true; do nc -l -p 9090 -e wget -q -O - http://web:8080; done"),
    )

    ask = "until nc proxy 9090 </dev/null; do sleep 0.1; done"  # the proxy has no check, so it may be early
    first = await bench.start(ask, container=beside(web("first"), proxy))
    second = await bench.start(ask, container=beside(web("second"), proxy))

    assert "first\n" in "".join([chunk.data.decode() async for chunk in bench.executor.logs(first)])
    assert "second\n" in "".join([chunk.data.decode() async for chunk in bench.executor.logs(second)])


async def test_a_shared_service_is_started_once_and_lives_as_long_as_the_workspace(bench: Bench) -> None:
    shared = web(shared=True)
    await bench.run("echo changed | nc web 8080 || true", container=beside(shared))
    began = bench.docker.says("ps", "--quiet")

    _, said = await bench.run(ASK, container=beside(shared))

    assert said == "hello\n"  # nothing was started, so nothing is told
    assert bench.docker.says("ps", "--quiet") == began
    await bench.executor.release(bench.workspace)
    assert bench.docker.left() == {}


async def test_one_step_can_have_shared_and_own_services(bench: Bench) -> None:
    own = Service(name="own", image=BOX, argv=SERVE, env={"GREETING": "own"}, health=READY)

    _, said = await bench.run(f"{ASK}; wget -q -O - http://own:8080", container=beside(web(shared=True), own))

    assert said.endswith("hello\nown\n")


async def test_two_services_of_one_name_are_refused(bench: Bench) -> None:
    await bench.run("true", container=beside(web("one", shared=True)))

    result, _ = await bench.run("true", container=beside(web("other", shared=True)))

    assert (result.state, result.exit_code) == ("failed", 126)
    assert "service web is already running with another config" in result.reason


@pytest.mark.parametrize(
    ("service", "told"),
    [
        (
            Service(name="db", image=BOX, argv=("sh", "-c", "echo no disk; exit 4"), health=Health(command=("false",))),
            "ended with exit code 4",
        ),
        (Service(name="db", image=BOX, argv=("sh", "-c", "echo no disk; exit 4")), "ended with exit code 4"),
        (
            Service(
                name="db",
                image=BOX,
                argv=("sh", "-c", "echo no disk; exec sleep 1000"),
                health=Health(command=("sh", "-c", "echo not yet; false"), interval_seconds=0.1, start_seconds=1.0),
            ),
            "was not ready within 1 s: not yet",
        ),
    ],
)
async def test_a_service_that_does_not_get_ready_is_told_with_what_it_said(
    bench: Bench, service: Service, told: str
) -> None:
    result, _ = await bench.run("echo never", container=beside(service))

    assert (result.state, result.exit_code) == ("failed", 126)
    assert f"service db ({BOX}) {told}; last output:\nno disk" in result.reason
    assert bench.docker.left() == {}


async def test_a_service_that_ends_while_a_step_runs_is_named_in_its_failure(bench: Bench) -> None:
    dying = Service(name="db", image=BOX, argv=("sh", "-c", "nc -l -p 1234; echo no disk; exit 4"), shared=True)
    end_it = "until nc db 1234 </dev/null; do sleep 0.1; done; until [ -e ended ]; do sleep 0.01; done"
    said = f"service db ({BOX}) ended with exit code 4; last output:\nno disk"

    command = await bench.start(f"{end_it}; exit 7", container=beside(dying))
    await wait_until(lambda: bench.docker.says("ps", "--quiet", "--filter", "status=exited"))
    (bench.repo / "ended").touch()
    assert why_it_ended(await bench.executor.wait(command)) == f"exit code 7; {said}"

    result, _ = await bench.run("echo never", container=beside(dying))
    assert (result.state, result.exit_code) == ("failed", 126)
    assert said in result.reason


async def test_a_service_whose_image_or_command_is_not_there_is_told(bench: Bench) -> None:
    result, _ = await bench.run("true", container=beside(Service(name="db", image="no-such-host.invalid/db:1")))
    assert "cannot pull image no-such-host.invalid/db:1" in result.reason

    result, _ = await bench.run("true", container=beside(Service(name="db", image=BOX, argv=("no-such-program",))))
    assert "could not start service db" in result.reason
    assert "no-such-program" in result.reason


async def test_a_step_that_is_cancelled_takes_its_services_with_it(bench: Bench) -> None:
    for text in ("web is ready", "up"):
        command = await bench.start("echo up; exec sleep 1000", container=beside(web()))
        await bench.wait_said(command, text)

        await bench.executor.cancel(command, grace=0)

        assert (await bench.executor.wait(command)).state == "cancelled"
        assert bench.docker.left() == {}


async def test_a_step_is_cancelled_while_its_service_gets_ready(bench: Bench) -> None:
    slow = Service(name="slow", image=BOX, argv=("sleep", "1000"), health=Health(command=("false",)))
    command = await bench.start("true", container=beside(web(), slow))
    await bench.wait_said(command, "web is ready")

    await bench.executor.cancel(command)

    assert (await bench.executor.wait(command)).state == "cancelled"
    assert bench.docker.left() == {}


async def test_a_step_that_is_cancelled_again_while_it_cleans_up_takes_its_services_with_it_all_the_same(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    slow = Service(name="slow", image=BOX, argv=("sleep", "1000"), health=Health(command=("false",)))
    command = await bench.start("true", container=beside(web(), slow))
    await bench.wait_said(command, "web is ready")
    ask = ContainerEngine.ask

    async with asyncio.TaskGroup() as group:

        async def cancel_again_and_ask(self: ContainerEngine, method: str, path: str, *args: Any) -> Any:
            if method == "DELETE":
                group.create_task(bench.executor.cancel(command))
                await asyncio.sleep(0)
            return await ask(self, method, path, *args)

        monkeypatch.setattr(ContainerEngine, "ask", cancel_again_and_ask)
        await bench.executor.cancel(command)

    assert (await bench.executor.wait(command)).state == "cancelled"
    assert bench.docker.left() == {}


async def test_a_step_that_is_cancelled_while_its_network_is_made_leaves_none(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    ask = ContainerEngine.ask
    is_made, is_cancelled = asyncio.Event(), asyncio.Event()

    async def ask_and_be_cancelled(self: ContainerEngine, method: str, path: str, *args: Any) -> Any:
        answer = await ask(self, method, path, *args)
        if path == "/networks/create":
            is_made.set()
            await is_cancelled.wait()
        return answer

    monkeypatch.setattr(ContainerEngine, "ask", ask_and_be_cancelled)
    command = await bench.start("true", container=beside(web()))
    await is_made.wait()
    async with asyncio.TaskGroup() as group:
        group.create_task(bench.executor.cancel(command))
        await asyncio.sleep(0)  # it begins
        is_cancelled.set()

    assert bench.docker.left() == {}


async def test_a_shared_service_that_did_not_get_ready_for_one_step_is_not_taken_for_ready_by_the_next(
    bench: Bench,
) -> None:
    health = Health(command=("false",), interval_seconds=0.1, start_seconds=PATIENCE_SECONDS)
    slow = Service(name="slow", image=BOX, argv=("sleep", "1000"), health=health, shared=True)
    cancelled = await bench.start("echo ran", container=beside(web(shared=True), slow))
    await bench.wait_said(cancelled, "web is ready")
    await bench.executor.cancel(cancelled)

    hurried = replace(slow, health=replace(health, start_seconds=0.1))
    for _ in range(2):
        result, said = await bench.run("echo ran", container=beside(web(shared=True), hurried))
        assert (result.state, result.exit_code) == ("failed", 126)
        assert "was not ready within 0.1 s" in result.reason
        assert "ran" not in said.splitlines()


async def test_a_service_that_the_engine_does_not_remove_keeps_nobody_from_leaving_and_the_guard_removes_it(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    await bench.run("true", container=beside(web(shared=True)))
    ask = ContainerEngine.ask

    async def ask_or_be_refused(self: ContainerEngine, method: str, path: str, *args: Any) -> Any:
        if method == "DELETE":
            raise EngineRefused(500, "the disk is busy")
        return await ask(self, method, path, *args)

    monkeypatch.setattr(ContainerEngine, "ask", ask_or_be_refused)
    await bench.executor.release(bench.workspace)
    assert set(bench.docker.left()) == {"containers", "networks"}

    await bench.executor.close()
    assert bench.docker.left() == {}


async def test_a_shell_has_the_services_of_its_step(bench: Bench) -> None:
    shell = await bench.executor.shell(bench.workspace, ShellRequest(image=BOX, container=beside(web())))
    await shell.write(f"{ASK}; echo en''d\n".encode())

    assert b"hello" in await wait_shown(shell, b"end\r\n")
    await shell.close()
    assert bench.docker.left() == {}


@pytest.mark.needs("docker", "ip", "busybox", "root")
async def test_an_engine_that_can_make_no_network_is_told(tmp_path: Path) -> None:
    docker = Docker()
    try:
        docker.start("--default-address-pool", "base=10.99.0.0/29,size=29")
        docker.make_images()
        docker.says("network", "create", "the-only-one")
        async with open_bench(docker, tmp_path) as bench:
            result, _ = await bench.run("true", container=beside(web()))
    finally:
        docker.remove()

    assert (result.state, result.exit_code) == ("failed", 126)
    assert "services need their own network, but this container engine cannot create one: " in result.reason
