"""Trials on a server that dies at any moment of their lives, and what has to be true in the end."""

import asyncio
import random
import time
from collections import defaultdict
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from itertools import count
from pathlib import Path
from typing import Any, Literal

from pitstop.git.names import BRANCHES
from pitstop.platform.playground.trial_values import KEPT, SAVED
from tests.chaos.repo_world import REPO, RUN_ENDED, RepoWorld, repo_world
from tests.executors.processes import processes_with
from tests.git.repositories import git
from tests.patience import wait_until
from tests.platform.playground.trial_bench import ENDED, SCRIPT

SETTLE_SECONDS, LOOK_SECONDS = 300.0, 0.05  # for a trial of a server that is killed again and again
RESULT = "result.txt"
WORK = f"echo begun >> {{marks}}/$PITSTOP_RUN; sleep 0.05; echo $PITSTOP_RUN > {RESULT}"
HANGS = """\
trap 'touch {marks}/$PITSTOP_RUN.told; sleep 0.1; exit 1' TERM
sleep 20 & echo begun >> {marks}/$PITSTOP_RUN; wait
"""
BY_SERVER, BY_USER = "server", "user"  # the names that results are saved under, by who saves them
Moment = Literal["queued", "running", "cancelling", "committing", "saving", "ended", "deleting"]


class TrialWorld:
    """Trials that are made, cancelled, saved and deleted while their server is killed and started again."""

    def __init__(self, repo: RepoWorld, seed: int) -> None:
        self.repo = repo
        self.chance = random.Random(seed)
        self.main = repo.head("main")
        self.deleted: dict[str, Any] = {}  # trials as they were then, by id
        self.expected: dict[str, tuple[str, ...]] = {}  # the states that a trial may end in, by id
        self.wrong: list[str] = []
        self._numbers = count()

    # What trials do

    async def new_trial(self, script: str = WORK, *, save: str | None = None) -> Any:
        """A trial of a new operator: each may start only a few a minute."""
        prompt = script.format(marks=self.repo.marks)
        body = {"repo": REPO, "profiles": ["script"], "prompt": prompt, "save": save}
        token = await self._new_operator()
        (trial,) = await self.repo.ask("POST", "/trials", body, key="trial", token=token)
        self.repo.did["trials"] += 1
        return trial

    async def _new_operator(self) -> str:
        """Its token. What a dead server did not answer is asked for under another name."""
        while True:
            body = {"name": f"user-{next(self._numbers)}", "role": "operator"}
            answer = await self.repo.people.ask("POST", "/tokens", json=body)
            if answer.is_success:
                return str(answer.json()["token"])
            assert answer.status_code == 409, answer.text

    def mark(self, trial: Any) -> Path:
        """The file that its agent begins with."""
        return self.repo.marks / str(trial["run"])

    async def look(self, trial: str) -> Any:
        """The trial. If it has ended, nothing runs for it."""
        found = await self.repo.ask("GET", f"/trials/{trial}")
        if found["state"] in ENDED:
            run = await self.repo.people.ask("GET", f"/runs/{found['run']}")
            status = run.json()["status"] if run.is_success else "never begun"
            alive = processes_with(found["run"])
            if alive or (run.is_success and status not in RUN_ENDED):
                self.wrong.append(f"trial {trial} is {found['state']}, but its run is {status}, with {alive}")
        return found

    async def settled(self, trial: str) -> Any:
        """The trial when it has ended."""
        deadline = time.monotonic() + SETTLE_SECONDS
        while (found := await self.look(trial))["state"] not in ENDED:
            assert time.monotonic() < deadline, f"trial {trial} does not end: {found}"
            await asyncio.sleep(LOOK_SECONDS)
        return found

    async def cancel(self, trial: str) -> None:
        """Cancel it once: it must end by itself from then on."""
        await self.repo.ask("POST", f"/trials/{trial}/cancel")
        self.repo.did["cancels"] += 1

    async def save(self, trial: str) -> None:
        await self.repo.ask("POST", f"/trials/{trial}/save", {"name": BY_USER})
        self.repo.did["saves"] += 1

    async def delete(self, trial: str) -> None:
        """Delete it: what a dead server has deleted is gone."""
        self.deleted[trial] = await self.settled(trial)
        answer = await self.repo.people.ask("DELETE", f"/trials/{trial}")
        assert answer.status_code in (204, 404), answer.text
        self.repo.did["deletes"] += 1

    async def live(self) -> None:
        """A whole life: created, cancelled or not, saved or not, and some are deleted."""
        before = self.repo.did["kills"]
        hangs = self.chance.random() < 0.3
        is_cancelled = hangs or self.chance.random() < 0.3
        trial = await self.new_trial(HANGS if hangs else WORK, save=self.chance.choice((None, BY_SERVER)))
        if is_cancelled:
            await asyncio.sleep(self.chance.uniform(0.0, 0.5))
            await self.cancel(trial["id"])
        ended = await self.settled(trial["id"])
        was_killed = self.repo.did["kills"] > before
        possible = {"passed": not hangs, "cancelled": is_cancelled, "failed": was_killed}
        self.expected[trial["id"]] = tuple(state for state, is_possible in possible.items() if is_possible)
        if ended["to_sha"] is not None and self.chance.random() < 0.5:
            await self.save(trial["id"])
        if self.chance.random() < 0.2:
            await self.delete(trial["id"])

    # What they have left

    async def judge(self) -> list[str]:
        """What is wrong with what the trials have left."""
        listed = await self._all()
        present = [await self.settled(each["id"]) for each in listed]
        every = [*present, *self.deleted.values()]
        wrong = [*self.wrong]
        for trial in every:
            wrong += await self._judge_end(trial)
        wrong += self._judge_runs(every, await self._runs())
        wrong += self._judge_branches(every, await self.repo.refs(BRANCHES))
        stored = {each["id"]: each["to_sha"] for each in present if each["to_sha"] is not None}

        async def is_tidy() -> bool:
            return await self.repo.refs(KEPT) == stored

        await wait_until(is_tidy, f"results are stored that no trial has: {await self.repo.refs(KEPT)}, not {stored}")
        if len(every) != self.repo.did["trials"]:
            wrong.append(f"{self.repo.did['trials']} trials were asked for, and {len(every)} created")
        self.repo.did.update(each["state"] for each in every)
        return wrong

    async def _judge_end(self, trial: Any) -> list[str]:
        """What is wrong with how a trial ended, and with its result."""
        wrong = []
        expected = self.expected.get(trial["id"], ENDED)
        if trial["state"] not in expected:
            wrong.append(f"trial {trial['id']} should be {' or '.join(expected)}: {trial}")
        if trial["state"] == "passed" and (trial["to_sha"] is None) == (RESULT in trial["prompt"]):
            wrong.append(f"trial {trial['id']} should have a result or none: {trial}")
        mark = self.mark(trial)
        if mark.exists() and mark.read_text().count("begun") > 1:
            wrong.append(f"the agent of trial {trial['id']} has begun again")
        if trial["to_sha"] is not None and trial["id"] not in self.deleted:
            parents = await git(self.repo.bare.folder, "log", "-1", "--format=%P", trial["to_sha"])
            (message,) = await self.repo.messages("-1", trial["to_sha"])
            if parents != trial["sha"] or f"Run: {trial['run']}" not in message:
                wrong.append(f"trial {trial['id']} has the commit of another one: {message} on {parents}")
        return wrong

    def _judge_runs(self, trials: list[Any], runs: dict[str, str]) -> list[str]:
        """What is wrong with the runs: each is the one of a trial, which says how it ended."""
        said = {each["run"]: each["state"] for each in trials}
        return [
            f"run {run} is {status}, but its trial is {said.get(run)}"
            for run, status in runs.items()
            if said.get(run) != ("failed" if status == "timed_out" else status)
        ]

    def _judge_branches(self, trials: list[Any], branches: dict[str, str]) -> list[str]:
        """What is wrong with the branches: each but main has the result of a trial, once under each name."""
        wrong = [] if branches.pop("main") == self.main else ["main has moved"]
        names: defaultdict[str, dict[int, str]] = defaultdict(dict)
        for branch, sha in branches.items():
            name, _, number = branch.removeprefix(SAVED).rpartition("-")
            names[name][int(number)] = sha
        results = {each["to_sha"] for each in trials if each["to_sha"] is not None}
        for name, saved in names.items():
            if sorted(saved) != [*range(1, len(saved) + 1)] or len({*saved.values()}) < len(saved):
                wrong.append(f"{name!r} has a gap, or one result twice: {saved}")
            if not results.issuperset(saved.values()):
                wrong.append(f"{name!r} has what is no result: {saved}")
        for trial in trials:
            at = branches.get(trial["branch"])
            is_due = trial["settings"]["save"] is not None and trial["to_sha"] is not None
            if (is_due or trial["branch"] is not None) and at != trial["to_sha"]:
                wrong.append(f"the branch of trial {trial['id']} is at {at}: {trial}")
        return wrong

    async def _all(self) -> list[Any]:
        """All trials that are stored, also those that a client was not told of."""
        found: list[Any] = []
        cursor: dict[str, str] = {}
        while True:
            page = await self.repo.ask("GET", "/trials", params={"repo": REPO, "limit": 100, **cursor})
            found += page["trials"]
            if page["next"] is None:
                return found
            cursor = {"cursor": page["next"]}

    async def _runs(self) -> dict[str, str]:
        """How all runs have ended, by id."""
        runs = await self.repo.people.all_runs()
        return {run: (await self.repo.ask("GET", f"/runs/{run}"))["status"] for run in runs}


@asynccontextmanager
async def trial_world(folder: Path, database: str, seed: int) -> AsyncIterator[TrialWorld]:
    """A server with the repository, in which an agent executes its prompt as a script."""
    async with repo_world(folder, database, seed) as repo:
        await repo.write(".pitstop/agents/script.yaml", SCRIPT)
        yield TrialWorld(repo, seed)
