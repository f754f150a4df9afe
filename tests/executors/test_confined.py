"""What commands are kept from on this machine: protected files, the network, too many processes."""

import asyncio
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from pitstop.engine.executor import Command, CommandResult, Placement
from pitstop.executors.machine.processes.confined import CONFINE, Confinement
from pitstop.executors.machine.processes.executor import ProcessExecutor
from tests.executors.processes import descendants_of

NOBODY = 65534
AS_NOBODY = ("setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", "--")
is_root = os.geteuid() == 0


class Bench:
    """An executor with a workspace in which there is `tests/a`."""

    def __init__(self, executor: ProcessExecutor, placement: Placement) -> None:
        self.executor = executor
        self.placement = placement
        self._count = 0

    async def open(self) -> None:
        self.workspace = await self.executor.acquire(self.placement)
        self.repo = Path(self.workspace.repo)
        (self.repo / "tests").mkdir()
        (self.repo / "tests/a").write_text("first")

    async def run(self, script: str, **fields: Any) -> tuple[CommandResult, str]:
        self._count += 1
        command = Command(key=str(self._count), script=script, **fields)
        started = await self.executor.start(self.workspace, command)
        said = b"".join([chunk.data async for chunk in self.executor.logs(started)])
        result = await self.executor.wait(started)
        if "needs root or user namespaces" in result.reason:
            pytest.skip(result.reason)
        return result, said.decode()


@pytest.fixture
async def bench(tmp_path: Path) -> AsyncIterator[Bench]:
    others = descendants_of(os.getpid())
    bench = Bench(ProcessExecutor(tmp_path / "workspaces"), Placement())
    await bench.open()
    yield bench
    await bench.executor.close()
    assert descendants_of(os.getpid(), besides=others) == {}


async def test_a_confined_command_is_given_what_any_other_is(bench: Bench) -> None:
    script = "cat; env | grep -v PITSTOP_EXECUTION_KEY | sort; grep Sig /proc/self/status; echo /proc/self/fd/*; pwd"

    _, free = await bench.run(script, stdin=b"input\n", inherits=False, cwd="tests")
    _, confined = await bench.run(script, stdin=b"input\n", inherits=False, cwd="tests", read_only=(".",))

    assert free == confined


async def test_the_words_of_a_confined_command_that_cannot_be_run_are_told(bench: Bench) -> None:
    result, _ = await bench.run("", shell=("no-such-shell",), read_only=("tests",))
    assert (result.exit_code, result.reason) == (127, "command not found: no-such-shell")

    result, said = await bench.run("", shell=("./tests/a",), read_only=("tests",))
    assert (result.exit_code, said) == (126, "pitstop: cannot run ./tests/a: Permission denied\n")


async def test_protected_files_are_not_reached_by_way_of_other_processes(bench: Bench) -> None:
    outside = f"/proc/{os.getpid()}"
    script = f"""
        exec 2>&1
        echo spoiled > {outside}/root{bench.repo}/tests/a && echo spoiled
        nsenter --mount={outside}/ns/mnt sh -c 'echo spoiled > tests/a' && echo spoiled
        unshare --user --map-root-user --mount sh -c 'umount tests; echo spoiled > tests/a' && echo spoiled
        unshare --user --map-root-user --mount sh -c 'mount -o remount,bind,rw tests && echo spoiled > tests/a'
    """
    _, said = await bench.run(script, shell=("sh",), read_only=("tests",))

    assert "\nspoiled" not in f"\n{said}"
    assert (bench.repo / "tests/a").read_text() == "first"


async def test_a_link_is_not_protected_and_the_command_is_refused(bench: Bench) -> None:
    (bench.repo / "link").symlink_to("tests")

    for path in ("link", "link/a"):
        result, _ = await bench.run("touch made", read_only=(path,))
        assert result.reason.startswith(f"cannot protect {path}: it is behind a symbolic link")

    assert not (bench.repo / "made").exists()


async def test_in_place_a_protected_folder_around_the_workspace_leaves_its_home_writable(tmp_path: Path) -> None:
    folder = tmp_path / "project"
    (folder / ".pitstop").mkdir(parents=True)
    (folder / ".pitstop/flow.yaml").write_text("first")
    bench = Bench(ProcessExecutor(folder / ".pitstop/workspaces"), Placement(folder=str(folder)))
    await bench.open()

    script = f"""
        exec 2>&1
        echo spoiled > .pitstop/flow.yaml
        mv {folder} {folder}-old
        mv {tmp_path} {tmp_path}-old
        touch made "$HOME/made" && echo home
    """
    _, said = await bench.run(script, shell=("sh",), read_only=(".pitstop",))
    await bench.executor.close()

    assert "home" in said.splitlines()
    assert (folder / ".pitstop/flow.yaml").read_text() == "first"
    assert (folder / "made").exists()


async def test_a_command_without_network_reaches_only_the_sockets_that_ports_lead_to(bench: Bench) -> None:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"you said " + await reader.read())
        await writer.drain()
        writer.close()

    client = """
import socket, sys
for port in (8080, int(sys.argv[1])):
    try:
        connection = socket.create_connection(("127.0.0.1", port), timeout=60)
    except OSError as error:
        print(error.strerror)
        sys.exit(1)
    connection.sendall(b"hello " * 100_000)
    connection.shutdown(socket.SHUT_WR)
    received = b"".join(iter(lambda: connection.recv(65536), b""))
    print(len(received), received[:14].decode(), flush=True)
"""
    tcp = await asyncio.start_server(answer, "127.0.0.1", 0)
    tcp_port = tcp.sockets[0].getsockname()[1]
    control = os.open(bench.workspace.control, os.O_RDONLY)  # the path of a socket must be short
    unix = await asyncio.start_unix_server(answer, f"/proc/self/fd/{control}/relay.sock")
    async with tcp, unix:
        result, said = await bench.run(
            f"exec '{sys.executable}' - {tcp_port}",
            stdin=client.encode(),
            network="none",
            forwards={8080: "relay.sock"},
        )
    os.close(control)

    assert (result.exit_code, said.splitlines()) == (1, ["600009 you said hello", "Connection refused"])


@pytest.mark.skipif(not is_root, reason="needs root to become another user")
async def test_linux_does_not_limit_the_processes_of_root_so_a_limit_is_refused(bench: Bench) -> None:
    result, _ = await bench.run("true", pids=10)

    assert result.exit_code == 126
    assert "cannot limit the command to 10 processes" in result.reason


def test_one_who_is_not_root_is_confined_in_a_user_namespace_or_is_told() -> None:
    with tempfile.TemporaryDirectory(prefix="pitstop-nobody-") as name:
        folder = Path(name)
        program = shutil.copy(CONFINE, folder / "confine.py")  # where another user can read it
        if is_root:
            os.chown(folder, NOBODY, NOBODY)
        confinement = Confinement(
            read_only=(os.fsencode(folder),), has_network=False, most_processes=10, pinned=(b"/tmp",)
        )
        request = os.fsdecode(confinement.argv(os.fsencode(folder))[-1])
        script = """
            touch x; mount -o remount,bind,rw .; touch x; id -u; cut -d: -f1 /proc/net/dev
            for each in 1 2 3 4 5 6 7 8 9 10 11 12; do sleep 0.1 & done
        """
        words = ("/usr/bin/python3", "-I", "-S", str(program), request, "/bin/sh", "sh", "-c", script)
        done = subprocess.run([*AS_NOBODY * is_root, *words], capture_output=True, text=True, check=False)

        assert [path.name for path in folder.iterdir()] == ["confine.py"]
    if not done.stderr.startswith("pitstop: "):
        assert done.stderr.count("Read-only file system") == 2
        assert "fork" in done.stderr
        assert done.stdout.split()[-1] == "lo"


WITHOUT_RIGHTS = """
import asyncio, sys
from pathlib import Path
from pitstop.engine.executor import Command, Placement, ShellRequest
from pitstop.errors import NoRunner
from pitstop.executors.machine.processes.executor import ProcessExecutor

async def main():
    executor = ProcessExecutor(Path(sys.argv[1]))
    workspace = await executor.acquire(Placement())
    for key, fields in (("1", {"read_only": (".",)}), ("2", {"network": "none"}), ("3", {"network": "none"})):
        started = await executor.start(workspace, Command(key=key, script="touch made", **fields))
        print((await executor.wait(started)).reason)
    try:
        await executor.shell(workspace, ShellRequest(read_only=True))
    except NoRunner as error:
        print(error)
    print(Path(workspace.repo, "made").exists())
    await executor.close()

asyncio.run(main())
"""


@pytest.mark.skipif(not is_root, reason="needs rights to lose")
def test_where_commands_cannot_be_confined_they_are_refused_and_told_what_is_missing(tmp_path: Path) -> None:
    without_rights = ("setpriv", "--bounding-set=-sys_admin", "--inh-caps=-sys_admin", "--")
    words = (*without_rights, sys.executable, "-c", WITHOUT_RIGHTS, str(tmp_path))
    done = subprocess.run(words, capture_output=True, text=True, check=False)

    why = "needs root or user namespaces, and that failed: cannot make namespaces: Operation not permitted"
    *commands, shell, was_run = done.stdout.splitlines()
    network = f"a command without network {why}"
    assert commands == [f"a read-only view of files {why}", network, network], done.stderr
    assert "a read-only view of a workspace" in shell
    assert was_run == "False"
