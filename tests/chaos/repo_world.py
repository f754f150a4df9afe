"""A repository on a server that is killed and started again, and clients that ask until it answers."""

import asyncio
import random
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from pitstop.git.bare import BareRepository
from pitstop.git.names import BRANCHES
from tests.chaos.world import People, Servers
from tests.git.repositories import git
from tests.patience import PATIENCE_SECONDS

REPO = "shop"
LEASE_SECONDS = 5.0
LIFE_SECONDS = (0.3, 1.2)  # of a server that is ready, at most; more on a busy machine, where it starts late
START_SECONDS, MOST_SLOW = 0.5, 5.0
RUN_ENDED = ("passed", "failed", "cancelled", "timed_out")

Life = Callable[[], Coroutine[None, None, None]]


class RepoWorld:
    """One server with a repository, and the files that what runs there leaves in `marks`."""

    def __init__(self, servers: Servers, people: People, folder: Path) -> None:
        self.servers = servers
        self.people = people
        self.marks = folder / "marks"
        self.bare = BareRepository(servers.home / "repos" / f"{REPO}.git", REPO)
        self.did: Counter[str] = Counter()

    async def create(self) -> None:
        self.marks.mkdir()
        await self.ask("POST", "/repos", {"name": REPO}, key="create")
        await self.write("a.txt", "one\n")

    async def ask(self, method: str, path: str, body: Any = None, **more: Any) -> Any:
        """What the server answers, once it can; what a dead one has done already may be refused with 409."""
        given = {} if body is None else {"json": body}
        answer = await self.people.ask(method, path, **given, **more)
        assert answer.is_success or answer.status_code == 409, f"{method} {path}: {answer.status_code} {answer.text}"
        return answer.json()

    async def write(self, path: str, text: str, branch: str = "main") -> None:
        await self.ask("PUT", f"/repos/{REPO}/file", {"branch": branch, "path": path, "text": text})

    # The server

    def hit(self) -> None:
        """Kill the server, and start it again."""
        (port,) = self.servers.ports
        self.servers.kill(port)
        self.servers.start(port)
        self.did["kills"] += 1

    async def hit_during(
        self, doing: Coroutine[None, None, object], is_time: Callable[[], object], delay_seconds: float
    ) -> None:
        """Do something, and kill the server as soon as something is true of its files, or a moment later."""
        async with asyncio.TaskGroup() as group:
            group.create_task(doing)
            await asyncio.to_thread(spin_until, is_time)
            await asyncio.sleep(delay_seconds)
            self.hit()

    async def hit_often(self, lives: Iterable[Life], seed: int, times: int) -> None:
        """Live these lives, each again and again, while the server is killed this often."""
        is_over = asyncio.Event()

        async def live_on(live: Life) -> None:
            while not is_over.is_set():
                await live()

        async with asyncio.TaskGroup() as group:
            for live in lives:
                group.create_task(live_on(live))
            await self._hit_at_random(seed, times)
            is_over.set()

    async def _hit_at_random(self, seed: int, times: int) -> None:
        """Kill the server again and again: mostly when it is ready, and then at any moment of its life."""
        chance = random.Random(seed)
        for _ in range(times):
            began = time.monotonic()
            if chance.random() < 0.9:  # else it may well be hit while it starts
                await self.people.ask("GET", "/me")
            slowness = (time.monotonic() - began) / START_SECONDS
            life_seconds = chance.uniform(0.0, chance.choice(LIFE_SECONDS))
            await asyncio.sleep(life_seconds * min(max(1.0, slowness), MOST_SLOW))
            self.hit()

    # What is in the repository

    def ref(self, name: str) -> str:
        """Where a ref is; empty if it does not exist."""
        with suppress(FileNotFoundError):
            return (self.bare.folder / name).read_text().strip()
        return ""

    def head(self, branch: str) -> str:
        """Where a branch is; empty if it does not exist."""
        return self.ref(f"{BRANCHES}{branch}")

    async def refs(self, prefix: str) -> dict[str, str]:
        """The commits of all refs whose names begin so, by the rest of the name."""
        printed = await git(self.bare.folder, "for-each-ref", "--format=%(refname) %(objectname)", prefix)
        lines = (line.split(" ") for line in printed.splitlines())
        return {ref.removeprefix(prefix): sha for ref, sha in lines}

    async def messages(self, *words: str) -> list[list[str]]:
        """The lines of the message of each commit that `git log` finds."""
        printed = await git(self.bare.folder, "log", "-z", "--format=%B", *words)
        return [text.splitlines() for text in printed.split("\0") if text]


def spin_until(is_time: Callable[[], object]) -> None:
    """Look without a pause: what is waited for is over in a millisecond."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not is_time():
        assert time.monotonic() < deadline, "it does not come true"


@asynccontextmanager
async def repo_world(folder: Path, database: str, seed: int) -> AsyncIterator[RepoWorld]:
    """A server with the repository, which is killed at the end."""
    own = folder / "tmp"  # where a killed server leaves what it was writing
    own.mkdir()
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("TMPDIR", str(own))
        servers = Servers(folder / "home", database, 1, LEASE_SECONDS)
    people = People(servers, folder, seed)
    with servers.running():
        try:
            world = RepoWorld(servers, people, folder)
            await world.create()
            yield world
        finally:
            await people.close()
