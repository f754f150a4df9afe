"""Terminals in containers, against a real daemon."""

import asyncio
import hashlib
import socket
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from pitstop.engine.container import ContainerOptions, Service
from pitstop.engine.executor import ShellRequest
from pitstop.errors import Unavailable, WorkspaceLost
from pitstop.executors.machine.containers.engine import ContainerEngine, EngineGone
from pitstop.executors.machine.containers.shell import ShellOptions
from tests.containers import BARE, BOX, TALKATIVE, Docker
from tests.executors.container_bench import Bench, open_bench, wait_shown


@pytest.fixture
async def bench(docker: Docker, tmp_path: Path) -> AsyncIterator[Bench]:
    async with open_bench(docker, tmp_path) as bench:
        yield bench


async def test_a_shell_has_the_image_user_variables_and_folder_of_its_step(bench: Bench) -> None:
    (bench.repo / "sub").mkdir()
    options = ContainerOptions(user="app")

    shell = await bench.executor.shell(
        bench.workspace, ShellRequest(image=TALKATIVE, cwd="sub", env={"COLOUR": "grün"}, container=options)
    )
    await shell.write(b"echo $COLOUR $(id -un) $(basename $PWD) $TERM en''d\n")
    seen = await wait_shown(shell, b" end\r\n")
    await shell.close()

    assert "grün app sub xterm-256color end" in seen.decode()


async def test_a_shell_joins_a_command_that_runs_in_its_container(bench: Bench) -> None:
    command = await bench.start("echo inside > /tmp/of-the-step; COLOUR=red; echo up; exec sleep 1000", env={"X": "1"})
    await bench.wait_said(command)

    shell = await bench.executor.shell(bench.workspace, ShellRequest(image=BOX, beside=command))
    await shell.write(b"cat /tmp/of-the-step; echo $X en''d\n")
    seen = await wait_shown(shell, b" end\r\n")

    assert b"inside" in seen
    assert b"1 end" in seen
    assert len(bench.docker.says("ps", "--quiet").split()) == 1
    await shell.close()
    assert bench.docker.says("ps", "--quiet") != ""  # the command goes on
    await bench.executor.cancel(command, grace=0)


async def test_a_shell_that_joined_leaves_nothing_behind(bench: Bench) -> None:
    command = await bench.start("echo up; exec sleep 1000")
    await bench.wait_said(command)
    shell = await bench.executor.shell(bench.workspace, ShellRequest(image=BOX, beside=command))
    await shell.write(b"sleep 2001 & (trap '' HUP; setsid sleep 2002 &) ; echo rea''dy\n")
    await wait_shown(shell, b"ready")

    await shell.close()

    (container,) = bench.docker.says("ps", "--quiet").split()
    assert "sleep 200" not in bench.docker.says("top", container)
    assert (await shell.wait()).state == "cancelled"
    await bench.executor.cancel(command, grace=0)


async def test_a_command_that_has_ended_is_not_joined_and_its_shell_is_as_it_was(bench: Bench) -> None:
    command = await bench.start("echo done > file")
    await bench.executor.wait(command)

    shell = await bench.executor.shell(bench.workspace, ShellRequest(image=BOX, beside=command))
    await shell.write(b"cat file; echo en''d\n")

    assert b"done" in await wait_shown(shell, b"end\r\n")
    await shell.close()


async def test_a_read_only_shell_is_beside_the_command_and_changes_nothing(bench: Bench) -> None:
    command = await bench.start("echo first > file; echo inside > /tmp/x; echo up; exec sleep 1000")
    await bench.wait_said(command)

    shell = await bench.executor.shell(bench.workspace, ShellRequest(image=BOX, beside=command, read_only=True))
    await shell.write(b"cat file; ls /tmp/x; touch new; echo en''d\n")
    seen = await wait_shown(shell, b"end\r\n")
    await shell.close()

    assert b"first" in seen
    assert b"Read-only file system" in seen
    assert b"/tmp/x: No such file" in seen
    assert not (bench.repo / "new").exists()
    await bench.executor.cancel(command, grace=0)


@pytest.mark.parametrize("joins", [False, True])
async def test_a_shell_follows_the_size_of_its_window(bench: Bench, joins: bool) -> None:
    command = await bench.start("echo up; exec sleep 1000")
    await bench.wait_said(command)
    shell = await bench.executor.shell(
        bench.workspace, ShellRequest(image=BOX, rows=33, cols=101, beside=command if joins else None)
    )
    await shell.write(b"while [ \"$(stty size)\" != '33 101' ]; do :; done; echo was''33\n")
    await wait_shown(shell, b"was33")

    shell.resize(50, 132)
    shell.resize(51, 133)
    await shell.write(b"while [ \"$(stty size)\" != '51 133' ]; do :; done; echo is''51\n")

    await wait_shown(shell, b"is51")
    await shell.close()
    await bench.executor.cancel(command, grace=0)


async def test_no_character_is_cut_in_two(bench: Bench) -> None:
    shell = await bench.executor.shell(bench.workspace, ShellRequest(image=BOX))
    await shell.write(
        b"i=0; while [ $i -lt 3000 ]; do printf '\\303\\274\\342\\202\\254'; i=$((i+1)); done; echo en''d\n"
    )

    seen = ""
    while "end\r\n" not in seen:
        seen += (await shell.read()).decode()  # raises if it begins or ends within one

    assert seen.count("ü€") == 3000
    await shell.close()


async def test_ctrl_c_ends_what_runs_and_not_the_shell(bench: Bench) -> None:
    shell = await bench.executor.shell(bench.workspace, ShellRequest(image=BOX))
    await shell.write(b"sh -c \"echo rea''dy; exec sleep 1000\"\n")  # ready when it has the terminal, not before
    await wait_shown(shell, b"ready")

    await shell.write(b"\x03")
    await shell.write(b"echo still he''re\n")

    await wait_shown(shell, b"still here")
    await shell.close()


async def test_a_large_paste_arrives_whole(bench: Bench) -> None:
    pasted = bytes(range(32, 127)) * 20_000
    script = f"stty raw -echo; echo ready; head -c {len(pasted)} | md5sum"
    shell = await bench.executor.shell(bench.workspace, ShellRequest(argv=("sh", "-c", script), image=BOX))
    await wait_shown(shell, b"ready")

    async with asyncio.TaskGroup() as group:
        group.create_task(shell.write(pasted))
        await wait_shown(shell, hashlib.md5(pasted).hexdigest().encode())

    assert (await shell.wait()).state == "completed"
    assert bench.docker.left() == {}


async def test_a_shell_that_ends_by_itself_tells_how(bench: Bench) -> None:
    command = await bench.start("echo up; exec sleep 1000")
    await bench.wait_said(command)
    for beside in (None, command):
        shell = await bench.executor.shell(bench.workspace, ShellRequest(image=BOX, beside=beside))
        await shell.write(b"exit 3\n")
        while await shell.read():
            pass

        result = await shell.wait()

        assert (result.state, result.exit_code) == ("failed", 3)
        await shell.close()
        assert (await shell.wait()) == result
    await bench.executor.cancel(command, grace=0)


async def test_the_command_of_a_step_has_the_limits_of_its_step_and_not_those_of_shells(bench: Bench) -> None:
    options = ContainerOptions(memory_bytes=64 * 1024**2)
    request = ShellRequest(argv=("sh", "-c", "read line; exit 3"), image=BOX, container=options, is_step=True)
    shell = await bench.executor.shell(bench.workspace, request)
    (container,) = bench.docker.says("ps", "--quiet").split()
    limits = "{{.HostConfig.Memory}} {{.HostConfig.NanoCpus}}"
    assert bench.docker.says("inspect", "--format", limits, container).split() == [str(64 * 1024**2), "0"]

    await shell.write(b"\n")
    while await shell.read():
        pass

    assert (await shell.wait()).exit_code == 3
    await shell.close()


async def test_a_shell_that_its_engine_is_yet_to_start_is_not_taken_for_one_that_has_ended(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    command = await bench.start("echo up; exec sleep 1000")
    await bench.wait_said(command)
    container = await bench.wait_container()
    shell = await bench.executor.shell(bench.workspace, ShellRequest(image=BOX, beside=command))
    asked_twice, find, paths = asyncio.Event(), ContainerEngine.find, list[str]()

    async def find_before_the_start(self: ContainerEngine, path: str) -> Any:
        if asked_twice.is_set():
            return await find(self, path)
        paths.append(path)
        not_started = await self.ask("POST", f"/containers/{container}/exec", body={"Cmd": ["true"]})
        found = await find(self, f"/exec/{not_started['Id']}/json")
        if len(paths) == 2:  # whether it has ended, and how
            asked_twice.set()
        return found

    monkeypatch.setattr(ContainerEngine, "find", find_before_the_start)
    async with asyncio.TaskGroup() as group:
        ended = group.create_task(shell.wait())
        await asked_twice.wait()
        await shell.write(b"exit 3\n")

    assert (ended.result().state, ended.result().exit_code) == ("failed", 3)
    await bench.executor.cancel(command, grace=0)


async def test_a_shell_that_has_ended_touches_no_other_connection_when_it_is_closed(bench: Bench) -> None:
    shell = await bench.executor.shell(bench.workspace, ShellRequest(argv=("true",), image=BOX))
    await shell.wait()
    pairs = [socket.socketpair() for _ in range(100)]  # among them has to be whatever number the shell's had
    others = [(theirs, *await asyncio.open_unix_connection(sock=ours)) for ours, theirs in pairs]

    await shell.close()

    for theirs, reader, writer in others:
        theirs.send(b"here")
        assert await reader.read(4) == b"here"
        theirs.close()
        writer.close()
        await writer.wait_closed()


async def test_what_an_engine_tells_of_a_shell_that_another_started_is_not_taken_for_its_end(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    ends_when_told = ("sh", "-c", "trap exit TERM; sleep 1000 & echo up; wait")  # the next engine waits for it to end
    shell = await bench.executor.shell(bench.workspace, ShellRequest(image=BOX, argv=ends_when_told))
    await wait_shown(shell, b"up")
    ask = ContainerEngine.ask

    async def ask_and_start_again(self: ContainerEngine, method: str, path: str, *args: Any, **more: Any) -> Any:
        try:
            return await ask(self, method, path, *args, **more)
        except EngineGone:
            if path.endswith("/wait"):
                bench.docker.start()
            raise

    monkeypatch.setattr(ContainerEngine, "ask", ask_and_start_again)
    bench.docker.kill()
    result = await shell.wait()

    assert result.state == "lost"
    assert "engine" in result.reason
    await shell.close()


async def test_a_command_that_ends_when_a_shell_is_about_to_join_it_is_not_joined(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    command = await bench.start("echo up; exec sleep 1000")
    await bench.wait_said(command)
    ask = ContainerEngine.ask

    async def end_it_and_ask(self: ContainerEngine, method: str, path: str, *args: Any, **more: Any) -> Any:
        if path.endswith("/exec"):
            bench.docker.says("kill", await bench.wait_container())
        return await ask(self, method, path, *args, **more)

    monkeypatch.setattr(ContainerEngine, "ask", end_it_and_ask)
    shell = await bench.executor.shell(bench.workspace, ShellRequest(image=BOX, beside=command))
    await shell.write(b"echo he''re\n")

    await wait_shown(shell, b"here")
    await shell.close()


@pytest.mark.parametrize("released_at", ["/images/", "/networks/create", "/containers/create"])
async def test_a_shell_of_a_workspace_that_is_released_while_it_opens_is_not_left_open(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, released_at: str
) -> None:
    ask = ContainerEngine.ask

    async def release_and_ask(self: ContainerEngine, method: str, path: str, *args: Any, **more: Any) -> Any:
        if path.startswith(released_at):
            await bench.executor.release(bench.workspace, keep=True)
        return await ask(self, method, path, *args, **more)

    monkeypatch.setattr(ContainerEngine, "ask", release_and_ask)
    shared = ContainerOptions(services=(Service(name="db", image=BOX, argv=("sleep", "1000"), shared=True),))
    with pytest.raises(WorkspaceLost):
        await bench.executor.shell(bench.workspace, ShellRequest(image=BOX, container=shared))

    assert bench.docker.left() == {}


async def test_many_shells_are_open_at_once(bench: Bench) -> None:
    command = await bench.start("echo up; exec sleep 1000")
    await bench.wait_said(command)
    shells = await asyncio.gather(
        *(bench.executor.shell(bench.workspace, ShellRequest(image=BOX, beside=command)) for _ in range(5))
    )

    for number, shell in enumerate(shells):
        await shell.write(b"echo I a''m %d.\n" % number)
    for number, shell in enumerate(shells):
        await wait_shown(shell, b"I am %d." % number)

    await bench.executor.release(bench.workspace)
    assert bench.docker.left() == {}


async def test_an_image_without_a_shell_has_none(bench: Bench) -> None:
    shell = await bench.executor.shell(bench.workspace, ShellRequest(image=BARE))
    seen = b""
    while said := await shell.read():
        seen += said

    assert b"exec sh failed: No such file or directory" in seen
    assert (await shell.wait()).exit_code == 127
    await shell.close()


async def test_a_sidecar_of_an_image_without_a_shell_is_on_the_machine(bench: Bench) -> None:
    (bench.repo / "file").write_text("kept\n")

    shell = await bench.executor.shell(bench.workspace, ShellRequest(image=BARE, read_only=True))
    seen = await wait_shown(shell, b"read-only\r\n")
    await shell.write(b"cat file; touch new || echo re''fused; uname -n; exit\n")
    seen += await wait_shown(shell, b"refused")
    await shell.close()

    assert f"[pitstop] image {BARE} has no shell; this is the machine, with the workspace read-only".encode() in seen
    assert b"kept" in seen
    assert not (bench.repo / "new").exists()


async def test_a_sidecar_of_an_image_without_a_shell_is_in_the_sidecar_image(docker: Docker, tmp_path: Path) -> None:
    async with open_bench(docker, tmp_path, shells=ShellOptions(sidecar_image=BOX)) as bench:
        shell = await bench.executor.shell(
            bench.workspace, ShellRequest(image=BARE, read_only=True, container=ContainerOptions(user="nobody-knows"))
        )
        seen = await wait_shown(shell, b"read-only\r\n")
        await shell.write(b"cat /etc/passwd; touch new || echo re''fused\n")
        seen += await wait_shown(shell, b"refused")
        await shell.close()

    assert f"[pitstop] image {BARE} has no shell; this is image {BOX}, read-only".encode() in seen
    assert b"app:x:1234" in seen


@pytest.mark.parametrize("read_only", [False, True])
async def test_a_shell_has_limits_of_its_own_where_its_step_has_none(bench: Bench, read_only: bool) -> None:
    template = "{{.HostConfig.NanoCpus}} {{.HostConfig.Memory}} {{.HostConfig.PidsLimit}}"
    request = ShellRequest(image=BOX, read_only=read_only)
    shell = await bench.executor.shell(bench.workspace, request)
    assert bench.inspect(template) == f"1000000000 {2 * 1024**3} 512"
    await shell.close()

    options = ContainerOptions(memory_bytes=64 * 1024**2)
    shell = await bench.executor.shell(bench.workspace, replace(request, container=options))
    assert bench.inspect(template) == f"1000000000 {64 * 1024**2} 512"
    await shell.close()


async def test_what_keeps_a_shell_from_opening_is_told(bench: Bench) -> None:
    with pytest.raises(Unavailable, match="absent is not on this machine"):
        await bench.executor.shell(
            bench.workspace, ShellRequest(image="absent", container=ContainerOptions(pull="never"))
        )
    with pytest.raises(Unavailable, match="nobody-knows"):
        await bench.executor.shell(
            bench.workspace, ShellRequest(image=BOX, container=ContainerOptions(user="nobody-knows"))
        )
    with pytest.raises(Unavailable, match="outside the workspace"):
        await bench.executor.shell(bench.workspace, ShellRequest(image=BOX, cwd=".."))
    assert bench.docker.left() == {}
