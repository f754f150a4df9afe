"""Cards on a server that dies at any moment of their lives, and what has to be true in the end."""

import asyncio
import random
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from itertools import count
from pathlib import Path
from typing import Any, Literal

import pytest

from pitstop.git.bare import BareRepository
from tests.chaos.world import People, Servers
from tests.executors.processes import processes_with
from tests.git.repositories import git
from tests.patience import PATIENCE_SECONDS

REPO = "shop"
LEASE_SECONDS = 5.0
SETTLE_SECONDS, LOOK_SECONDS = 300.0, 0.05  # for a card of a server that is killed again and again
ENDED = ("passed", "failed", "cancelled", "timed_out")
JUDGE = "on: {card_complete: {labels: [judged], on_pass: merge, on_fail: fail}}\nsteps: [{run: 'true'}]\n"
WORK = "echo begun >> {marks}/{name}; sleep 0.05; echo {name} > {name}.txt"
Moment = Literal["starting", "running", "committing", "ending", "approving", "updating", "judging"]


class CardWorld:
    """One server with a repository, and cards that are worked on while it is killed and started again."""

    def __init__(self, servers: Servers, people: People, folder: Path, seed: int) -> None:
        self.servers = servers
        self.people = people
        self.marks = folder / "marks"
        self.bare = BareRepository(servers.home / "repos" / f"{REPO}.git", REPO)
        self.chance = random.Random(seed)
        self.cards: list[str] = []
        self._numbers = count()
        self.approved: Counter[str] = Counter()
        self.wrong: list[str] = []
        self.did: Counter[str] = Counter()

    async def create(self) -> None:
        self.marks.mkdir()
        await self.ask("POST", "/repos", {"name": REPO}, key="create")
        await self.write("a.txt", "one\n")
        await self.write(".pitstop/flows/judge.yaml", JUDGE)

    async def ask(self, method: str, path: str, body: Any = None, key: str | None = None) -> Any:
        """What the server answers, once it can; what a dead one has done already may be refused with 409."""
        more = {} if body is None else {"json": body}
        answer = await self.people.ask(method, path, key=key, **more)
        assert answer.is_success or answer.status_code == 409, f"{method} {path}: {answer.status_code} {answer.text}"
        return answer.json()

    async def write(self, path: str, text: str, branch: str = "main") -> None:
        await self.ask("PUT", f"/repos/{REPO}/file", {"branch": branch, "path": path, "text": text})

    def hit(self) -> None:
        """Kill the server, and start it again."""
        (port,) = self.servers.ports
        self.servers.kill(port)
        self.servers.start(port)
        self.did["kills"] += 1

    async def hit_when(self, is_time: Callable[[], object], delay_seconds: float) -> None:
        """Kill the server as soon as something is true of its files, or a moment later."""
        await asyncio.to_thread(spin_until, is_time)
        await asyncio.sleep(delay_seconds)
        self.hit()

    # What the cards do

    async def new_card(self, *, judged: bool = False) -> tuple[str, str, Path]:
        """A card in todo, the branch that it is going to have, and the file that its work begins with."""
        name = f"card{next(self._numbers)}"
        body = {
            "title": name,
            "work": {"run": WORK.format(marks=self.marks, name=name)},
            "labels": ["judged"] if judged else [],
        }
        card = (await self.ask("POST", f"/repos/{REPO}/cards", body, key=name))["id"]
        self.cards.append(card)
        return card, f"card/{card.rpartition('-')[2]}-{name}", self.marks / name

    async def do(self, card: str, verb: str, **body: Any) -> None:
        await self.ask("POST", f"/cards/{card}/{verb}", body)
        self.did[verb] += 1

    async def settled(self, card: str, *statuses: str) -> Any:
        """The card when it has one of these statuses. Until then it never says less than its run does."""

        deadline = time.monotonic() + SETTLE_SECONDS
        while True:
            found = await self.look(card)
            if found["status"] in statuses and not found["judges"]:
                return found
            assert time.monotonic() < deadline, f"card {card} does not get to be {statuses}: {found}"
            await asyncio.sleep(LOOK_SECONDS)

    async def look(self, card: str) -> Any:
        """The card. If it is not in progress, its run has ended by then."""
        found = await self.ask("GET", f"/cards/{card}")
        if found["status"] != "in_progress" and found["run"] is not None:
            run = await self.ask("GET", f"/runs/{found['run']}")
            if run["status"] not in ENDED:
                self.wrong.append(f"card {card} is {found['status']}, but its run is {run['status']}")
        return found

    async def approve(self, card: str) -> None:
        """Approve a card until it is done."""
        self.approved[card] += 1
        while (await self.look(card))["status"] != "done":
            await self.do(card, "approve")

    async def start(self, card: str) -> None:
        """Start a card until an attempt has begun."""
        before = (await self.look(card))["attempt"]
        while (await self.look(card))["attempt"] == before:
            await self.do(card, "start")

    async def live(self, *, judged: bool) -> None:
        """A whole life: started, worked on, updated, retried, merged."""
        card, branch, _ = await self.new_card(judged=judged)
        await self.start(card)
        if judged:
            self.approved[card] += 1
            await self.settled(card, "done")
            return
        await self.settled(card, "in_review")
        await self.write(f"{card}.md", "base\n")
        await self.do(card, "update-branch")
        if self.chance.random() < 0.5:
            await self.write(f"{card}.md", "more\n", branch)
            await self.settled(card, "in_review")
            await self.start(card)
            await self.settled(card, "in_review")
        await self.approve(card)

    # What is in the repository

    def ref(self, branch: str) -> str:
        """Where a branch is; empty if it does not exist."""
        with suppress(FileNotFoundError):
            return (self.bare.folder / "refs/heads" / branch).read_text().strip()
        return ""

    async def judge(self) -> list[str]:
        """What is wrong with what the cards have left."""
        wrong = [*self.wrong]
        mains = await self.messages("main", "--first-parent")
        for card in self.cards:
            found = await self.settled(card, "todo", "in_review", "done", "failed")
            merges = sum(f"Card: {card}" in lines and f"Merge card {found['number']}: " in lines[0] for lines in mains)
            if merges != self.approved[card]:
                wrong.append(f"card {card} was approved {self.approved[card]} times, and merged {merges} times")
            if (found["status"] == "done") != bool(self.approved[card]):
                wrong.append(f"card {card} was approved {self.approved[card]} times, and is {found['status']}")
            wrong += await self.judge_attempts(card, await self.messages(found["branch"]))
        if left := processes_with(str(self.marks)):
            wrong.append(f"processes are left: {left}")
        return wrong

    async def judge_attempts(self, card: str, commits: list[list[str]]) -> list[str]:
        """What is wrong with the attempts at a card: each has ended, and has made its commit once."""
        wrong = []
        for attempt in await self.ask("GET", f"/cards/{card}/attempts"):
            of_run = sum(f"Run: {attempt['run']}" in lines for lines in commits)
            if of_run != (attempt["to_sha"] is not None):
                wrong.append(f"attempt {attempt['number']} at {card} made {of_run} commits, and says {attempt}")
            if attempt["outcome"] != "passed" or attempt["ended_at"] is None:
                wrong.append(f"attempt {attempt['number']} at {card} has not passed: {attempt}")
        return wrong

    async def messages(self, branch: str, *options: str) -> list[list[str]]:
        """The lines of each commit message of a branch."""
        printed = await git(self.bare.folder, "log", "-z", "--format=%B", *options, branch)
        return [text.splitlines() for text in printed.split("\0") if text]


def spin_until(is_time: Callable[[], object]) -> None:
    """Look without a pause: what is waited for is over in a millisecond."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not is_time():
        assert time.monotonic() < deadline, "it does not come true"


@asynccontextmanager
async def card_world(folder: Path, database: str, seed: int) -> AsyncIterator[CardWorld]:
    """A server with the repository, which is killed at the end."""
    own = folder / "tmp"  # where a killed server leaves what it was writing
    own.mkdir()
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("TMPDIR", str(own))
        servers = Servers(folder / "home", database, 1, LEASE_SECONDS)
    people = People(servers, folder, seed)
    with servers.running():
        try:
            world = CardWorld(servers, people, folder, seed)
            await world.create()
            yield world
        finally:
            await people.close()
