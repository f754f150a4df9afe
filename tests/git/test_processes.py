"""Processes of git, on the event loop of the command line and on that of the server."""

import asyncio
import os
import signal
from collections.abc import Callable
from pathlib import Path

import pytest
import uvloop

from pitstop.errors import GitProblem
from pitstop.git.commands import git_environment
from pitstop.git.processes import GitProcess, start_git
from tests.executors.processes import processes_with
from tests.patience import wait_here_until, wait_until

OPEN_FILES = Path("/proc/self/fd")
LOOPS = (asyncio.new_event_loop, uvloop.new_event_loop)

NewLoop = Callable[[], asyncio.AbstractEventLoop]


async def start(folder: Path, script: str) -> GitProcess:
    """Git that runs a script by an alias."""
    environment = git_environment([("alias.script", f"!{script} # {folder}")])
    return await start_git("-C", str(folder), "script", environment=environment)


@pytest.mark.parametrize("new_loop", LOOPS)
def test_input_output_complaint_and_exit_code(new_loop: NewLoop, tmp_path: Path) -> None:
    async def talk() -> tuple[bytes, bytes, int]:
        process = await start(tmp_path, "f() { cat; echo no >&2; exit 3; }; f")
        process.stdin.write(b"x" * 1_000_000)
        process.stdin.close()
        said = await process.stdout.read(), await process.stderr.read(), await process.wait()
        await process.end()
        return said

    with asyncio.Runner(loop_factory=new_loop) as runner:
        assert runner.run(talk()) == (b"x" * 1_000_000, b"no\n", 3)


@pytest.mark.parametrize("new_loop", LOOPS)
def test_the_end_closes_all_files(new_loop: NewLoop, tmp_path: Path) -> None:
    async def end_some() -> None:
        for script in ("true", "sleep 1000", "yes"):
            process = await start(tmp_path, script)
            process.stdin.write(b"x" * 1_000_000)
            await process.end()
            assert await process.stderr.read() == b""
        await asyncio.sleep(0)  # streams are closed in the next turn of the loop

    with asyncio.Runner(loop_factory=new_loop) as runner:
        runner.run(end_some())  # after which the loop has opened all that it needs itself
        before = len(list(OPEN_FILES.iterdir()))
        runner.run(end_some())
        assert len(list(OPEN_FILES.iterdir())) == before


@pytest.mark.parametrize("new_loop", LOOPS)
def test_what_git_left_running_does_not_delay_the_end(new_loop: NewLoop, tmp_path: Path) -> None:
    async def end() -> tuple[bytes, bytes]:
        process = await start(tmp_path, "f() { setsid sleep 1000 & echo $!; }; f")
        pid = int(await process.stdout.readline())
        assert await process.wait() == 0
        await process.end()
        os.kill(pid, signal.SIGKILL)  # it has its own process group, and our pipes
        return await process.stdout.read(), await process.stderr.read()

    with asyncio.Runner(loop_factory=new_loop) as runner:
        assert runner.run(end()) == (b"", b"")


@pytest.mark.parametrize("new_loop", LOOPS)
def test_an_end_that_is_cancelled_is_completed(new_loop: NewLoop, tmp_path: Path) -> None:
    async def cancel() -> int:
        process = await start(tmp_path, "sleep 1000")
        ending = asyncio.get_running_loop().create_task(process.end())
        for _ in range(3):
            await asyncio.sleep(0)
            ending.cancel()
        with pytest.raises(asyncio.CancelledError):
            await ending
        return await process.wait()

    with asyncio.Runner(loop_factory=new_loop) as runner:
        assert runner.run(cancel()) == -signal.SIGKILL
    wait_here_until(lambda: not processes_with(str(tmp_path)))


async def test_a_process_that_cannot_be_watched_is_killed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_more(_pid: int) -> int:
        raise OSError(24, "Too many open files")

    monkeypatch.setattr(os, "pidfd_open", no_more)
    with pytest.raises(GitProblem, match=r"git script failed: cannot run git: Too many open files$"):
        await start(tmp_path, "sleep 1000")
    await wait_until(lambda: not processes_with(str(tmp_path)))


async def test_output_is_whole_after_the_end(tmp_path: Path) -> None:
    """Output that is read after the process has ended, which is known earlier by its pidfd."""
    process = await start(tmp_path, "echo hello")
    assert await process.wait() == 0
    assert await process.stdout.read() == b"hello\n"
    await process.end()
