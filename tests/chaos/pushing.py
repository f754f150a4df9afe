"""A git client that pushes to a server which dies at any moment, and what has to be true in the end."""

import asyncio
import os
import signal
import time
from collections import Counter
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from pathlib import Path
from typing import Any

from pitstop.git.bare import BareRepository
from pitstop.platform.repo_values import FiringRecord, PushRecord
from pitstop.platform.stored.all import stored_in
from pitstop.platform.workshop import STALE_SECONDS
from pitstop.store.sql.store import open_sql_store
from tests.chaos.world import People, Servers
from tests.executors.processes import processes_with
from tests.git.repositories import git, git_running
from tests.patience import wait_until

REPO = "shop"
MAIN = "refs/heads/main"
LEASE_SECONDS = 5.0
MOST_ROWS = 100_000
PAGE = 100
TRIGGERS = {
    "all": "push",
    "branch": "{push: {branches: [main]}}",
    "paths": "{push: {paths: ['number*']}}",
}
FLOW = """
on: TRIGGER
env: {MARKS: "MARKS_FOLDER", SHA: "${{ .trigger.sha }}"}
steps:
  - {id: mark, run: 'echo "$PITSTOP_RUN $(git rev-parse HEAD)" >> "$MARKS/NAME.$SHA"'}
"""


class PushWorld:
    """One server with a repository, a clone that is pushed from, and the files that the steps leave."""

    def __init__(self, servers: Servers, people: People, folder: Path, database: str) -> None:
        self.servers = servers
        self.people = people
        self.clone = folder / "clone"
        self.marks = folder / "marks"
        self.repos = servers.home / "repos"
        self.bare = BareRepository(self.repos / f"{REPO}.git", REPO)
        self.database = database
        self.did: Counter[str] = Counter()

    @property
    def port(self) -> int:
        return self.servers.ports[0]

    async def create(self) -> None:
        """A ready repository, and a clone of it without a commit."""
        self.marks.mkdir()
        answer = await self.people.ask("POST", "/repos", json={"name": REPO}, key="create")
        assert answer.status_code == 201, answer.text
        await git(self.clone.parent, "init", "--quiet", str(self.clone))
        await git(self.clone, "config", "pack.window", "0")  # large random files have no deltas
        token = (self.servers.home / "token").read_text().strip()
        await git(self.clone, "config", "http.extraHeader", f"Authorization: Bearer {token}")
        await git(self.clone, "remote", "add", "origin", f"http://127.0.0.1:{self.port}/git/{REPO}.git")

    # The client

    async def commit(self, files: Mapping[str, bytes | str]) -> str:
        for name, content in files.items():
            path = self.clone / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content.encode() if isinstance(content, str) else content)
        await git(self.clone, "add", "--all")
        await git(self.clone, "commit", "--quiet", "-m", f"Change {', '.join(files)}"[:70])
        return await git(self.clone, "rev-parse", "HEAD")

    def flows(self) -> dict[str, str]:
        """Three flows that a push of a new `number` starts, each of which leaves a line."""
        place = str(self.marks)
        return {
            f".pitstop/flows/{name}.yaml": FLOW.replace("TRIGGER", trigger)
            .replace("NAME", name)
            .replace("MARKS_FOLDER", place)
            for name, trigger in TRIGGERS.items()
        }

    def pushing(self, *refs: str) -> AbstractAsyncContextManager[asyncio.subprocess.Process]:
        """A push that has begun; its client is killed at the end, if it has not ended."""
        return git_running(self.clone, "push", "--quiet", "origin", *(refs or ("HEAD:main",)))

    async def push(self, *refs: str) -> None:
        """Push, and again until the server has answered that it is done."""

        async def try_once() -> bool:
            await self.people.ask("GET", "/me")
            async with self.pushing(*refs) as process:
                code = await process.wait()
            self.did["pushes" if code == 0 else "failed pushes"] += 1
            return code == 0

        await wait_until(try_once, f"no push succeeds: {dict(self.did)}")

    # The server

    def kill(self, *, with_git: bool = False) -> None:
        """Kill the server alone, as a crash would, or with all of its git, as the end of a container would."""
        os.kill(self.servers.pids[self.port], signal.SIGSTOP)
        if with_git:
            self.kill_git()
        self.servers.kill(self.port)
        self.did["kills with git" if with_git else "kills"] += 1

    def kill_git(self) -> None:
        while running := processes_with(str(self.repos)):
            for pid in running:
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)

    def start(self) -> None:
        self.servers.start(self.port)

    async def restart_later(self) -> None:
        """Start the server again when whatever a killed git has left is old, and so cannot be in use."""
        self.kill()
        await wait_until(lambda: not processes_with(str(self.repos)), "git does not end without its server")
        old = time.time() - 2 * STALE_SECONDS
        for left in self.left_by_killed_git():
            path = self.bare.folder / left
            for each in (path, *path.rglob("*")):
                os.utime(each, (old, old))
        self.start()
        await self.people.ask("GET", "/me")

    async def wait_quiet(self) -> list[dict[str, Any]]:
        """All runs when where main is has been noticed, and nothing is pending or running any more."""

        async def is_known() -> bool:
            pushes = (await self.people.ask("GET", f"/repos/{REPO}/pushes", params={"limit": 1})).json()["pushes"]
            return [push["new"] for push in pushes if push["ref"] == MAIN] == [self.main()]

        await wait_until(is_known, "a push stays unknown")

        async def ended() -> tuple[list[dict[str, Any]]] | None:
            if any(firing["outcome"] == "pending" for firing in await self.all_of(f"/repos/{REPO}/firings", "firings")):
                return None
            runs = await self.all_of("/runs", "runs")
            return None if any(run["status"] in ("pending", "running") for run in runs) else (runs,)

        found: list[dict[str, Any]] = (await wait_until(ended, "something stays pending or running"))[0]
        return found

    async def all_of(self, path: str, name: str) -> list[dict[str, Any]]:
        """Every row of a list, page by page."""
        found: list[dict[str, Any]] = []
        cursor: dict[str, str] = {}
        while True:
            page = (await self.people.ask("GET", path, params={"limit": PAGE, **cursor})).json()
            assert len(page[name]) <= PAGE
            found += page[name]
            if page["next"] is None:
                return found
            cursor = {"cursor": page["next"]}

    # What is there

    def left_by_killed_git(self) -> list[str]:
        folder = self.bare.folder
        found = [*(folder / "objects").rglob("tmp*"), *(folder / "objects").glob("incoming*"), *folder.rglob("*.lock")]
        return sorted(str(path.relative_to(folder)) for path in found)

    def quarantined_bytes(self) -> int:
        """What has arrived of pushes that are not accepted yet."""
        size = 0
        for path in (self.bare.folder / "objects").glob("tmp_objdir-*/**/*"):
            with suppress(FileNotFoundError):
                size += path.stat().st_size
        return size

    def is_receiving(self) -> bool:
        """Whether git has begun to answer a client that pushes."""
        return any("receive-pack" in line for line in processes_with(str(self.bare.folder)).values())

    def main(self) -> str:
        file = self.bare.folder / MAIN
        return file.read_text().strip() if file.exists() else ""

    async def heads(self) -> dict[str, str]:
        printed = await git(self.bare.folder, "for-each-ref", "--format=%(refname) %(objectname)")
        return dict(line.split(" ") for line in printed.splitlines())

    async def stored(self) -> "Rows":
        store = await open_sql_store(self.database)
        try:
            stored = stored_in(store.database, store.news)
            return Rows(
                await stored.pushes.known_refs(REPO),
                (await stored.pushes.newest(REPO, limit=MOST_ROWS))[::-1],
                (await stored.firings.newest(REPO, limit=MOST_ROWS))[::-1],
            )
        finally:
            await store.close()


class Rows:
    """What the database has of the repository, oldest first."""

    def __init__(self, refs: Mapping[str, str], pushes: Sequence[PushRecord], firings: Sequence[FiringRecord]) -> None:
        self.refs = refs
        self.pushes = pushes
        self.firings = firings

    def moves(self, ref: str = MAIN) -> list[tuple[str | None, str | None]]:
        return [(push.old, push.new) for push in self.pushes if push.ref == ref]


@asynccontextmanager
async def push_world(folder: Path, database: str, seed: int) -> AsyncIterator[PushWorld]:
    """A server with the repository, which is killed at the end."""
    servers = Servers(folder / "home", database, 1, LEASE_SECONDS)
    people = People(servers, folder, seed)
    with servers.running():
        try:
            world = PushWorld(servers, people, folder, database)
            await world.create()
            yield world
        finally:
            await people.close()


async def judge(world: PushWorld, commits: Sequence[str], runs: Sequence[Mapping[str, Any]]) -> list[str]:
    """What is wrong: each commit was pushed to main on its own, and starts each flow once."""
    rows = await world.stored()
    wrong = []
    if rows.refs != (heads := await world.heads()):
        wrong.append(f"refs are known as {rows.refs}, but git has {heads}")
    if rows.moves() != list(zip([None, *commits], commits, strict=False)):
        wrong.append(f"{len(commits)} commits were pushed, but the moves of main are {rows.moves()}")
    started = Counter((each.flow, each.sha) for each in rows.firings if each.outcome == "started")
    due: Counter[tuple[str, str | None]] = Counter((flow, sha) for sha in commits for flow in TRIGGERS)
    if started != due:
        wrong.append(f"not started: {due - started}, started too often: {started - due}")
    others = [each for each in rows.firings if each.outcome not in ("started", "duplicate")]
    wrong += [f"{each.flow} at {each.sha} is {each.outcome}: {each.reason}" for each in others]
    firings = {each.run: each for each in rows.firings if each.run is not None}
    if len(firings) != started.total() or firings.keys() != {run["id"] for run in runs}:
        wrong.append(f"{started.total()} firings have started {len(firings)} runs, and there are {len(runs)}")
    wrong += [f"{run['id']} is {run['status']}: {run.get('error')}" for run in runs if run["status"] != "passed"]
    for run, firing in firings.items():
        file = world.marks / f"{firing.flow}.{firing.sha}"
        marks = set(file.read_text().splitlines()) if file.exists() else set()
        if marks != {f"{run} {firing.sha}"}:
            wrong.append(f"{firing.flow} at {firing.sha} was executed as {marks}, and its firing has run {run}")
    return wrong
