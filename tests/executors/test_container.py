"""What a command in a container can rely on, against a real daemon."""

import asyncio
import os
import subprocess
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from signal import SIGKILL
from typing import Any

import pytest

from pitstop.engine.container import ContainerOptions, Service
from pitstop.engine.executor import Placement
from pitstop.errors import Unavailable
from pitstop.executors.machine.containers import command as container_command
from pitstop.executors.machine.containers import recorder
from pitstop.executors.machine.containers.engine import ContainerEngine, EngineRefused
from pitstop.steps.commands import why_it_ended
from tests.containers import BARE, BOX, OTHER_ARCH, TALKATIVE, Docker
from tests.executors.container_bench import Bench, new_executor, open_bench
from tests.executors.processes import processes_with

USER = 1234  # `app` in the images


@pytest.fixture
async def bench(docker: Docker, tmp_path: Path) -> AsyncIterator[Bench]:
    async with open_bench(docker, tmp_path) as bench:
        yield bench


# --- Files and variables


async def test_processes_and_containers_work_on_the_same_files_at_the_same_paths(bench: Bench) -> None:
    await bench.run("echo from a process > file; pwd > where; echo kept > $HOME/cache", image=None)

    result, said = await bench.run('cat file "$HOME/cache"; cmp where - <<END\n$(pwd)\nEND\necho made > made')

    assert (result.state, said) == ("completed", "from a process\nkept\n")
    assert (await bench.run("cat made", image=None))[1] == "made\n"


async def test_the_home_is_kept_from_one_container_to_the_next(bench: Bench) -> None:
    await bench.run("echo cached > ~/.cache")

    assert (await bench.run("cat ~/.cache", image=TALKATIVE))[1] == "cached\n"


async def test_in_place_the_container_has_the_folder_of_the_user(docker: Docker, tmp_path: Path) -> None:
    (tmp_path / "mine, with a comma").mkdir()
    async with open_bench(docker, tmp_path / "workspaces", folder=str(tmp_path / "mine, with a comma")) as bench:
        await bench.run("mkdir sub; echo hello > sub/file")
        _, said = await bench.run("pwd; cat file", cwd="sub")

    assert said == f"{tmp_path}/mine, with a comma/sub\nhello\n"
    assert (tmp_path / "mine, with a comma/sub/file").read_text() == "hello\n"


async def test_files_belong_to_the_owner_of_the_workspace(bench: Bench) -> None:
    own(bench, USER)

    _, said = await bench.run("id -u; id -g; echo x > file; mkdir -p ~/deep/er")

    assert said == f"{USER}\n{USER}\n"
    assert (bench.repo / "file").stat().st_uid == USER
    assert (bench.repo.parent / "home/deep/er").stat().st_uid == USER


@pytest.mark.parametrize("image", [BOX, BARE])
async def test_what_root_wrote_is_given_to_the_owner_of_the_workspace(bench: Bench, image: str) -> None:
    own(bench, USER)
    (bench.repo / "before").touch()  # by root, and not by the step
    os.utime(bench.repo / "before", (0, 0))

    if image == BOX:
        await bench.run(
            "umask 077; mkdir -p a/b; echo x > a/b/c; ln -s c a/b/d", container=ContainerOptions(user="root")
        )
        made = [bench.repo / path for path in ("a", "a/b", "a/b/c", "a/b/d")]
    else:  # there is no `chown` in this one
        await bench.run(argv=("/bin/tee", "made"), stdin=b"x", image=image, container=ContainerOptions(user="0"))
        made = [bench.repo / "made"]

    assert {path.lstat().st_uid for path in made} == {USER}
    assert (bench.repo / "before").stat().st_uid == 0


async def test_what_root_wrote_when_pitstop_died_is_given_to_the_owner_who_takes_the_workspace_up(
    docker: Docker, tmp_path: Path
) -> None:
    first, second = new_executor(docker, tmp_path), new_executor(docker, tmp_path)
    workspace = await first.acquire(Placement(workspace="run-1"))
    own(Bench(docker, first, workspace), USER)
    (tmp_path / "run-1/.pitstop/containers").mkdir()  # as one who dies leaves it
    (tmp_path / "run-1/repo/of-root").mkdir(mode=0o700)
    await first.close(keep=True)

    await second.acquire(Placement(workspace="run-1"))

    assert (tmp_path / "run-1/repo/of-root").stat().st_uid == USER
    await second.close()


async def test_a_container_gets_its_own_variables_and_none_of_this_machine(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OF_THIS_MACHINE", "secret")

    _, said = await bench.run("env | sort; ls -a /", env={"COLOUR": "grün", "EMPTY": ""})

    assert "COLOUR=grün\n" in said
    assert "EMPTY=\n" in said
    assert f"HOME={bench.workspace.home}\n" in said
    assert f"PITSTOP_ARTIFACTS={bench.workspace.artifacts}\n" in said
    assert "PITSTOP_EXECUTION_KEY=run-1:step:1\n" in said
    assert "OF_THIS_MACHINE" not in said


async def test_secrets_are_in_the_environment_and_nowhere_else(bench: Bench) -> None:
    command = await bench.start("echo up; exec sleep 1000", env={"TOKEN": "hunter2"})
    await bench.wait_said(command)

    told = bench.inspect("{{json .Name}} {{json .Config.Labels}} {{json .Path}} {{json .Args}} {{json .Mounts}}")

    assert "hunter2" in bench.inspect("{{json .Config.Env}}")
    assert "hunter2" not in told
    await bench.executor.cancel(command, grace=0)


async def test_nothing_but_the_workspace_is_mounted_and_everything_is_labelled(bench: Bench) -> None:
    command = await bench.start("echo up; exec sleep 1000")
    await bench.wait_said(command)

    mounts = bench.inspect("{{range .Mounts}}{{.Source}} {{.Destination}}\n{{end}}").split()
    labels = bench.inspect('{{index .Config.Labels "pitstop.run"}} {{index .Config.Labels "pitstop.workspace"}}')

    workspace = bench.workspace
    folders = (workspace.repo, workspace.home, workspace.artifacts, workspace.control)
    assert sorted(mounts) == sorted([*folders, *folders])
    assert labels == f"run-1 {workspace.id}"
    await bench.executor.cancel(command, grace=0)


async def test_a_folder_that_is_not_there_is_told_and_not_made(bench: Bench) -> None:
    result, said = await bench.run("true", cwd="nowhere")

    assert (result.exit_code, said) == (126, "pitstop: cannot run in the folder nowhere: there is no such folder\n")
    assert not (bench.repo / "nowhere").exists()


# --- What runs


async def test_the_entry_point_of_an_image_is_replaced_unless_it_is_wanted(bench: Bench) -> None:
    argv = ("echo", "hello")

    _, without = await bench.run(argv=argv, image=TALKATIVE)
    _, with_it = await bench.run(argv=argv, image=TALKATIVE, container=ContainerOptions(entrypoint=True))

    assert (without, with_it) == ("hello\n", "it was asked: echo hello\n")


@pytest.mark.parametrize(("user", "is_then"), [("image", USER), ("app", USER), ("root", 0), ("7:8", 7)])
async def test_somebody_else_can_be_asked_for(bench: Bench, user: str, is_then: int) -> None:
    _, said = await bench.run("id -u", image=TALKATIVE, container=ContainerOptions(user=user))

    assert said == f"{is_then}\n"


async def test_a_user_that_the_image_does_not_know_is_a_clear_failure(bench: Bench) -> None:
    result, said = await bench.run("true", container=ContainerOptions(user="nobody-knows"))

    assert (result.state, result.exit_code) == ("failed", 126)
    assert "unable to find user nobody-knows" in result.reason
    assert "nobody-knows" in said


async def test_an_image_without_a_shell_is_named_and_the_way_out_told(bench: Bench) -> None:
    result, said = await bench.run("true", image=BARE)

    assert (result.state, result.exit_code) == ("failed", 127)
    assert f"image {BARE} has no sh to run the script with" in result.reason
    assert "`shell:`" in result.reason
    assert result.reason in said


async def test_a_program_of_an_image_without_a_shell_can_be_run(bench: Bench) -> None:
    result, said = await bench.run(argv=("/bin/cat",), image=BARE, stdin=b"as it is")

    assert (result.state, said) == ("completed", "as it is")


async def test_an_image_for_another_machine_is_told(bench: Bench) -> None:
    result, _ = await bench.run("true", image=OTHER_ARCH)

    assert result.state == "failed"
    assert f"image {OTHER_ARCH} is for arm64, but this machine is " in result.reason


async def test_a_script_that_is_too_long_for_an_argument_runs(bench: Bench) -> None:
    result, said = await bench.run("# " + "x" * 200_000 + "\necho done")

    assert (result.state, said) == ("completed", "done\n")


async def test_the_image_is_told_by_its_digest(bench: Bench) -> None:
    result, _ = await bench.run("true")

    assert result.image_digest == bench.docker.says("image", "inspect", "--format", "{{.Id}}", BOX)


# --- How it ends


async def test_what_a_command_leaves_running_is_ended_with_it(bench: Bench) -> None:
    result, said = await bench.run("setsid sleep 1000 >/dev/null 2>&1 & echo done")

    assert (result.state, said) == ("completed", "done\n")
    assert bench.docker.left() == {}


async def test_too_little_memory_is_told_from_a_kill(bench: Bench) -> None:
    options = ContainerOptions(memory_bytes=32 * 1024**2)

    result, _ = await bench.run("dd if=/dev/zero of=/dev/null bs=200M count=1", container=options)

    assert (result.state, result.signal, result.out_of_memory) == ("failed", SIGKILL, True)
    assert "memory" in result.reason


async def test_a_fork_bomb_meets_the_limit_of_processes(bench: Bench) -> None:
    bomb = "for each in $(seq 30); do sleep 1000 & done; echo went off"

    result, said = await bench.run(bomb, pids=10)

    assert result.state == "failed"
    assert "can't fork" in said
    assert "went off" not in said


async def test_what_a_container_without_network_cannot_have_is_refused(bench: Bench) -> None:
    services = ContainerOptions(services=(Service(name="db", image=BOX),))
    result, _ = await bench.run("true", network="none", container=services)
    assert (result.exit_code, result.reason) == (
        126,
        "a command without network cannot use services (db): remove them, or allow the network",
    )


async def test_in_place_a_protected_folder_around_the_workspace_leaves_its_home_writable(
    docker: Docker, tmp_path: Path
) -> None:
    (tmp_path / ".pitstop").mkdir()
    (tmp_path / ".pitstop/flow.yaml").write_text("first")
    async with open_bench(docker, tmp_path / ".pitstop/workspaces", folder=str(tmp_path)) as bench:
        script = 'exec 2>&1; echo spoiled > .pitstop/flow.yaml; mv .pitstop old; touch made "$HOME/made" && echo home'
        _, said = await bench.run(script, shell=("sh",), read_only=(".pitstop",))

    assert "home" in said.splitlines()
    assert (tmp_path / ".pitstop/flow.yaml").read_text() == "first"
    assert (tmp_path / "made").exists()


async def test_limits_reach_the_engine(bench: Bench) -> None:
    options = ContainerOptions(cpus=0.5, memory_bytes=64 * 1024**2)
    command = await bench.start("echo up; exec sleep 1000", container=options)
    await bench.wait_said(command)

    limits = bench.inspect("{{.HostConfig.NanoCpus}} {{.HostConfig.Memory}} {{.HostConfig.MemorySwap}}")

    assert limits == f"500000000 {64 * 1024**2} {64 * 1024**2}"
    await bench.executor.cancel(command, grace=0)


@pytest.mark.parametrize("words", ["kill", "rm --force"])
async def test_a_container_that_somebody_else_ends_is_a_failure(bench: Bench, words: str) -> None:
    command = await bench.start("echo up; exec sleep 1000")
    await bench.wait_said(command)

    bench.docker.says(*words.split(), await bench.wait_container())
    result = await bench.executor.wait(command)

    assert (result.state, result.exit_code) == ("failed", None)
    assert "SIGKILL" in result.reason or "removed by another program" in result.reason


async def test_term_reaches_what_the_shell_waits_for(bench: Bench) -> None:
    command = await bench.start("trap 'echo bye; exit 5' TERM; echo up; sleep 1000")
    await bench.wait_said(command)
    await bench.wait_process(r"\S+ +sleep 1000")  # else TERM might come between the shell's fork and that

    await bench.executor.cancel(command, grace=60)

    result = await bench.executor.wait(command)
    assert (result.state, result.exit_code) == ("cancelled", 5)


async def test_a_stopped_command_can_be_cancelled(bench: Bench) -> None:
    command = await bench.start("trap 'exit 7' TERM; echo up; kill -STOP $$; sleep 1000")
    await bench.wait_process(r"T\S* +sh -e? ?-c .*")

    await bench.executor.cancel(command, grace=60)

    assert (await bench.executor.wait(command)).exit_code == 7


async def test_one_that_is_being_started_can_be_cancelled(bench: Bench) -> None:
    for seconds in (0.0, 0.02, 0.1, 0.2):
        command = await bench.start("exec sleep 1000")
        await asyncio.sleep(seconds)  # the moment in which it is cancelled
        await bench.executor.cancel(command, grace=0)

        assert (await bench.executor.wait(command)).state == "cancelled"
        assert bench.docker.left() == {}


async def test_many_run_at_once(bench: Bench) -> None:
    said = await asyncio.gather(*(bench.run("read word; echo $word", stdin=b"%d\n" % n) for n in range(8)))

    assert [text for _, text in said] == [f"{n}\n" for n in range(8)]


async def test_a_flood_of_output_is_kept_to_the_last_byte(bench: Bench) -> None:
    command = await bench.start("dd if=/dev/zero bs=1M count=30 2>/dev/null; echo end >&2")

    sizes = {"stdout": 0, "stderr": 0}
    async for chunk in bench.executor.logs(command):
        sizes[chunk.stream] += len(chunk.data)

    assert sizes == {"stdout": 30 * 1024**2, "stderr": 4}


async def test_the_end_of_the_output_that_does_not_come_is_not_waited_for_for_ever_and_missed(
    bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    idle = tmp_path / "idle.py"
    idle.write_text("import signal; signal.pause()")
    monkeypatch.setattr(recorder, "__file__", str(idle))
    monkeypatch.setattr(container_command, "DRAIN_SECONDS", 0.1)
    result, said = await bench.run("echo hello")

    assert result.state == "completed"
    assert said == "pitstop: the container engine did not deliver the end of the command's output\n"


@pytest.mark.parametrize(("script", "state"), [("echo more", "lost"), ("exit 0", "completed")])
async def test_a_command_whose_recorder_is_killed_is_lost_if_output_is_missing(
    bench: Bench, script: str, state: str
) -> None:
    command = await bench.start(f"echo up; until test -e go; do sleep 0.02; done; {script}")
    await bench.wait_said(command)
    (pid,) = [pid for pid, words in processes_with(recorder.__file__).items() if bench.workspace.id in words]

    os.kill(pid, SIGKILL)
    (bench.repo / "go").touch()

    assert (await bench.executor.wait(command)).state == state


# --- When the world is not as it should be


async def test_an_image_that_cannot_be_had_is_told(bench: Bench) -> None:
    for policy in ("missing", "always"):
        result, said = await bench.run(
            "true", image="no-such-host.invalid/x:1", container=ContainerOptions(pull=policy)
        )

        assert (result.state, result.exit_code) == ("failed", 126)
        assert "cannot pull image no-such-host.invalid/x:1" in result.reason
        assert "pulling image no-such-host.invalid/x:1" in said
    result, _ = await bench.run("true", image="absent", container=ContainerOptions(pull="never"))
    assert "image absent is not on this machine: `pull: never` does not allow pulling it" in result.reason


async def test_a_name_that_no_image_can_have_is_told(bench: Bench) -> None:
    result, _ = await bench.run("true", image="UPPER CASE/ü?x=1")

    assert (result.state, result.exit_code) == ("failed", 126)
    assert "UPPER CASE" in result.reason


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    folder = tmp_path / "small"
    folder.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4m", "none", folder], check=True)
    yield folder
    subprocess.run(["umount", folder], check=True)


async def test_a_full_disk_is_told_whoever_fills_it(docker: Docker, small_disk: Path) -> None:
    async with open_bench(docker, small_disk) as bench:
        result, said = await bench.run("dd if=/dev/zero of=file bs=1M count=10; rm file")
        assert result.state == "failed" or "No space left" in said

    async with open_bench(docker, small_disk) as bench:
        result, _ = await bench.run("dd if=/dev/zero bs=1M count=10; exec sleep 1000")
        assert result.state == "failed"
        assert why_it_ended(result).startswith("could not write its output to ")
        assert why_it_ended(result).endswith(": No space left on device")


async def test_an_engine_that_is_restarted_in_the_middle_is_told(bench: Bench) -> None:
    command = await bench.start("echo up; exec sleep 1000")
    await bench.wait_said(command)

    bench.docker.stop()
    bench.docker.start()
    result = await bench.executor.wait(command)

    assert result.state in ("lost", "failed")  # it depends on whether the engine tells in time how it ended
    assert result.exit_code is None
    assert "the container engine" in result.reason
    assert (await bench.run("echo again"))[1] == "again\n"


async def test_an_engine_that_crashes_in_the_middle_is_told(bench: Bench) -> None:
    command = await bench.start("echo up; exec sleep 1000")
    await bench.wait_said(command)

    bench.docker.kill()
    bench.docker.start()
    result = await bench.executor.wait(command)

    assert result.state == "lost"
    assert "engine" in result.reason


async def test_what_an_engine_tells_of_a_command_that_another_started_is_not_taken_for_its_end(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    ask = ContainerEngine.ask

    async def ask_and_crash_when_started(self: ContainerEngine, method: str, path: str, *args: Any) -> Any:
        answer = await ask(self, method, path, *args)
        if path.endswith("/start"):
            bench.docker.kill()
            bench.docker.start()
        return answer

    monkeypatch.setattr(ContainerEngine, "ask", ask_and_crash_when_started)
    result, _ = await bench.run("exec sleep 1000")

    assert result.state == "lost"
    assert "engine" in result.reason


async def test_what_an_engine_tells_of_files_that_another_was_giving_to_their_owner_is_not_believed(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    own(bench, USER)
    ask = ContainerEngine.ask

    async def ask_and_crash_when_started(self: ContainerEngine, method: str, path: str, *args: Any) -> Any:
        answer = await ask(self, method, path, *args)
        if "-owner-" in path and path.endswith("/start"):
            bench.docker.kill()
            bench.docker.start()
        return answer

    monkeypatch.setattr(ContainerEngine, "ask", ask_and_crash_when_started)
    result, _ = await bench.run("echo x > file", container=ContainerOptions(user="root"))

    assert result.state == "lost"
    assert "engine" in result.reason


async def test_an_engine_that_does_not_come_back_is_not_waited_for_for_ever(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(container_command, "RECONNECT_SECONDS", 0.3)
    command = await bench.start("echo up; exec sleep 1000")
    await bench.wait_said(command)

    bench.docker.kill()
    result = await bench.executor.wait(command)
    refused, _ = await bench.run("true")
    bench.docker.start()

    assert result.state == "lost"
    assert "cannot reach the container engine" in result.reason
    assert (refused.state, refused.exit_code) == ("failed", 126)
    assert "cannot reach the container engine" in refused.reason
    assert (await bench.run("echo again"))[1] == "again\n"


async def test_a_workspace_is_taken_up_without_what_its_last_user_left_running(docker: Docker, tmp_path: Path) -> None:
    first, second = new_executor(docker, tmp_path), new_executor(docker, tmp_path)
    workspace = await first.acquire(Placement(workspace="run-1"))
    bench = Bench(docker, first, workspace)
    await bench.wait_said(await bench.start("echo up; exec sleep 1000"))
    await first.release(workspace, keep=True)

    assert docker.left() == {}
    again = await second.acquire(Placement(workspace="run-1"))
    assert (await Bench(docker, second, again).run("echo here"))[1] == "here\n"
    await first.close()
    await second.close()


async def test_a_workspace_in_which_something_runs_that_cannot_be_removed_is_not_taken_up(
    docker: Docker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = new_executor(docker, tmp_path), new_executor(docker, tmp_path)
    workspace = await first.acquire(Placement(workspace="run-1"))
    (tmp_path / "run-1/.pitstop/containers").mkdir()  # as one who dies leaves it
    docker.says("run", "--detach", "--label", f"pitstop.workspace={workspace.id}", BOX, "sleep", "1000")
    await first.close(keep=True)
    ask = ContainerEngine.ask

    async def ask_or_be_refused(self: ContainerEngine, method: str, path: str, *args: Any) -> Any:
        if method == "DELETE":
            raise EngineRefused(500, "the disk is busy")
        return await ask(self, method, path, *args)

    with monkeypatch.context() as patched:
        patched.setattr(ContainerEngine, "ask", ask_or_be_refused)
        with pytest.raises(Unavailable, match="cannot remove the containers of workspace 'run-1': the disk is busy"):
            await second.acquire(Placement(workspace="run-1"))

    await second.acquire(Placement(workspace="run-1"))
    assert docker.left() == {}
    await second.close()


def own(bench: Bench, user: int) -> None:
    """Let somebody else be the owner of the workspace."""
    workspace = bench.workspace
    for folder in (workspace.repo, workspace.home, workspace.artifacts, workspace.control):
        os.chown(folder, user, user)
