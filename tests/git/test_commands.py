"""Running git."""

import asyncio
import os
import signal
from pathlib import Path

import pytest

from pitstop.errors import GitProblem
from pitstop.git.commands import ask_git, git_environment, git_name, run_git
from pitstop.git.processes import CHUNK_BYTES, start_git
from tests.executors.processes import processes_with
from tests.patience import wait_until

EVERY_CHARACTER = "".join(map(chr, [*range(256), 0x2028, 0xD800, 0x1F600]))


def waiting(folder: Path) -> dict[str, str]:
    """The environment in which `git wait` starts a program that does not end."""
    return git_environment([("alias.wait", f"!sleep 1000 # {folder}")])


@pytest.fixture
async def bare(tmp_path: Path) -> Path:
    folder = tmp_path / "demo.git"
    await run_git(folder, "init", "--bare", "--quiet")
    return folder


async def test_git_reads_no_configuration_of_the_user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / ".gitconfig").write_text("[user]\n\tname = Somebody\n")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("GIT_DIR", "/elsewhere")
    monkeypatch.setenv("GIT_SSH_COMMAND", "touch /tmp/ran")

    listed = await run_git(tmp_path, "config", "--list", "--show-origin")

    assert {line.split(b"\t")[0] for line in listed.splitlines()} == {b"command line:"}
    assert not {"GIT_DIR", "GIT_SSH_COMMAND"} & git_environment().keys()


async def test_a_command_that_fails_says_what_git_said(bare: Path) -> None:
    with pytest.raises(GitProblem, match="git cat-file failed: fatal: Not a valid object name nope"):
        await run_git(bare, "cat-file", "-p", "nope")


async def test_an_exit_code_can_be_an_answer(bare: Path) -> None:
    assert (await ask_git(bare, "config", "no.such")).code == 1
    with pytest.raises(GitProblem, match="exit code 1"):
        await run_git(bare, "config", "no.such")


async def test_git_that_is_missing_can_be_installed(bare: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(bare))
    with pytest.raises(GitProblem, match=r"git version failed: cannot run git: .*: install git"):
        await run_git(bare, "version")


async def test_output_beyond_the_limit_is_a_problem_or_cut(bare: Path) -> None:
    sha = (await run_git(bare, "hash-object", "-w", "--stdin", input=b"x" * 5_000_000)).decode().strip()

    with pytest.raises(GitProblem, match="printed more than 1,000 bytes"):
        await run_git(bare, "cat-file", "blob", sha, limit_bytes=1000)
    cut = await ask_git(bare, "cat-file", "blob", sha, limit_bytes=1000)
    whole = await ask_git(bare, "cat-file", "blob", sha, limit_bytes=5_000_000)

    assert (cut.output, cut.is_cut) == (b"x" * 1000, True)
    assert (len(whole.output), whole.is_cut) == (5_000_000, False)


async def test_git_that_takes_too_long_is_killed_with_all_that_it_started(bare: Path) -> None:
    with pytest.raises(GitProblem, match=r"timed out after 0\.1 s"):
        await run_git(bare, "wait", environment=waiting(bare), timeout_seconds=0.1)
    await wait_until(lambda: not processes_with(str(bare)))


async def test_cancelling_kills_git_with_all_that_it_started(bare: Path) -> None:
    async with asyncio.TaskGroup() as group:
        command = group.create_task(run_git(bare, "wait", environment=waiting(bare)))
        await wait_until(lambda: any("sleep" in line for line in processes_with(str(bare)).values()))
        command.cancel()

    await wait_until(lambda: not processes_with(str(bare)))


async def test_cancelling_while_git_is_being_started_leaves_nothing(bare: Path) -> None:
    for turns in range(12):
        async with asyncio.TaskGroup() as group:
            command = group.create_task(run_git(bare, "wait", environment=waiting(bare)))
            for _ in range(turns):
                await asyncio.sleep(0)
            command.cancel()
    await wait_until(lambda: not processes_with(str(bare)))


async def test_git_whose_output_is_not_read_can_be_killed(bare: Path) -> None:
    sha = (await run_git(bare, "hash-object", "-w", "--stdin", input=b"x" * 5_000_000)).decode().strip()
    process = await start_git(f"--git-dir={bare}", "cat-file", "blob", sha, environment=git_environment())
    buffered: bytearray = vars(process.stdout)["_buffer"]
    await wait_until(lambda: len(buffered) > 2 * CHUNK_BYTES)  # asyncio reads no further

    await process.end()

    assert await process.wait() == -signal.SIGKILL


async def test_input_that_git_does_not_read_is_no_problem(bare: Path) -> None:
    assert await run_git(bare, "version", input=b"x" * 5_000_000)


async def test_any_name_can_be_who_commits(bare: Path) -> None:
    tree = (await run_git(bare, "mktree", input=b"")).decode().strip()
    for who in ("Zoë Müller", "", " . ", "\n", "a <b> c", "\0", "x" * 5000, EVERY_CHARACTER, "bob."):
        sha = (await run_git(bare, "commit-tree", tree, "-m", "try", who=who)).decode().strip()
        shown = await run_git(bare, "show", "-s", "--format=%an%x00%ae%x00%cn", sha)

        author, email, committer = shown.decode().rstrip("\n").split("\0")
        assert author == committer == git_name(who)
        assert email == f"{'-'.join(git_name(who).split())}@pitstop"
    await run_git(bare, "fsck", "--strict")


def test_a_name_is_stored_without_what_would_break_a_commit() -> None:
    assert git_name("Eve <eve@x>\n\0tree") == "Eve eve@xtree"
    assert git_name("...") == "unknown"
    assert git_name("Zoë Müller") == "Zoë Müller"
    assert os.linesep not in git_name(EVERY_CHARACTER)
