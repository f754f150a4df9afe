"""Fires the schedules of flows when they are due, each time once, whichever server is quicker."""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

from pitstop.engine.ports import Clock
from pitstop.errors import PitstopError
from pitstop.platform.open_repos import OpenRepos
from pitstop.platform.repo_values import BRANCHES, IndexedFlow, RepoRecord
from pitstop.platform.stored.firings import NewFiring
from pitstop.platform.stored.pushes import StoredPushes
from pitstop.platform.stored.repos import StoredRepos
from pitstop.platform.stored.schedules import ScheduleRecord, StoredSchedules
from pitstop.platform.triggers.schedules import Due, due_times, next_due, next_times
from pitstop.runs.run_ids import new_run_id

LONGEST_SLEEP_SECONDS = 15.0  # so that a clock that was set is noticed
TAKEN = 100
SHOWN_TIMES = 5


class Scheduler:
    """Knows the schedules of the default branches, and fires those that are due."""

    def __init__(
        self, repos: StoredRepos, pushes: StoredPushes, schedules: StoredSchedules, opened: OpenRepos, clock: Clock
    ) -> None:
        self._repos = repos
        self._pushes = pushes
        self._schedules = schedules
        self._opened = opened
        self._clock = clock
        self._changed = asyncio.Event()

    async def read(self, repo: RepoRecord) -> None:
        """Take over what the flows on the default branch say. A broken flow keeps what it had."""
        flows = await self._pushes.flows_at(repo.id, BRANCHES + repo.default_branch)
        known = await self._schedules.of_repo(repo.id)
        broken = {flow.name for flow in flows if flow.problems}
        wanted = [each for each in known if each.flow in broken]
        now = self._clock.now()
        for flow in flows:
            wanted += () if flow.problems else _schedules_of(repo, flow, known, now)
        await self._schedules.replace(repo.id, wanted)
        self._changed.set()

    async def fire_due(self) -> int:
        """Fire what is due now; how many firings are to be started."""
        now = self._clock.now()
        starting = 0
        for schedule in await self._schedules.due(self._opened.home, now, TAKEN):
            spec = schedule.spec
            due = due_times(
                spec["cron"], spec["timezone"], next_at=schedule.next_at or now, now=now, catch_up=spec["catch_up"]
            )
            firings = await self._firings_of(schedule, due)
            stored = await self._schedules.fire(schedule, due.next_at, now, firings)
            starting += sum(each.outcome == "pending" for each in stored)
        return starting

    async def wait(self) -> None:
        """Wait until the next schedule is due, or the schedules have changed."""
        self._changed.clear()
        next_at = await self._schedules.next_at(self._opened.home)
        seconds = LONGEST_SLEEP_SECONDS if next_at is None else max(0.0, next_at - self._clock.now())
        try:
            async with self._clock.timeout(min(seconds, LONGEST_SLEEP_SECONDS)):
                await self._changed.wait()
        except TimeoutError:
            return

    async def _firings_of(self, schedule: ScheduleRecord, due: Due) -> list[NewFiring]:
        ready = _Ready(await self._repos.get(schedule.repo), schedule)
        missed = [ready.skipped(_missed(due.skipped))] if due.skipped else []
        return [*missed, *[await self._firing(ready, at) for at in due.fires]]

    async def _firing(self, ready: "_Ready", at: float) -> NewFiring:
        """One firing, at the commit that the default branch is at now."""
        repo, flow = ready.repo, ready.schedule.flow
        if flow in repo.settings.disabled_flows:
            return ready.skipped("the flow is disabled in the settings of the repository", at)
        if not ready.schedule.spec.get("enabled", True):
            return ready.skipped("the trigger is disabled in the flow file", at)
        try:
            sha = await self._opened.get(repo.id).bare.resolve(repo.default_branch)
        except PitstopError as error:
            return ready.firing("refused", str(error), at)
        return ready.firing("pending", None, at, sha)


class _Ready:
    """A schedule whose time has come."""

    def __init__(self, repo: RepoRecord, schedule: ScheduleRecord) -> None:
        self.repo = repo
        self.schedule = schedule

    def skipped(self, reason: str, at: float | None = None) -> NewFiring:
        return self.firing("skipped", reason, at)

    def firing(self, outcome: Any, reason: str | None, at: float | None, sha: str | None = None) -> NewFiring:
        repo, schedule = self.repo, self.schedule
        is_pending = outcome == "pending"
        subject = {
            "kind": "schedule",
            "repo": repo.id,
            "branch": repo.default_branch,
            "sha": sha,
            "scheduled_at": at,
            "cron": schedule.spec["cron"],
            "inputs": dict(schedule.spec.get("inputs") or {}),
        }
        key = f"schedule:{repo.id}:{schedule.flow}:{schedule.ordinal}:{at:.0f}" if is_pending else None
        return NewFiring(
            repo=repo.id,
            flow=schedule.flow,
            kind="schedule",
            outcome=outcome,
            who="",
            subject=subject,
            key=key,
            ref=repo.default_branch,
            sha=sha,
            reason=reason,
            run=new_run_id() if is_pending else None,
        )


def _schedules_of(
    repo: RepoRecord, flow: IndexedFlow, known: Sequence[ScheduleRecord], now: float
) -> list[ScheduleRecord]:
    """The schedules of a flow: those that have not changed go on as they were."""
    before = {each.ordinal: each for each in known if each.flow == flow.name}
    specs: Sequence[Mapping[str, Any]] = flow.triggers.get("schedule") or ()
    found = []
    for ordinal, spec in enumerate(specs):
        same = before.get(ordinal)
        if same is not None and same.spec == spec:
            found.append(same)
            continue
        next_at = next_due(spec["cron"], spec["timezone"], now)
        found.append(ScheduleRecord(repo=repo.id, flow=flow.name, ordinal=ordinal, spec=spec, next_at=next_at))
    return found


def times_of(flow: IndexedFlow, now: float) -> tuple[float, ...]:
    """The next five times that a flow starts by its schedules."""
    specs = [each for each in flow.triggers.get("schedule") or () if each.get("enabled", True)]
    found = (at for spec in specs for at in next_times(spec["cron"], spec["timezone"], now, SHOWN_TIMES))
    return tuple(sorted(set(found))[:SHOWN_TIMES])


def _missed(count: int) -> str:
    times = "once" if count == 1 else f"{count:,} times"
    return f"missed {times}, because no server was running: set `catch_up: true` to run it once after that"
