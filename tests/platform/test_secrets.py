"""No token and no secret of a webhook is stored or shown, whichever way it came."""

import asyncio
import base64
import io
import logging
import os
import shutil
from collections.abc import AsyncGenerator, Iterable
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any, TextIO
from urllib.parse import urlsplit

import httpx
import pytest
from msgspec import Struct

from pitstop.doors.cli.repos.own_git import server_in
from pitstop.errors import BadRepoSetting
from pitstop.platform.triggers.payload_facts import Provider
from pitstop.service.caller import LOCAL
from pitstop.service.hooks import HookInfo
from pitstop.service.repos import NewRepo, RepoChanges
from pitstop.serving.json_log import JsonLines
from pitstop.store.sql.backup import write_backup
from pitstop.store.sql.store import open_sql_store
from tests.executors.processes import descendants_of, processes_with
from tests.leaks import Leaks
from tests.patience import wait_until
from tests.platform.test_webhooks import PUSH, desk, flow, send
from tests.platform.warm_command import PROGRAM
from tests.platform.workbench import GitFailed, Workbench

PROVIDERS: tuple[Provider, ...] = ("github", "gitlab", "gitea", "plain")
SIGNATURES = ("x-gitlab-token", "x-hub-signature-256", "x-gitea-signature", "x-pitstop-signature-256")
SHOWS = """\
on: push
steps:
  - {id: show, run: 'env; cat .git/config; git config --list; git log -1 --format=fuller'}
"""


class Given(Struct, frozen=True):
    """Every secret of a server, and where to look for them."""

    tokens: dict[str, str]
    hooks: tuple[HookInfo, ...]

    @property
    def leaks(self) -> Leaks:
        return Leaks((*self.tokens.values(), *(hook.secret or "" for hook in self.hooks)))


async def give(bench: Workbench) -> Given:
    add = bench.house.access.add_token
    tokens = {
        "all": bench.token,
        "reader": (await add(LOCAL, "reader", "viewer", scope="git:read", repo=bench.repo)).token,
        "writer": (await add(LOCAL, "writer", "operator", scope="git:write")).token,
    }
    return Given(tokens, tuple([await desk(bench).add(LOCAL, bench.repo, provider) for provider in PROVIDERS]))


def with_password(url: str, token: str) -> str:
    """The URL as a user may write it, which git sends as a Basic header."""
    return url.replace("://", f"://ada:{token}@")


async def use_git(bench: Workbench, given: Given) -> None:
    """Push and fetch with each token, as a Basic and as a Bearer header, also where that is refused."""
    await bench.plain_git("push", with_password(bench.url(), given.tokens["writer"]), "HEAD:main")
    await bench.push("HEAD:other", token=given.tokens["all"])
    await bench.plain_git("ls-remote", with_password(bench.url(), given.tokens["reader"]))
    for token, url in ((given.tokens["reader"], bench.url()), (given.tokens["all"], bench.url("missing"))):
        with pytest.raises(GitFailed):
            await bench.plain_git("push", with_password(url, token), "HEAD:refused")


async def deliver(client: httpx.AsyncClient, given: Given) -> None:
    """Deliveries that are taken and refused, with every header and query in which a token may be."""
    token = given.tokens["all"]
    basic = base64.b64encode(f"ada:{token}".encode()).decode()
    headers = {"authorization": f"Basic {basic}", "cookie": f"session={token}", "x-pitstop-token": token}
    for hook in given.hooks:
        assert (await send(client, hook, {"ref": "refs/heads/main"}, headers)).status_code == 202
        assert (await send(client, hook, b"{not json", headers)).status_code == 422
        other = given.hooks[hook is given.hooks[0]].secret or ""
        forged = dict.fromkeys(SIGNATURES, other)
        answered = await send(client, hook, {}, forged)
        assert answered.status_code == 401
        assert given.leaks.found_in(answered.content) == []
        assert (await client.post(f"{hook.path}?token={token}", content=b"{}")).status_code == 401
    answered = await client.get(f"/git/x.git/info/refs?service=git-upload-pack&access_token={token}")
    assert answered.status_code == 401


async def shown(bench: Workbench, given: Given) -> str:
    """All that the desks show, and the output of every run."""
    service, repo = bench.house.service, bench.repo
    assert service.audit is not None
    texts: list[Any] = [await service.audit.page(), await bench.info(), await bench.repos.pushes(LOCAL, repo)]
    texts += [await bench.firings(), await desk(bench).list(LOCAL, repo), await bench.house.access.tokens(LOCAL)]
    texts += [await desk(bench).deliveries(LOCAL, repo, hook.id) for hook in given.hooks]
    for info in await bench.runs():
        run = await service.runs.get(LOCAL, info.id)
        texts += [info, [event async for event in run.events()], await run.log_tail("show")]
    return str(texts)


def handler_to(stream: TextIO) -> logging.Handler:
    """The handler of a server's log."""
    handler = logging.StreamHandler(stream)
    handler.setFormatter(JsonLines())
    return handler


async def test_no_token_or_secret_is_stored_or_shown(
    own_bench: Workbench, tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench = own_bench
    logged = io.StringIO()
    caplog.set_level(logging.DEBUG, "pitstop")
    monkeypatch.setattr(logging.getLogger(), "handlers", [handler_to(logged)])
    given = await give(bench)
    flows = {f".pitstop/flows/{provider}.yaml": flow(provider) for provider in PROVIDERS}
    await bench.commit({".pitstop/flows/ci.yaml": SHOWS, **flows})
    await use_git(bench, given)
    async with httpx.AsyncClient(base_url=bench.house.url, trust_env=False, timeout=60) as client:
        await deliver(client, given)
    text = await shown(bench, given)
    assert "outcome='started'" in text
    store = await open_sql_store(bench.settings.database)
    await write_backup(store.database, tmp_path / "backup.zip")
    await store.close()

    leaks = given.leaks
    assert leaks.found_in(text.encode()) == []
    assert leaks.found_in(logged.getvalue().encode()) == []
    assert leaks.found_in_backup(tmp_path / "backup.zip") == {}
    assert (bench.settings.home / "pitstop.db-wal").stat().st_size > 0
    found = leaks.found_below(bench.settings.home)  # in reflogs, configs, the database with its WAL
    assert list(found) == [str(bench.settings.token_file)]  # how programs of this user come in
    assert Leaks((PUSH["gitlab"]["x-gitlab-event-uuid"],)).found_in_backup(tmp_path / "backup.zip") != {}


async def test_a_secret_in_an_address_is_refused_and_not_repeated(bench: Workbench) -> None:
    secret = "ghp_16C7e42F292c6912E7710c838347Ae178B4a"
    for url in (f"https://ada:{secret}@example.com/x.git", f"https://{secret}@example.com/x.git"):
        for asked in (
            bench.repos.create(LOCAL, NewRepo(name=f"{bench.repo}-new", remote_url=url)),
            bench.repos.update(LOCAL, bench.repo, RepoChanges(remote_url=url)),
        ):
            with pytest.raises(BadRepoSetting) as refused:
                await asked
            assert Leaks((secret,)).found_in(str(refused.value).encode()) == []
    assert (await bench.info()).remote_url is None


@asynccontextmanager
async def half_a_push(bench: Workbench, token: str) -> AsyncGenerator[None]:
    """A push of which the first bytes have arrived, and no more arrive."""
    address = urlsplit(bench.url())
    basic = base64.b64encode(f"ada:{token}".encode()).decode()
    command = f"{'0' * 40} {'1' * 40} refs/heads/main\0report-status".encode()
    lines = (
        f"POST {address.path}/git-receive-pack HTTP/1.1",
        f"Host: {address.netloc}",
        f"Authorization: Basic {basic}",
        "Content-Type: application/x-git-receive-pack-request",
        "Content-Length: 1000000",
    )
    _, writer = await asyncio.open_connection(address.hostname, address.port)
    writer.write("\r\n".join((*lines, "", "")).encode() + b"%04x" % (len(command) + 4) + command + b"0000PACK")
    try:
        yield
    finally:
        writer.close()
        await writer.wait_closed()


def seen_of(pids: Iterable[int], *names: str) -> bytes:
    """The files of processes in /proc with these names, unless the processes have ended."""
    seen = []
    for pid in pids:
        with suppress(FileNotFoundError, ProcessLookupError):
            seen += [Path(f"/proc/{pid}/{name}").read_bytes() for name in names]
    return b"\n".join(seen)


def seen_in_process_list() -> bytes:
    """The command lines of all processes as `ps` shows them, and the environments of what this test has started."""
    listed = (int(process.name) for process in Path("/proc").iterdir() if process.name.isdigit())
    return seen_of(listed, "cmdline") + seen_of(descendants_of(os.getpid()), "environ")


async def test_git_of_the_server_knows_no_token(bench: Workbench) -> None:
    token = bench.token
    async with half_a_push(bench, token):
        found = await wait_until(lambda: _with(processes_with(str(bench.bare)), "receive-pack", "http-backend"))
        seen = seen_of(found, "cmdline", "environ")

    assert b"receive-pack" in seen
    assert b"GIT_CONFIG_COUNT" in seen
    assert Leaks((token,)).found_in(seen) == []
    await wait_until(lambda: not processes_with(str(bench.bare)))


def _with(processes: dict[int, str], *words: str) -> dict[int, str] | None:
    return processes if all(any(word in each for each in processes.values()) for word in words) else None


async def test_no_process_of_a_push_by_the_credential_helper_shows_the_token(bench: Workbench) -> None:
    await bench.push_flow()
    helper = f"!{PROGRAM} git-credential --server {server_in(bench.url())}"
    leaks, looks = Leaks((bench.token,)), 0
    async with asyncio.TaskGroup() as group:
        pushing = group.create_task(
            bench.plain_git("-c", f"credential.helper={helper}", "push", "--quiet", "origin", "HEAD:by-helper")
        )
        while not pushing.done():
            looks += 1
            assert leaks.found_in(seen_in_process_list()) == []
            await asyncio.sleep(0)

    assert looks > 2
    assert (await bench.newest_push()).ref == "refs/heads/by-helper"
    shutil.rmtree(bench.clone / ".git/objects")
    assert leaks.found_below(bench.clone) == {}
