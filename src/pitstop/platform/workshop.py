"""The workshop of a server: its repositories, what is pushed to them, and the runs that follow."""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Self

from pitstop.engine.ports import Clock, Evaluator
from pitstop.errors import GitProblem, PitstopError
from pitstop.git.backend import GitBackend
from pitstop.git.leftovers import remove_leftovers
from pitstop.git.smart_http import GitAnswer, GitRequest
from pitstop.platform.cards.cards import CardWork
from pitstop.platform.committed_flows import CommittedFlows
from pitstop.platform.feed import Feed
from pitstop.platform.flow_index import FlowIndex
from pitstop.platform.hook_values import Delivered
from pitstop.platform.hooks import HookReceiver, Unseal
from pitstop.platform.open_repos import OpenRepo, OpenRepos, Servers
from pitstop.platform.playground.trials import TrialWork
from pitstop.platform.repo_values import BRANCHES, FiringRecord, RepoRecord
from pitstop.platform.scanning import Scanner
from pitstop.platform.scheduling import Scheduler
from pitstop.platform.starting import Starter
from pitstop.platform.stored.all import Stored
from pitstop.platform.stored.firings import NewFiring
from pitstop.platform.work_runs import WorkRuns
from pitstop.runs.flow_files import FlowFiles
from pitstop.runs.run_request import RunRequest
from pitstop.runs.server_runs import ServerRuns

SCAN_SECONDS = 60.0
UPKEEP_SECONDS = 3600.0
AGAIN_SECONDS = 5.0
STALE_SECONDS = 10.0  # after which what a killed push has left is removed; git holds a lock for milliseconds

log = logging.getLogger(__name__)


class Workshop:
    """All that is done with repositories. Its chores run while its context lasts."""

    def __init__(
        self,
        stored: Stored,
        folder: Path,
        home: str,
        servers: Servers,
        unseal: Unseal,
        files: FlowFiles,
        new_evaluator: Callable[[], Evaluator],
        clock: Clock,
    ) -> None:
        self.repos, self.firings, self.pushes = stored.repos, stored.firings, stored.pushes
        self._feed = stored.feed
        self.feed = Feed(stored.feed, clock)
        self.opened = OpenRepos(folder, home, servers)
        self.index = FlowIndex(files, new_evaluator)
        self._work_runs = WorkRuns(stored.firings, clock)
        self.cards = CardWork(stored, self.opened, self.index, self._work_runs, clock, self.wake)
        self.trials = TrialWork(stored, self.cards, self._work_runs, clock, self.scan_now)
        self.flows = CommittedFlows(self.repos, self.opened, self.cards, self.trials.results.commit, self.scan_now)
        self._backend = GitBackend()
        self._scanner = Scanner(self.pushes, self.firings, self.index)
        self._scheduler = Scheduler(self.repos, self.pushes, stored.schedules, self.opened, clock)
        self.hooks, self.tests = stored.hooks, stored.tests
        self.receiver = HookReceiver(self.repos, self.pushes, stored.hooks, self.opened, new_evaluator, clock, unseal)
        self._starter: Starter | None = None
        self._clock = clock

    @asynccontextmanager
    async def open(self, runs: ServerRuns) -> AsyncIterator[Self]:
        """Start what is pending, and look for pushes that nothing was told of, for as long as the context lasts."""
        self._starter = Starter(self.firings, self._complete, runs, self.opened.home)
        self._work_runs.use(runs, self._starter.refuse)
        try:
            async with asyncio.TaskGroup() as group:
                await self._recover()
                chores = [
                    group.create_task(self._starter.start_for_ever(), name="start firings"),
                    group.create_task(self._every(SCAN_SECONDS, self.scan_all), name="scan repositories"),
                    group.create_task(self.feed.look_for_ever(), name="look at the feed"),
                    group.create_task(self._fire_schedules(), name="fire schedules"),
                    group.create_task(self.cards.follow(), name="follow cards"),
                    group.create_task(self.trials.follow(), name="follow trials"),
                    group.create_task(self._every(UPKEEP_SECONDS, self._keep_up), name="maintain repositories"),
                ]
                try:
                    yield self
                finally:
                    for chore in chores:
                        chore.cancel()
        finally:
            await self.opened.close()

    # Repositories

    async def create(self, record: RepoRecord) -> None:
        """Make a repository, which is then being filled: pushes start nothing before `finish`. RepoExists."""
        await self.repos.add(record)
        await self._make(record)

    async def create_again(self, record: RepoRecord) -> None:
        """Go on with one that is still being filled, or could not be created; RepoElsewhere."""
        await self.opened.check_home(record)
        if record.state == "failed":
            await self.repos.move(record.id, "creating")
        await self._make(record)

    async def _make(self, record: RepoRecord) -> None:
        try:
            await self.opened.get(record.id).bare.create(record.default_branch)
        except (PitstopError, OSError) as error:
            problem = error if isinstance(error, PitstopError) else GitProblem("init", error.strerror or str(error))
            await self.repos.move(record.id, "failed", str(problem))
            raise problem from error

    async def finish(self, repo: str) -> None:
        """A repository has all that it begins with: pushes start flows from now on."""
        record = await self.repos.get(repo)
        await self.scan(record)
        if record.state != "ready":
            await self.repos.move(repo, "ready")

    async def delete(self, repo: str) -> None:
        """Remove the repository with all that is known of it. Its runs stay."""
        record = await self.repos.get(repo)
        if record.state != "deleting":
            await self.repos.move(repo, "deleting")
        await self._remove(repo)

    async def _remove(self, repo: str) -> None:
        opened = self.opened.get(repo)
        await self.opened.forget(repo)
        async with opened.lock:
            await opened.bare.remove()
        await self.repos.remove(repo)

    async def set_default_branch(self, record: RepoRecord, branch: str) -> None:
        opened = await self.opened.ready(record)
        await opened.bare.set_default_branch(branch)
        await self.repos.change(record.id, default_branch=branch)
        await self._scheduler.read(await self.repos.get(record.id))

    # Pushes

    @asynccontextmanager
    async def git(
        self, record: RepoRecord, request: GitRequest, body: AsyncIterator[bytes]
    ) -> AsyncIterator[GitAnswer]:
        """Git's answer to one request. When a push is over, what it changed is stored before the context ends."""
        opened = await self.opened.ready(record)
        is_push = request.path == "/git-receive-pack"
        if is_push:
            await self._tidy(opened)
        opened.pushing += is_push
        try:
            async with self._backend.answer(opened.bare, request, body) as answer:
                yield answer
        finally:
            opened.pushing -= is_push
            if is_push:
                await self.scan_now(record.id, request.who)

    async def scan_now(self, repo: str, who: str = "") -> None:
        """Scan after a change. What goes wrong is logged: the next scan finds the same."""
        try:
            await self.scan(await self.repos.get(repo), who)
        except (PitstopError, OSError) as error:
            log.warning("cannot look for pushes to %s now: %s", repo, error)

    async def scan(self, record: RepoRecord, who: str = "") -> None:
        """Store what was pushed since the last scan, and start what follows."""
        starting = await self._scanner.scan(record, await self.opened.ready(record), who)
        await self._scheduler.read(record)
        await self.cards.look_at_branches(record)
        if starting:
            self.wake()

    async def scan_all(self) -> None:
        """Scan every repository, remove what killed pushes have left, and close what is not used any more."""
        for record in await self._own():
            if record.state == "ready":
                await self._tidy(self.opened.get(record.id))
                await self.scan_now(record.id)
        for opened in self.opened.used():
            await opened.reader.close_if_idle(asyncio.get_running_loop().time())

    async def deliver(self, hook: str, headers: Mapping[str, str], body: bytes) -> Delivered:
        """Take a delivery of a webhook, and start what follows."""
        delivered = await self.receiver.receive(hook, headers, body)
        self.wake()
        return delivered

    def wake(self) -> None:
        """Start what is pending."""
        if self._starter is not None:
            self._starter.wake()

    async def fire(self, firing: NewFiring, push: int | None = None) -> FiringRecord:
        """Store a firing, of a push if one is named, and start its run; the firing as it is then."""
        stored = await self.firings.add_one(firing, push)
        if stored.outcome == "pending" and self._starter is not None:
            await self._starter.start(stored)
        return await self.firings.get(stored.id) or stored

    async def _complete(self, firing: FiringRecord, request: RunRequest) -> RunRequest:
        """The request of a firing, with what its card or its trial adds."""
        starter = self.trials.starter if firing.kind == "trial" else self.cards.starter
        return await starter.request_of(firing, request)

    # Chores

    async def _own(self) -> list[RepoRecord]:
        return [each for each in await self.repos.all() if each.home == self.opened.home]

    async def _recover(self) -> None:
        """Finish what a server that was killed has begun. A broken repository keeps nothing else from starting."""
        for record in await self._own():
            try:
                await self._recover_one(record)
            except (PitstopError, OSError) as error:
                log.warning("repository %s: %s", record.id, error)

    async def _recover_one(self, record: RepoRecord) -> None:
        if record.state == "deleting":
            await self._remove(record.id)
        elif record.state == "creating":
            await self._make(record)
        if record.state in ("creating", "ready"):
            await self._tidy(self.opened.get(record.id))
        if record.state == "ready":
            await self.cards.recover(record)

    async def _tidy(self, opened: OpenRepo) -> None:
        """Remove what killed pushes have left: a lock would refuse the next one."""
        try:
            await remove_leftovers(opened.bare, STALE_SECONDS)
        except OSError as error:
            log.warning("cannot tidy repository %s now: %s", opened.id, error)

    async def _every(self, seconds: float, work: Callable[[], Awaitable[Any]]) -> None:
        while True:
            try:
                await work()
            except (PitstopError, OSError) as error:
                log.warning("cannot look after repositories now: %s", error)
            await self._clock.sleep(seconds)

    async def _fire_schedules(self) -> None:
        while True:
            try:
                if await self._scheduler.fire_due():
                    self.wake()
                await self._scheduler.wait()
            except PitstopError as error:
                log.warning("cannot fire schedules now: %s", error)
                await self._clock.sleep(AGAIN_SECONDS)

    async def _keep_up(self) -> None:
        """Repack repositories in which nothing is being pushed, and forget what is old."""
        await self._feed.forget_old()
        for record in await self._own():
            await self.firings.forget_old(record.id)
            await self.trials.keep_up(record)
            opened = self.opened.get(record.id)
            if record.state == "ready" and not opened.pushing:
                await self._maintain(opened)

    async def _maintain(self, opened: OpenRepo) -> None:
        try:
            async with opened.lock:
                await opened.bare.maintain()
        except (PitstopError, OSError) as error:
            log.warning("cannot maintain repository %s now: %s", opened.id, error)
        await opened.reader.close()  # it may hold packs that are gone


def default_ref(record: RepoRecord) -> str:
    return BRANCHES + record.default_branch
