"""Clone, fetch and push with a real git client."""

import asyncio
import hashlib
import os
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from pitstop.errors import ServerBusy
from pitstop.git.backend import GitBackend
from pitstop.git.bare import BareRepository
from pitstop.git.commands import run_git
from pitstop.git.names import ZEROS
from tests.git.repositories import commit_on, git, left_in
from tests.git.serving import GitServer
from tests.patience import wait_until

MAIN = "refs/heads/main"


@asynccontextmanager
async def connection(server: GitServer) -> AsyncGenerator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
    port = int(server.url.split(":")[2].split("/")[0])
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        yield reader, writer
    finally:
        writer.close()
        await writer.wait_closed()


async def fetch(server: GitServer, path: str) -> bytes:
    """The answer to a GET, with its head; the path is sent as it is."""
    async with connection(server) as (reader, writer):
        writer.write(f"GET /demo.git{path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n".encode())
        return await reader.read()


async def post(server: GitServer, service: str, body: bytes) -> bytes:
    async with connection(server) as (reader, writer):
        writer.write(head_of(service, len(body)) + body)
        return await reader.read()


def head_of(service: str, length: int) -> bytes:
    lines = (
        f"POST /demo.git/{service} HTTP/1.1",
        "Host: x",
        "Connection: close",
        f"Content-Length: {length}",
        f"Content-Type: application/x-{service}-request",
    )
    return "\r\n".join((*lines, "", "")).encode()


async def commit(work: Path, name: str, content: bytes = b"x") -> str:
    (work / name).write_bytes(content)
    await git(work, "add", ".")
    await git(work, "commit", "-m", f"add {name}")
    return await git(work, "rev-parse", "HEAD")


async def heads(repository: BareRepository) -> dict[str, str]:
    return {name: value.sha for name, value in (await repository.refs()).items()}


async def test_a_push_arrives_and_can_be_cloned(server: GitServer, work: Path, tmp_path: Path) -> None:
    await git(work, "tag", "v1")
    await git(work, "tag", "-a", "-m", "second", "v2")

    await git(work, "push", "origin", "main", "v1", "v2")
    await git(tmp_path, "clone", server.url, "copy")

    assert (tmp_path / "copy/a.txt").read_text() == "first\n"
    assert await git(tmp_path / "copy", "tag") == "v1\nv2"
    await server.repository.fsck()


@pytest.mark.parametrize("version", ["0", "1", "2"])
async def test_every_protocol_version_can_fetch_and_push(
    server: GitServer, work: Path, tmp_path: Path, version: str
) -> None:
    protocol = ("-c", f"protocol.version={version}")
    await git(work, *protocol, "push", "origin", "main")
    await git(tmp_path, *protocol, "clone", server.url, "copy")
    head = await commit(tmp_path / "copy", "b.txt")
    await git(tmp_path / "copy", *protocol, "push")
    await git(work, *protocol, "pull", "origin", "main")

    assert await git(work, "rev-parse", "HEAD") == head
    sent = {request.git_protocol for request in server.requests}
    assert sent - {None} == (set() if version == "0" else {f"version={version}"})  # a push has no version 2


async def test_shallow_and_partial_clones_get_less(server: GitServer, work: Path, tmp_path: Path) -> None:
    for number in range(3):
        await commit(work, f"{number}.txt")
    await git(work, "push", "origin", "main")

    await git(tmp_path, "clone", "--depth=1", server.url, "shallow")
    await git(tmp_path, "clone", "--filter=blob:none", "--no-checkout", server.url, "partial")

    assert await git(tmp_path / "shallow", "rev-list", "--count", "HEAD") == "1"
    missing = await git(tmp_path / "partial", "rev-list", "--objects", "--missing=print", "HEAD")
    assert missing.count("\n?") >= 3 - 1
    await git(tmp_path / "partial", "checkout", "main")
    assert (tmp_path / "partial/2.txt").read_text() == "x"
    await git(tmp_path / "shallow", "fetch", "--unshallow")
    assert await git(tmp_path / "shallow", "rev-list", "--count", "HEAD") == "4"


async def test_force_pushes_and_deleted_branches_are_taken_but_head_stays(
    server: GitServer, work: Path, repository: BareRepository
) -> None:
    await git(work, "push", "origin", "main", "main:topic")
    await git(work, "commit", "--amend", "-m", "other")

    assert "non-fast-forward" in await git(work, "push", "origin", "main", fails=True)
    await git(work, "push", "--force", "origin", "main")
    await git(work, "push", "origin", "--delete", "topic")
    refused = await git(work, "push", "origin", "--delete", "main", fails=True)

    assert "refusing to delete the current branch" in refused
    assert await heads(repository) == {MAIN: await git(work, "rev-parse", "HEAD")}


async def test_the_reflog_says_who_pushed(server: GitServer, work: Path, repository: BareRepository) -> None:
    known: str | None = None
    for who, name in [("Ada", "Ada"), ("Zoë Müller <x>\n", "Zoë Müller x"), ("a;b\\c 'd' $e", "a;b\\c 'd' $e")]:
        server.who = who
        head = await commit(work, f"{len(who)}.txt")
        await git(work, "push", "origin", "main")

        moves = await repository.moves_of(MAIN, known, head)
        assert [(move.who, move.message) for move in moves] == [(name, "push")]
        known = head


async def test_a_chunked_push_and_a_gzipped_fetch_work(server: GitServer, work: Path, tmp_path: Path) -> None:
    await commit(work, "large", os.urandom(300_000))
    await git(work, "-c", "http.postBuffer=1024", "push", "origin", "main")
    assert any(each.path == "/git-receive-pack" and each.content_length is None for each in server.requests)

    await git(tmp_path, "clone", server.url, "copy")
    await make_branches(tmp_path / "copy", 40)
    await commit(work, "more")
    await git(work, "push", "origin", "main")
    await git(tmp_path / "copy", "fetch", "origin")

    assert "gzip" in {each.content_encoding for each in server.requests}
    await server.repository.fsck()


async def make_branches(copy: Path, count: int) -> None:
    """Branches that the server does not have: the client lists their commits when it fetches."""
    tree = await git(copy, "rev-parse", "HEAD^{tree}")
    shas = [await git(copy, "commit-tree", tree, "-m", str(number)) for number in range(count)]
    packed = "".join(sorted(f"{sha} refs/heads/b{number:04}\n" for number, sha in enumerate(shas)))
    (copy / ".git/packed-refs").write_text("# pack-refs with: peeled fully-peeled sorted \n" + packed)


async def test_a_client_may_wait_for_100_continue(server: GitServer, work: Path) -> None:
    await git(work, "push", "origin", "main")
    await commit(work, "large", os.urandom(2_000_000))

    await git(work, "-c", "http.extraHeader=Expect: 100-continue", "push", "origin", "main")

    assert (await heads(server.repository))[MAIN] == await git(work, "rev-parse", "HEAD")


async def test_two_pushes_at_once_are_both_taken(server: GitServer, work: Path, tmp_path: Path) -> None:
    await git(work, "push", "origin", "main")
    await git(tmp_path, "clone", server.url, "other")
    await commit(work, "one", os.urandom(2_000_000))
    await commit(tmp_path / "other", "two", os.urandom(2_000_000))

    async with asyncio.TaskGroup() as group:
        group.create_task(git(work, "push", "origin", "main:one"))
        group.create_task(git(tmp_path / "other", "push", "origin", "main:two"))

    assert (await heads(server.repository)).keys() == {MAIN, "refs/heads/one", "refs/heads/two"}
    await server.repository.fsck()


async def test_two_pushes_to_one_branch_do_not_overwrite_each_other(
    server: GitServer, work: Path, tmp_path: Path
) -> None:
    await git(work, "push", "origin", "main")
    await git(tmp_path, "clone", server.url, "other")
    mine, theirs = await commit(work, "one"), await commit(tmp_path / "other", "two")

    async def push(folder: Path) -> bool:
        try:
            await git(folder, "push", "origin", "main")
        except AssertionError:
            return False
        return True

    async with asyncio.TaskGroup() as group:
        first, second = group.create_task(push(work)), group.create_task(push(tmp_path / "other"))

    assert sorted([first.result(), second.result()]) == [False, True]
    assert (await heads(server.repository))[MAIN] == (mine if first.result() else theirs)


async def test_a_protected_branch_is_refused_and_the_rest_of_the_push_is_taken(server: GitServer, work: Path) -> None:
    await git(work, "push", "origin", "main")
    before = (await heads(server.repository))[MAIN]
    server.protected = (MAIN,)
    await commit(work, "large", os.urandom(100_000))
    await git(work, "push", "origin", "HEAD:topic")
    sent = server.received_bytes
    after = await commit(work, "more")

    refused = await git(work, "push", "origin", "main", "main:topic", fails=True)

    assert "! [remote rejected] main -> main" in refused
    assert await heads(server.repository) == {MAIN: before, "refs/heads/topic": after}
    assert server.received_bytes - sent < 50_000


async def test_a_protected_branch_can_still_be_cloned_and_pushed_unchanged(
    server: GitServer, work: Path, tmp_path: Path
) -> None:
    await commit(work, "large", os.urandom(200_000))
    await git(work, "push", "origin", "main")
    server.protected = (MAIN,)
    sent = server.received_bytes

    await git(tmp_path, "clone", server.url, "copy")
    await commit(tmp_path / "copy", "more")
    await git(tmp_path / "copy", "push", "origin", "HEAD~1:main", "HEAD:topic")

    assert server.received_bytes - sent < 50_000  # the client knows what main has, and sends only what is new


@pytest.mark.parametrize("version", ["0", "2"])
async def test_refs_of_pitstop_itself_are_neither_seen_nor_pushed(
    server: GitServer, work: Path, repository: BareRepository, tmp_path: Path, version: str
) -> None:
    protocol = ("-c", f"protocol.version={version}")
    await git(work, "push", "origin", "main")
    kept = await commit_on(repository, "kept", {"k": "1"})
    await repository.move("refs/pitstop/kept", kept, ZEROS, who="Ada", message="keep")
    server.protected = (MAIN,)

    listed = await git(work, *protocol, "ls-remote", "origin")
    await git(tmp_path, *protocol, "clone", "--mirror", server.url, "mirror")
    refused = await git(work, *protocol, "push", "origin", "main:refs/pitstop/x", "main:topic", fails=True)
    removed = await git(work, *protocol, "push", "origin", ":refs/pitstop/kept", fails=True)
    await git(work, *protocol, "push", "origin", "main:refs/pitstop-like/x")

    assert [line.split("\t")[1] for line in listed.splitlines()] == ["HEAD", "refs/heads/kept", MAIN]
    assert "refs/pitstop" not in await git(tmp_path / "mirror", "for-each-ref")
    assert "deny updating a hidden ref" in refused
    assert "refs/pitstop/kept" in removed
    printed = (await run_git(repository.folder, "for-each-ref", "--format=%(refname)", "refs/pitstop")).decode()
    assert printed == "refs/pitstop/kept\n"
    assert "refs/heads/topic" in await heads(repository)


async def test_a_push_without_the_right_is_refused_in_words(server: GitServer, work: Path) -> None:
    server.may_push = False

    refused = await git(work, "push", "origin", "main", fails=True)

    assert "remote: You can fetch from this repository, but not push to it" in refused
    assert await heads(server.repository) == {}


async def test_a_push_that_is_too_large_is_refused_in_words(
    repository: BareRepository, server: GitServer, work: Path
) -> None:
    async with GitServer(repository, GitBackend(most_push_bytes=1_000_000)).running() as small:
        await git(work, "push", small.url, "main")
        await commit(work, "large", os.urandom(3_000_000))
        refused = await git(work, "push", small.url, "main", fails=True)

    assert "remote: fatal: pack exceeds maximum allowed size" in refused
    assert "! [remote rejected] main -> main (unpacker error)" in refused
    assert not left_in(repository)
    await repository.fsck()


def moving(old: str, new: str, ref: str) -> bytes:
    """What a client sends before the pack of a push."""
    command = f"{old} {new} {ref}\0report-status".encode()
    return b"%04x" % (len(command) + 4) + command + b"0000"


async def test_a_pack_of_garbage_is_refused(server: GitServer, repository: BareRepository) -> None:
    await commit_on(repository, "main", {"a": "1"})
    before = await heads(repository)

    answer = await post(server, "git-receive-pack", moving(before[MAIN], "1" * 40, MAIN) + b"PACK" + os.urandom(10_000))

    assert b"unpack" in answer
    assert b"ng refs/heads/main unpacker error" in answer
    assert await heads(repository) == before
    assert not left_in(repository)
    await repository.fsck()


async def test_a_ref_outside_of_branches_and_tags_is_refused(server: GitServer, repository: BareRepository) -> None:
    sha = await commit_on(repository, "main", {"a": "1"})
    files = {str(path) for path in repository.folder.parent.rglob("*") if "objects" not in path.parts}
    empty = b"PACK" + (2).to_bytes(4) + (0).to_bytes(4)
    pack = empty + hashlib.sha1(empty).digest()
    for ref in ("../x", "refs/heads/../../../x", "refs/heads/..", "refs/heads/a..b", "refs/heads/x.lock", "HEAD", "x"):
        answer = await post(server, "git-receive-pack", moving("0" * 40, sha, ref) + pack)

        assert f"ng {ref} funny refname".encode() in answer
        assert await heads(repository) == {MAIN: sha}
    assert {str(path) for path in repository.folder.parent.rglob("*") if "objects" not in path.parts} == files


async def test_broken_objects_are_refused(server: GitServer, work: Path) -> None:
    tree = await git(work, "rev-parse", "HEAD^{tree}")
    (work / "broken").write_text(f"tree {tree}\nauthor nobody\ncommitter nobody\n\nx\n")
    broken = await git(work, "hash-object", "-t", "commit", "-w", "--literally", "broken")

    refused = await git(work, "push", "origin", f"{broken}:refs/heads/main", fails=True)

    assert "missingEmail" in refused
    assert await heads(server.repository) == {}


async def test_old_flaws_of_well_known_repositories_are_taken(server: GitServer, work: Path) -> None:
    tree = await git(work, "rev-parse", "HEAD^{tree}")
    (work / "old").write_text(f"tree {tree}\nauthor a <a> 1 +051800\ncommitter a <a> 1 +051800\n\nx\n")
    old = await git(work, "hash-object", "-t", "commit", "-w", "--literally", "old")

    await git(work, "push", "origin", f"{old}:refs/heads/main")

    assert await heads(server.repository) == {MAIN: old}


async def test_a_hook_in_the_repository_is_not_run(server: GitServer, work: Path, tmp_path: Path) -> None:
    for name in ("pre-receive", "update", "post-receive"):
        hook = server.repository.folder / "hooks" / name
        hook.parent.mkdir(exist_ok=True)
        hook.write_text(f"#!/bin/sh\ntouch {tmp_path}/ran\nexit 1\n")
        hook.chmod(0o755)

    await git(work, "push", "origin", "main")

    assert not (tmp_path / "ran").exists()


async def test_the_dumb_protocol_and_other_files_are_not_served(server: GitServer, work: Path) -> None:
    await git(work, "push", "origin", "main")
    for path in ("/HEAD", "/config", "/info/refs", "/objects/info/packs", "/../demo.git/config"):
        assert b" 404 " in await fetch(server, path)


async def test_more_requests_than_allowed_are_refused_until_one_has_ended(
    repository: BareRepository, server: GitServer, work: Path, tmp_path: Path
) -> None:
    await git(work, "push", "origin", "main")
    async with GitServer(repository, GitBackend(most_at_once=1)).running() as small:
        small.gate.clear()
        async with asyncio.TaskGroup() as group:
            cloning = group.create_task(git(tmp_path, "clone", small.url, "copy"))
            await wait_until(lambda: any(each.method == "POST" for each in small.requests))
            refused = await git(tmp_path, "ls-remote", small.url, fails=True)
            small.gate.set()
            await cloning
        await git(tmp_path, "ls-remote", small.url)

    assert "error: 503" in refused
    assert [type(problem) for problem in small.problems] == [ServerBusy]


async def test_a_client_that_sends_nothing_is_not_waited_for(repository: BareRepository) -> None:
    idle = GitBackend(idle_seconds=0.1)
    async with GitServer(repository, idle).running() as server, connection(server) as (reader, writer):
        writer.write(head_of("git-receive-pack", 100))
        await reader.read()  # until the server closes the connection

    assert [str(problem) for problem in server.problems] == ["git http-backend failed: the client was idle for 0.1 s"]
