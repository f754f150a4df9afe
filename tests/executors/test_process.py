import asyncio
import os
import signal
import subprocess
import sys
import textwrap
import uuid
from collections.abc import AsyncIterator, Awaitable, Iterator
from pathlib import Path
from typing import Any

import pytest

from pitstop.engine.executor import Command, CommandRef, CommandResult, Placement, Shell, ShellRequest, WorkspaceRef
from pitstop.errors import PitstopError, WorkspaceLost
from pitstop.executors.machine.processes import terminal
from pitstop.executors.machine.processes.executor import ProcessExecutor
from pitstop.executors.machine.snapshots.store import SnapshotStore
from pitstop.steps.commands import why_it_ended
from tests.executors.processes import descendants_of, parent_of, processes_with, wait_ended
from tests.patience import PATIENCE_SECONDS, wait_until


class Bench:
    """An executor with a workspace, and a name that marks every process of this test."""

    def __init__(self, executor: ProcessExecutor, workspace: WorkspaceRef) -> None:
        self.executor = executor
        self.workspace = workspace
        self.mark = str(uuid.uuid4().int)
        self._count = 0

    async def start(self, script: str = "", **fields: Any) -> CommandRef:
        self._count += 1
        command = Command(key=f"{self.mark}:{self._count}", script=None if fields.get("argv") else script, **fields)
        return await self.executor.start(self.workspace, command)

    async def run(self, script: str = "", **fields: Any) -> tuple[CommandResult, str]:
        command = await self.start(script, **fields)
        said = b"".join([chunk.data async for chunk in self.executor.logs(command)])
        return await self.executor.wait(command), said.decode()

    async def wait_said(self, command: CommandRef, text: str) -> str:
        log = ""
        async for chunk in self.executor.logs(command):
            log += chunk.data.decode()
            if text in log:
                return log
        raise AssertionError(f"it ended and had said {log!r}")


@pytest.fixture
async def bench(tmp_path: Path) -> AsyncIterator[Bench]:
    others = descendants_of(os.getpid())
    executor = ProcessExecutor(tmp_path / "workspaces")
    bench = Bench(executor, await executor.acquire(Placement()))
    yield bench
    await executor.close()
    assert processes_with(bench.mark) == {}
    assert descendants_of(os.getpid(), besides=others) == {}


# --- Nothing is left

WAYS_TO_GET_AWAY = {
    "in the background": "sleep 1000 &",
    "as an orphan": "(sleep 1000 &)",
    "in a session of its own": "setsid sleep 1000 >/dev/null 2>&1 < /dev/null &",
    "without its environment": "env -i setsid sleep 1000.{mark} >/dev/null 2>&1 &",
    "forked twice": "((env -i setsid sh -c 'sleep 1000; echo {mark}' >/dev/null 2>&1 &) &)",
    "deaf to TERM": "(trap '' TERM HUP; setsid sleep 1000 >/dev/null 2>&1 &)",
}


@pytest.mark.parametrize("way", WAYS_TO_GET_AWAY.values(), ids=WAYS_TO_GET_AWAY)
async def test_what_a_command_leaves_behind_is_ended_before_its_result_is_told(bench: Bench, way: str) -> None:
    result, said = await bench.run(way.format(mark=bench.mark) + "\necho done")

    assert (result.state, said) == ("completed", "done\n")
    assert processes_with(bench.mark) == {}


@pytest.mark.parametrize("way", WAYS_TO_GET_AWAY.values(), ids=WAYS_TO_GET_AWAY)
async def test_cancelling_ends_what_tried_to_get_away(bench: Bench, way: str) -> None:
    command = await bench.start(way.format(mark=bench.mark) + "\necho up; exec sleep 1000")
    await bench.wait_said(command, "up")

    await bench.executor.cancel(command, grace=0.1)

    assert processes_with(bench.mark) == {}


async def test_a_child_that_holds_the_pipes_does_not_hold_up_the_result_but_may_finish_its_sentence(
    bench: Bench,
) -> None:
    heard: list[str] = []
    while len(heard) < 50 and "early\nlate\n" not in heard:  # on a busy machine it may come too late
        result, said = await bench.run("(sleep 0.02; echo late; exec sleep 1000) & echo early")
        assert result.state == "completed"
        heard.append(said)

    assert heard[-1] == "early\nlate\n"


async def test_a_command_that_closes_its_outputs_goes_on(bench: Bench) -> None:
    result, said = await bench.run("echo before; exec >&- 2>&-; sleep 0.05; exit 5")

    assert (result.exit_code, said) == (5, "before\n")


async def test_a_stopped_command_can_be_cancelled(bench: Bench) -> None:
    command = await bench.start("trap 'exit 7' TERM; echo $$; kill -STOP $$; sleep 1000")
    pid = int(await bench.wait_said(command, "\n"))
    await wait_until(lambda: descendants_of(os.getpid())[pid] == "T")

    await bench.executor.cancel(command, grace=60)

    assert (await bench.executor.wait(command)).exit_code == 7


async def test_orphans_that_end_while_their_command_runs_leave_no_zombie(bench: Bench) -> None:
    command = await bench.start("for i in 1 2 3 4 5; do (setsid true &); done; sleep 0.1; echo up; exec sleep 1000")
    await bench.wait_said(command, "up")

    await wait_until(lambda: "Z" not in descendants_of(os.getpid()).values())


async def test_commands_at_the_same_time_do_not_end_each_other(bench: Bench) -> None:
    script = "(env -i setsid sleep 1000.{mark} &) ; echo up; read line; echo $line"
    results = await asyncio.gather(*(bench.run(script.format(mark=bench.mark), stdin=b"bye\n") for _ in range(20)))

    assert {(result.state, said) for result, said in results} == {("completed", "up\nbye\n")}


async def test_a_killed_supervisor_is_a_lost_command_and_the_next_one_runs(bench: Bench) -> None:
    command = await bench.start("(setsid sleep 1000 &) ; echo $$; exec sleep 1000")
    pid = int(await bench.wait_said(command, "\n"))

    os.kill(parent_of(pid), signal.SIGKILL)

    assert (await bench.executor.wait(command)).state == "lost"
    assert (await bench.run("echo next"))[1] == "next\n"


async def test_a_killed_keeper_is_replaced(bench: Bench) -> None:
    command = await bench.start("echo $$; exec sleep 1000")
    supervisor = parent_of(int(await bench.wait_said(command, "\n")))
    keeper = os.pidfd_open(parent_of(supervisor))
    signal.pidfd_send_signal(keeper, signal.SIGKILL)
    wait_ended(keeper)

    results = await asyncio.gather(*(bench.run("echo next") for _ in range(3)))

    assert [said for _, said in results] == ["next\n"] * 3


def test_when_pitstop_is_killed_everything_it_started_ends(tmp_path: Path) -> None:
    mark = str(uuid.uuid4().int)
    program = textwrap.dedent(f"""
        import asyncio, sys
        from pathlib import Path
        from pitstop.engine.executor import Command, Placement, ShellRequest
        from pitstop.executors.machine.processes.executor import ProcessExecutor

        async def main():
            executor = ProcessExecutor(Path({str(tmp_path)!r}))
            workspace = await executor.acquire(Placement())
            script = "trap '' TERM HUP INT; (env -i setsid sleep 1000.{mark} &) ; echo up; sleep 1000; sleep 1000"
            for number in range(3):
                command = await executor.start(workspace, Command(key="{mark}" + str(number), script=script))
                await anext(executor.logs(command))
            await executor.shell(workspace, ShellRequest(argv=("sh", "-c", "sleep 1000.{mark}")))
            print("up", flush=True)
            await asyncio.Event().wait()

        asyncio.run(main())
    """)
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE) as pitstop:
        assert pitstop.stdout is not None
        assert pitstop.stdout.readline() == b"up\n"
        keepers = [os.pidfd_open(pid) for pid in descendants_of(pitstop.pid) if parent_of(pid) == pitstop.pid]
        pitstop.kill()
    for keeper in keepers:
        wait_ended(keeper)

    assert processes_with(mark) == {}


# --- What cannot be run


async def test_what_cannot_be_run_says_why(bench: Bench, tmp_path: Path) -> None:
    no_interpreter = tmp_path / "no-interpreter"
    no_interpreter.write_text("#!/no/such/interpreter\n")
    no_interpreter.chmod(0o755)
    no_format = tmp_path / "no-format"
    no_format.write_bytes(b"\0\1\2\3")
    no_format.chmod(0o755)
    folder = tmp_path / "folder"
    folder.mkdir()
    plain = tmp_path / "plain"
    plain.write_text("echo\n")
    expected = {
        ("no-such-command",): (127, "command not found: no-such-command"),
        ("./missing",): (127, "command not found: ./missing"),
        (str(no_interpreter),): (127, "interpreter"),
        (str(no_format),): (126, "Exec format error"),
        (str(folder),): (126, "Permission denied"),
        (str(plain),): (126, "Permission denied"),
        ("echo", "nul \0 byte"): (126, "null byte"),
        ("echo", "x" * 200_000): (126, "Argument list too long"),
    }

    for argv, (exit_code, reason) in expected.items():
        result, said = await bench.run(argv=argv)
        assert (result.state, result.exit_code) == ("failed", exit_code)
        assert reason in result.reason
        assert reason in said


async def test_a_folder_that_is_not_there_is_named(bench: Bench) -> None:
    result, said = await bench.run("true", cwd="no/such/folder")

    assert result.state == "failed"
    assert "no/such/folder: No such file or directory" in result.reason
    assert result.reason in said


async def test_a_link_that_leads_out_of_the_repo_is_no_folder_to_work_in(bench: Bench) -> None:
    await bench.run("ln -s /etc way-out")

    result, _ = await bench.run("cat passwd", cwd="way-out")

    assert "outside the workspace" in result.reason


async def test_a_program_is_looked_for_on_the_path_of_the_command(bench: Bench, tmp_path: Path) -> None:
    for name, mode in (("first", 0o644), ("second", 0o755)):
        program = tmp_path / name / "greet"
        program.parent.mkdir()
        program.write_text(f"#!/bin/sh\necho {name}\n")
        program.chmod(mode)

    path = f"{tmp_path}/first:{tmp_path}/second:/usr/bin:/bin"
    assert (await bench.run(argv=("greet",), env={"PATH": path}))[1] == "second\n"
    assert (await bench.run(argv=("greet",), env={"PATH": f"{tmp_path}/first"}))[0].exit_code == 126


@pytest.mark.parametrize(("lease", "inherited"), [(None, "kept"), (30.0, "")])
async def test_a_command_does_not_inherit_the_credentials_of_pitstop(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lease: float | None, inherited: str
) -> None:
    for name in ("PITSTOP_DB", "PITSTOP_TOKEN", "PGPASSWORD"):
        monkeypatch.setenv(name, "kept")
    executor = ProcessExecutor(tmp_path / "workspaces", lease_seconds=lease)
    bench = Bench(executor, await executor.acquire(Placement()))
    show = "echo $PITSTOP_DB,$PITSTOP_TOKEN,$PGPASSWORD,"

    said = (await bench.run(show))[1]
    shell = await executor.shell(bench.workspace, ShellRequest(argv=("sh", "-c", show)))
    shown = await shell.read()
    await executor.close()

    assert said == f",,{inherited},\n"
    assert shown == f",,{inherited},\r\n".encode()


async def test_a_script_may_be_longer_than_an_argument(bench: Bench) -> None:
    assert (await bench.run("echo begin\n" + "# padding\n" * 50_000 + "echo end"))[1] == "begin\nend\n"


# --- What a command gets


async def test_a_command_knows_its_folders_and_its_key(bench: Bench) -> None:
    _, said = await bench.run('pwd; echo "$HOME"; echo "$PITSTOP_ARTIFACTS"; echo "$PITSTOP_EXECUTION_KEY"')

    workspace = bench.workspace
    assert said.split() == [workspace.repo, workspace.home, workspace.artifacts, f"{bench.mark}:1"]


async def test_a_command_is_the_leader_of_a_session_with_nothing_open_but_its_streams(bench: Bench) -> None:
    _, said = await bench.run("cut -d' ' -f6 /proc/$$/stat; echo $$; exec ls /proc/self/fd")

    session, pid, *descriptors = said.split()
    assert session == pid
    assert descriptors == ["0", "1", "2", "3"]  # the last is the folder that ls reads


async def test_a_broken_pipe_ends_a_command_as_it_would_in_a_shell(bench: Bench) -> None:
    result, said = await bench.run("yes | head -n 1")

    assert (result.state, said) == ("completed", "y\n")


async def test_large_input_is_read_at_the_pace_of_the_command(bench: Bench) -> None:
    assert (await bench.run("sleep 0.01; wc -c", stdin=b"x" * 5_000_000))[1].strip() == "5000000"


# --- Logs


async def test_a_flood_is_kept_whole_while_nobody_reads(bench: Bench) -> None:
    command = await bench.start("head -c 30000000 /dev/zero; head -c 30000000 /dev/zero >&2")
    assert (await bench.executor.wait(command)).state == "completed"

    sizes = {"stdout": 0, "stderr": 0}
    async for chunk in bench.executor.logs(command):
        sizes[chunk.stream] += len(chunk.data)

    assert sizes == {"stdout": 30_000_000, "stderr": 30_000_000}


async def test_a_command_that_talks_all_the_time_is_read_in_few_chunks(bench: Bench) -> None:
    command = await bench.start("i=0; while [ $i -lt 5000 ]; do echo $i; i=$((i + 1)); done")
    await bench.executor.wait(command)

    chunks = [chunk async for chunk in bench.executor.logs(command)]

    assert b"".join(chunk.data for chunk in chunks).split() == [str(number).encode() for number in range(5000)]
    assert len(chunks) < 500


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    folder = tmp_path / "small"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", str(folder)]
    if subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("a small disk cannot be mounted here")
    yield folder
    left = [*folder.iterdir()]
    subprocess.run(["umount", str(folder)], check=True)
    assert left == []


async def test_a_full_disk_ends_the_command_and_the_result_says_so(small_disk: Path) -> None:
    executor = ProcessExecutor(small_disk)
    bench = Bench(executor, await executor.acquire(Placement()))

    result, said = await bench.run("(setsid sleep 1000 &) ; trap '' TERM; while true; do echo still here; done")

    assert result.state == "failed"
    assert why_it_ended(result).startswith(f"could not write its output to {small_disk}/")
    assert why_it_ended(result).endswith(": No space left on device")
    assert said.startswith("still here\n")
    assert processes_with(bench.mark) == {}
    await executor.close()


# --- Shells


async def read_until(shell: Shell, text: bytes) -> bytes:
    seen = b""
    while text not in seen:
        said = await shell.read()
        assert said, f"the shell ended and had said {seen!r}"
        said.decode()  # no character is cut
        seen += said
    return seen


async def test_a_shell_is_on_a_terminal_of_the_size_that_was_asked_for(bench: Bench) -> None:
    shell = await bench.executor.shell(
        bench.workspace, ShellRequest(argv=("sh",), rows=30, cols=100, env={"PS1": "> "})
    )

    await shell.write(b"test -t 0 && stty size\n")
    await read_until(shell, b"30 100")
    shell.resize(50, 132)
    await shell.write(b"stty size; pwd\n")
    seen = await read_until(shell, bench.workspace.repo.encode())

    assert b"50 132" in seen


async def test_ctrl_c_in_a_shell_reaches_the_command_in_front(bench: Bench) -> None:
    shell = await bench.executor.shell(bench.workspace, ShellRequest(argv=("sh",), env={"PS1": "> "}))
    await shell.write(b"sh -c 'echo u\"\"p; exec sleep 1000'\n")
    await read_until(shell, b"up")

    await shell.write(b"\x03")

    await read_until(shell, b"> ")


async def test_a_shell_never_cuts_a_character(bench: Bench) -> None:
    shell = await bench.executor.shell(
        bench.workspace, ShellRequest(argv=("sh", "-c", "for i in $(seq 3000); do printf 'aé€😀'; done; echo .end"))
    )

    assert (await read_until(shell, b".end")).count("aé€😀".encode()) == 3000
    assert (await shell.wait()).state == "completed"


async def test_closing_a_shell_ends_all_that_was_started_in_it(bench: Bench) -> None:
    shell = await bench.executor.shell(bench.workspace, ShellRequest(argv=("sh",)))
    await shell.write(
        f"(trap '' HUP TERM; env -i setsid sleep 1000.{bench.mark} &)\nsleep 1000.{bench.mark} &\n".encode()
    )
    await shell.write(b"echo u''p\n")
    await read_until(shell, b"up")

    await shell.close()

    assert processes_with(bench.mark) == {}


async def test_what_a_closed_shell_runs_to_clean_up_is_not_ended_with_it(
    bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cleaned = tmp_path / "cleaned"
    monkeypatch.setattr(terminal, "CLOSE_GRACE_SECONDS", PATIENCE_SECONDS)
    clean_up = f"(echo up; until [ -e ended ]; do sleep 0.01; done; touch {cleaned}) &"
    script = f"trap '' HUP; trap 'touch ended' TERM; {clean_up} wait; wait"
    shell = await bench.executor.shell(bench.workspace, ShellRequest(argv=("sh", "-c", script)))
    await read_until(shell, b"up")

    await shell.close()

    assert cleaned.exists()


async def test_a_shell_that_cannot_be_started_says_why_on_its_terminal(bench: Bench) -> None:
    shell = await bench.executor.shell(bench.workspace, ShellRequest(argv=("no-such-shell",)))

    await read_until(shell, b"command not found: no-such-shell")

    assert (await shell.wait()).exit_code == 127


async def test_to_a_read_only_shell_the_whole_workspace_is_read_only_and_stays_so(bench: Bench) -> None:
    folders = bench.workspace.home, bench.workspace.artifacts, bench.workspace.repo
    shell = await bench.executor.shell(bench.workspace, ShellRequest(argv=("sh",), read_only=True, env={"PS1": "> "}))

    for folder in folders:
        await shell.write(f"touch {folder}/x || echo ref''used {folder}\n".encode())
        await read_until(shell, f"refused {folder}".encode())
    await shell.write(b"mount -o remount,bind,rw . || echo st''ays\n")
    await read_until(shell, b"stays")
    await shell.write(b"touch /tmp/$$ && rm /tmp/$$ && echo else''where it may\n")
    await read_until(shell, b"elsewhere it may")


async def test_a_workspace_that_is_released_while_a_read_only_view_is_tried_tells_nothing_of_the_machine(
    bench: Bench,
) -> None:
    other = await bench.executor.acquire(Placement())
    async with asyncio.TaskGroup() as group:
        opening = group.create_task(
            failure_of(bench.executor.shell(other, ShellRequest(argv=("true",), read_only=True)))
        )
        await asyncio.sleep(0)  # it begins
        await bench.executor.release(other)

    assert isinstance(opening.result(), WorkspaceLost)
    shell = await bench.executor.shell(bench.workspace, ShellRequest(argv=("true",), read_only=True))
    assert (await shell.wait()).state == "completed"


async def failure_of(waiting: Awaitable[object]) -> Exception | None:
    try:
        await waiting
    except PitstopError as error:
        return error
    return None


# --- Workspaces in place


async def test_in_place_the_users_own_folder_is_the_repo_and_stays(tmp_path: Path) -> None:
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "mine").write_text("precious")
    snapshots_folder = tmp_path / "snapshots"
    executor = ProcessExecutor(
        folder / ".pitstop" / "workspaces", new_snapshots=lambda: SnapshotStore(snapshots_folder)
    )
    workspace = await executor.acquire(Placement(folder=str(folder)))
    bench = Bench(executor, workspace)

    _, said = await bench.run('cat mine; touch made "$HOME/cache"')
    snapshots = executor.snapshots(workspace)
    snapshot = await snapshots.take(parts=["repo"])
    await bench.run("rm mine; touch more")
    await snapshots.restore(snapshot, parts=["repo"])
    snapshots.close()
    _, said_after = await bench.run("cat mine")
    await executor.close()

    assert said == said_after == "precious"
    assert sorted(path.name for path in folder.iterdir()) == [".pitstop", "made", "mine"]
    assert [*(folder / ".pitstop" / "workspaces").iterdir()] == []


# --- Files


async def test_a_command_may_replace_a_folder_of_the_workspace_by_a_link(bench: Bench) -> None:
    await bench.run('mkdir dist; rmdir "$PITSTOP_ARTIFACTS"; ln -s "$PWD/dist" "$PITSTOP_ARTIFACTS"; echo hi > dist/x')

    files = bench.executor.files(bench.workspace)

    assert [(file.path, data) async for file, data in files.stream("artifacts")] == [("x", b"hi\n")]
    assert await files.read("artifacts", "x") == b"hi\n"
