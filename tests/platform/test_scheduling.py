"""Schedules fire on time, once, and at most once for what was missed, whatever the clock does."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime
from itertools import count
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from pitstop.errors import Mistake
from pitstop.platform.flow_index import FOLDER
from pitstop.platform.open_repos import OpenRepos
from pitstop.platform.repo_values import FiringRecord, IndexedFlow, RepoRecord, RepoSettings
from pitstop.platform.scheduling import Scheduler
from pitstop.platform.stored.all import Stored, stored_in
from pitstop.platform.stored.pushes import SeenPush
from pitstop.store.sql.store import open_sql_store
from tests.git.repositories import commit_on
from tests.moved_clock import MovedClock

HOURLY = {"cron": "0 * * * *", "timezone": "UTC", "catch_up": False, "enabled": True, "inputs": {}}
NUMBERS = count(1)


class Schedules:
    """One repository with schedules, in a home of its own, and servers that fire them."""

    def __init__(self, stored: Stored, folder: Path, clock: MovedClock) -> None:
        self.stored = stored
        self.clock = clock
        name = f"shop-{next(NUMBERS)}"
        self.repo = RepoRecord(
            id=name, title=name, default_branch="main", home=f"home of {name}", state="ready", created_at=0.0
        )
        self._folder = folder
        self.sha = ""

    def server(self) -> Scheduler:
        async def no_servers() -> tuple[()]:
            return ()

        opened = OpenRepos(self._folder, self.repo.home, no_servers)
        return Scheduler(self.stored.repos, self.stored.pushes, self.stored.schedules, opened, self.clock)

    async def begin(self, *specs: dict[str, Any], settings: RepoSettings | None = None) -> Scheduler:
        server = self.server()
        await self.stored.repos.add(self.repo)
        if settings is not None:
            await self.stored.repos.change(self.repo.id, settings=settings)
        opened = server._opened.get(self.repo.id)
        await opened.bare.create("main")
        self.sha = await commit_on(opened.bare, "main", {"file": "1"})
        await self.write(None, self.sha, *specs)
        await server.read(self.repo)
        return server

    async def write(self, old: str | None, new: str, *specs: dict[str, Any], problems: Any = ()) -> None:
        triggers = {} if problems else {"schedule": list(specs)}
        flow = IndexedFlow(
            name="nightly", path=f"{FOLDER}/n.yaml", blob="", title="n", triggers=triggers, problems=problems
        )
        push = SeenPush(repo=self.repo.id, ref="refs/heads/main", old=old, new=new, who="", via="push", flows=(flow,))
        await self.stored.pushes.store([push])

    async def fired(self) -> list[FiringRecord]:
        return [*reversed(await self.stored.firings.newest(self.repo.id))]


@pytest.fixture
async def schedules(database_url: str, tmp_path: Path) -> AsyncIterator[Schedules]:
    clock = MovedClock()
    clock.move(3600 - clock.now() % 3600 + 1)  # just after a full hour
    store = await open_sql_store(database_url)
    yield Schedules(stored_in(store.database, store.news), tmp_path, clock)
    await store.close()


async def test_a_schedule_fires_once_however_many_servers_look(schedules: Schedules) -> None:
    first = await schedules.begin(HOURLY)
    second = schedules.server()
    assert await first.fire_due() == 0
    due = schedules.clock.now() + 3599
    schedules.clock.move(3600)

    assert await first.fire_due() + await second.fire_due() == 1
    (firing,) = await schedules.fired()
    assert (firing.outcome, firing.ref, firing.sha, firing.subject["scheduled_at"]) == (
        "pending",
        "main",
        schedules.sha,
        due,
    )


async def test_what_was_missed_is_skipped_and_said_or_caught_up_with_once(schedules: Schedules) -> None:
    server = await schedules.begin(HOURLY, HOURLY | {"catch_up": True})
    schedules.clock.move(5 * 3600 + 1800)

    assert await server.fire_due() == 1
    found = [(each.outcome, each.reason) for each in await schedules.fired()]
    said = "missed {} times, because no server was running: set `catch_up: true` to run it once after that"
    wanted = [("skipped", said.format(5)), ("skipped", said.format(4)), ("pending", None)]
    assert sorted(found, key=str) == sorted(wanted, key=str)
    assert await server.fire_due() == 0


async def test_a_clock_that_is_set_back_fires_nothing_twice(schedules: Schedules) -> None:
    server = await schedules.begin(HOURLY)
    schedules.clock.move(3600)
    assert await server.fire_due() == 1
    schedules.clock.move(-7200)
    assert await server.fire_due() == 0
    schedules.clock.move(7200)
    assert await server.fire_due() == 0


async def test_a_disabled_flow_or_trigger_says_so_when_it_would_have_run(schedules: Schedules) -> None:
    server = await schedules.begin(HOURLY, settings=RepoSettings(disabled_flows=("nightly",)))
    schedules.clock.move(3600)
    await server.fire_due()
    assert [(each.outcome, each.reason) for each in await schedules.fired()] == [
        ("skipped", "the flow is disabled in the settings of the repository")
    ]


async def test_a_flow_that_is_broken_by_a_push_keeps_its_schedule(schedules: Schedules) -> None:
    server = await schedules.begin(HOURLY)
    await schedules.write(schedules.sha, "1" * 40, problems=(Mistake("n.yaml", 1, 1, "broken"),))
    await server.read(schedules.repo)
    schedules.clock.move(3600)
    assert await server.fire_due() == 1


async def test_a_schedule_that_changes_is_due_by_its_new_times_and_one_that_is_gone_never(schedules: Schedules) -> None:
    server = await schedules.begin(HOURLY)
    await schedules.write(schedules.sha, "1" * 40, HOURLY | {"cron": "30 * * * *"})
    await server.read(schedules.repo)
    schedules.clock.move(1800)
    assert await server.fire_due() == 1
    await schedules.write("1" * 40, "2" * 40)
    await server.read(schedules.repo)
    schedules.clock.move(7200)
    assert await server.fire_due() == 0


async def test_the_wait_ends_when_the_next_one_is_due(schedules: Schedules) -> None:
    server = await schedules.begin(HOURLY)
    schedules.clock.move(3600)
    await server.wait()
    assert await server.fire_due() == 1


async def test_a_schedule_without_a_default_branch_is_refused_and_goes_on_when_there_is_one(
    schedules: Schedules,
) -> None:
    server = await schedules.begin(HOURLY)
    bare = server._opened.get(schedules.repo.id).bare
    await bare.delete_refs([("refs/heads/main", schedules.sha)], "ada")
    schedules.clock.move(3600)
    assert await server.fire_due() == 0
    (refused,) = await schedules.fired()
    assert refused.outcome == "refused"
    assert "main" in (refused.reason or "")
    await commit_on(bare, "main", {"file": "2"})
    schedules.clock.move(3600)
    assert await server.fire_due() == 1


async def test_a_clock_that_jumps_years_ahead_fires_once_and_goes_on_from_there(schedules: Schedules) -> None:
    server = await schedules.begin(HOURLY | {"catch_up": True})
    schedules.clock.move(20 * 365 * 24 * 3600 + 1800)
    assert await server.fire_due() == 1
    assert await server.fire_due() == 0
    schedules.clock.move(1800)
    assert await server.fire_due() == 1


@pytest.mark.parametrize(
    ("before", "times"),
    [
        ("2026-03-29 00:30+01:00", ["01:30+0100", "03:00+0200"]),  # there is no 02:30 when clocks go forward
        ("2026-10-25 01:00+02:00", ["01:30+0200", "02:30+0200"]),  # there are two of them when they go back
    ],
)
async def test_a_schedule_fires_once_for_each_of_its_times_when_clocks_change(
    schedules: Schedules, before: str, times: list[str]
) -> None:
    begins_at = datetime.fromisoformat(before).timestamp()
    schedules.clock.move(begins_at - schedules.clock.now())
    berlin = HOURLY | {"timezone": "Europe/Berlin"}
    server = await schedules.begin(berlin | {"cron": "30 1 * * *"}, berlin | {"cron": "30 2 * * *"})
    for _ in range(16):
        schedules.clock.move(900)
        await server.fire_due()

    fired = [each.subject["scheduled_at"] for each in await schedules.fired() if each.outcome == "pending"]
    assert [datetime.fromtimestamp(at, ZoneInfo("Europe/Berlin")).strftime("%H:%M%z") for at in fired] == times


async def test_a_schedule_that_never_fires_again_is_not_due(schedules: Schedules) -> None:
    schedules.clock.move(datetime(9999, 12, 31, 23, 30, tzinfo=UTC).timestamp() - schedules.clock.now())
    server = await schedules.begin(HOURLY)
    assert [each.next_at for each in await schedules.stored.schedules.of_repo(schedules.repo.id)] == [None]
    assert await server.fire_due() == 0
