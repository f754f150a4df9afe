"""Pushes and fetches that are cut off: what arrived whole is applied, and the rest leaves nothing."""

import asyncio
import os
import signal
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest
from msgspec.structs import replace

from pitstop.errors import GitProblem
from pitstop.git.backend import GitBackend
from pitstop.git.bare import BareRepository
from pitstop.git.commands import run_git
from pitstop.git.leftovers import remove_leftovers
from tests.executors.processes import processes_with
from tests.git.repositories import PUSH, client_environment, commit_on, git, git_running, left_in
from tests.git.serving import GitServer
from tests.patience import wait_until

RECEIVE_PACK = replace(PUSH, content_type="application/x-git-receive-pack-request")

MAIN = "refs/heads/main"


async def push_body(work: Path, old: str, new: str) -> bytes:
    """The body that a client sends to move main."""
    pack = await asyncio.create_subprocess_exec(
        *("git", "pack-objects", "--revs", "--stdout", "--quiet"),
        cwd=work,
        env=client_environment(),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )
    packed, _ = await pack.communicate(f"{new}\n".encode())
    command = f"{old} {new} {MAIN}\0report-status".encode()
    return b"%04x" % (len(command) + 4) + command + b"0000" + packed


def quarantines_of(repository: BareRepository) -> list[Path]:
    return list((repository.folder / "objects").glob("tmp_objdir-*"))


async def add_large_file(work: Path, size_bytes: int = 4_000_000) -> str:
    """A commit of so many files that git stores them as one pack."""
    (work / "large").write_bytes(os.urandom(size_bytes))
    for number in range(120):
        (work / f"{number}.txt").write_text(str(number))
    await git(work, "add", ".")
    await git(work, "commit", "-m", "large")
    return await git(work, "rev-parse", "HEAD")


async def test_a_push_whose_client_is_killed_half_way_leaves_nothing(
    server: GitServer, work: Path, repository: BareRepository
) -> None:
    await git(work, "push", "origin", "main")
    before = await repository.refs()
    await add_large_file(work, 20_000_000)  # more than all buffers between client and server take
    server.hold_body_at = 1_000_000

    async with git_running(work, "push", "origin", "main"):
        await wait_until(lambda: server.received_bytes >= 1_000_000)
    server.body_gate.set()
    await server.wait_idle()

    assert await repository.refs() == before
    assert left_in(repository) == []
    assert processes_with(str(repository.folder)) == {}
    await repository.fsck()


async def test_a_clone_whose_client_is_killed_half_way_ends_git(
    server: GitServer, work: Path, repository: BareRepository
) -> None:
    await add_large_file(work)
    await git(work, "push", "origin", "main")

    async with git_running(work, "clone", server.url, "copy"):
        await wait_until(lambda: server.sent_bytes > 300_000)
    await server.wait_idle()

    assert processes_with(str(repository.folder)) == {}


async def test_a_push_that_has_arrived_is_applied_though_the_client_is_gone(
    work: Path, repository: BareRepository
) -> None:
    head = await add_large_file(work)
    body = await push_body(work, "0" * 40, head)
    has_arrived = asyncio.Event()

    async def arriving() -> AsyncGenerator[bytes]:
        for start in range(0, len(body), 65536):
            yield body[start : start + 65536]
        has_arrived.set()

    async def answer() -> None:
        async with GitBackend().answer(repository, RECEIVE_PACK, arriving()) as answered:
            await asyncio.Event().wait()
            assert answered is None

    async with asyncio.TaskGroup() as group:
        answering = group.create_task(answer())
        await has_arrived.wait()
        answering.cancel()

    assert (await repository.refs())[MAIN].sha == head
    assert left_in(repository) == []
    await repository.fsck()


@pytest.mark.parametrize("share", [0.0, 0.3, 0.99])
async def test_a_push_that_is_cancelled_half_way_leaves_nothing(
    work: Path, repository: BareRepository, share: float
) -> None:
    head = await add_large_file(work)
    body = await push_body(work, "0" * 40, head)
    is_waiting = asyncio.Event()

    async def arriving() -> AsyncGenerator[bytes]:
        for start in range(0, int(len(body) * share), 65536):
            yield body[start : start + 65536]
        is_waiting.set()
        await asyncio.Event().wait()

    async def answer() -> None:
        async with GitBackend().answer(repository, RECEIVE_PACK, arriving()) as answered:
            async for _ in answered.body:
                pass

    async with asyncio.TaskGroup() as group:
        answering = group.create_task(answer())
        await is_waiting.wait()
        answering.cancel()

    assert await repository.refs() == {}
    assert left_in(repository) == []
    assert processes_with(str(repository.folder)) == {}
    await repository.fsck()


async def test_a_body_that_is_shorter_than_announced_is_not_applied(work: Path, repository: BareRepository) -> None:
    head = await git(work, "rev-parse", "HEAD")
    body = await push_body(work, "0" * 40, head)

    async def arriving() -> AsyncGenerator[bytes]:
        yield body[:-1]

    with pytest.raises(GitProblem, match=f"the request ended after {len(body) - 1:,} of {len(body):,} bytes"):
        async with GitBackend().answer(
            repository, replace(RECEIVE_PACK, content_length=len(body)), arriving()
        ) as answer:
            async for _ in answer.body:
                pass

    assert await repository.refs() == {}


async def test_an_error_of_the_body_comes_out_as_it_is(repository: BareRepository) -> None:
    async def arriving() -> AsyncGenerator[bytes]:
        yield b"00"
        raise ConnectionAbortedError("the client is gone")

    with pytest.raises(ConnectionAbortedError, match="the client is gone"):
        async with GitBackend().answer(repository, RECEIVE_PACK, arriving()) as answer:
            async for _ in answer.body:
                pass

    assert left_in(repository) == []


async def test_what_a_killed_git_leaves_is_removed_but_not_during_a_push(
    work: Path, repository: BareRepository
) -> None:
    old = await commit_on(repository, "main", {"a": "1"})
    body = await push_body(work, old, await add_large_file(work))

    async def arriving() -> AsyncGenerator[bytes]:
        yield body[: len(body) // 2]
        await wait_until(lambda: quarantines_of(repository))
        assert await remove_leftovers(repository, older_than_seconds=0) == []
        for process in processes_with(str(repository.folder)):
            os.kill(process, signal.SIGKILL)

    async with GitBackend().answer(repository, RECEIVE_PACK, arriving()) as answer:
        async for _ in answer.body:
            pass
    for lock in ("refs/heads/main.lock", "packed-refs.lock"):
        (repository.folder / lock).touch()
    assert len(quarantines_of(repository)) == 1

    assert await remove_leftovers(repository, older_than_seconds=3600) == []
    removed = await remove_leftovers(repository, older_than_seconds=0)

    assert [name.partition("-")[0] for name in removed] == ["objects/tmp_objdir", "packed", "refs/heads/main.lock"]
    assert left_in(repository) == []
    assert (await repository.refs())[MAIN].sha == old
    await repository.fsck()
    await run_git(repository.folder, "update-ref", MAIN, old)
