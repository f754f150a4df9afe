"""Cards on a server that dies at any moment of their lives, and what has to be true in the end."""

import asyncio
import random
import time
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from itertools import count
from pathlib import Path
from typing import Any, Literal

from tests.chaos.repo_world import REPO, RUN_ENDED, RepoWorld, repo_world
from tests.executors.processes import processes_with

SETTLE_SECONDS, LOOK_SECONDS = 300.0, 0.05  # for a card of a server that is killed again and again
JUDGE = "on: {card_complete: {labels: [judged], on_pass: merge, on_fail: fail}}\nsteps: [{run: 'true'}]\n"
WORK = "echo begun >> {marks}/{name}; sleep 0.05; echo {name} > {name}.txt"
Moment = Literal["starting", "running", "committing", "ending", "approving", "updating", "judging"]


class CardWorld:
    """Cards that are worked on while their server is killed and started again."""

    def __init__(self, repo: RepoWorld, seed: int) -> None:
        self.repo = repo
        self.chance = random.Random(seed)
        self.cards: list[str] = []
        self._numbers = count()
        self.approved: Counter[str] = Counter()
        self.wrong: list[str] = []

    # What the cards do

    async def new_card(self, *, judged: bool = False) -> tuple[str, str, Path]:
        """A card in todo, the branch that it is going to have, and the file that its work begins with."""
        name = f"card{next(self._numbers)}"
        body = {
            "title": name,
            "work": {"run": WORK.format(marks=self.repo.marks, name=name)},
            "labels": ["judged"] if judged else [],
        }
        card = (await self.repo.ask("POST", f"/repos/{REPO}/cards", body, key=name))["id"]
        self.cards.append(card)
        return card, f"card/{card.rpartition('-')[2]}-{name}", self.repo.marks / name

    async def do(self, card: str, verb: str, **body: Any) -> None:
        await self.repo.ask("POST", f"/cards/{card}/{verb}", body)
        self.repo.did[verb] += 1

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
        found = await self.repo.ask("GET", f"/cards/{card}")
        if found["status"] != "in_progress" and found["run"] is not None:
            run = await self.repo.ask("GET", f"/runs/{found['run']}")
            if run["status"] not in RUN_ENDED:
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
        await self.repo.write(f"{card}.md", "base\n")
        await self.do(card, "update-branch")
        if self.chance.random() < 0.5:
            await self.repo.write(f"{card}.md", "more\n", branch)
            await self.settled(card, "in_review")
            await self.start(card)
            await self.settled(card, "in_review")
        await self.approve(card)

    # What they have left

    async def judge(self) -> list[str]:
        """What is wrong with what the cards have left."""
        wrong = [*self.wrong]
        mains = await self.repo.messages("main", "--first-parent")
        for card in self.cards:
            found = await self.settled(card, "todo", "in_review", "done", "failed")
            merges = sum(f"Card: {card}" in lines and f"Merge card {found['number']}: " in lines[0] for lines in mains)
            if merges != self.approved[card]:
                wrong.append(f"card {card} was approved {self.approved[card]} times, and merged {merges} times")
            if (found["status"] == "done") != bool(self.approved[card]):
                wrong.append(f"card {card} was approved {self.approved[card]} times, and is {found['status']}")
            wrong += await self.judge_attempts(card, await self.repo.messages(found["branch"]))
        if left := processes_with(str(self.repo.marks)):
            wrong.append(f"processes are left: {left}")
        return wrong

    async def judge_attempts(self, card: str, commits: list[list[str]]) -> list[str]:
        """What is wrong with the attempts at a card: each has ended, and has made its commit once."""
        wrong = []
        for attempt in await self.repo.ask("GET", f"/cards/{card}/attempts"):
            of_run = sum(f"Run: {attempt['run']}" in lines for lines in commits)
            if of_run != (attempt["to_sha"] is not None):
                wrong.append(f"attempt {attempt['number']} at {card} made {of_run} commits, and says {attempt}")
            if attempt["outcome"] != "passed" or attempt["ended_at"] is None:
                wrong.append(f"attempt {attempt['number']} at {card} has not passed: {attempt}")
        return wrong


@asynccontextmanager
async def card_world(folder: Path, database: str, seed: int) -> AsyncIterator[CardWorld]:
    """A server with the repository, and a flow in it that judges some cards."""
    async with repo_world(folder, database, seed) as repo:
        await repo.write(".pitstop/flows/judge.yaml", JUDGE)
        yield CardWorld(repo, seed)
