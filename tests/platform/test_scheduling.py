"""Schedules fire on time, once, and at most once for what was missed, whatever the clock does."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from pitstop.errors import Mistake
from pitstop.platform.flow_index import FOLDER
from pitstop.platform.open_repos import OpenRepos
from pitstop.platform.repo_values import FiringRecord, IndexedFlow, RepoRecord, RepoSettings
from pitstop.platform.scheduling import Scheduler
from pitstop.platform.stored.all import Stored, stored_in
from pitstop.platform.stored.pushes import SeenPush
from pitstop.store.sql.store import open_sql_store
from tests.databases import database_url, postgres, postgres_url, sqlite_url
from tests.git.repositories import commit_on
from tests.moved_clock import MovedClock

__all__ = ["database_url", "postgres", "postgres_url", "sqlite_url"]
HOURLY = {"cron": "0 * * * *", "timezone": "UTC", "catch_up": False, "enabled": True, "inputs": {}}
SHOP = RepoRecord(id="shop", title="Shop", default_branch="main", home="home", state="ready", created_at=0.0)


class Schedules:
    """One repository with schedules, and servers that fire them."""

    def __init__(self, stored: Stored, folder: Path, clock: MovedClock) -> None:
        self.stored = stored
        self.clock = clock
        self._folder = folder
        self.sha = ""

    def server(self) -> Scheduler:
        async def no_servers() -> tuple[()]:
            return ()

        opened = OpenRepos(self._folder, "home", no_servers)
        return Scheduler(self.stored.repos, self.stored.pushes, self.stored.schedules, opened, self.clock)

    async def begin(self, *specs: dict[str, Any], settings: RepoSettings | None = None) -> Scheduler:
        server = self.server()
        await self.stored.repos.add(SHOP)
        if settings is not None:
            await self.stored.repos.change("shop", settings=settings)
        opened = server._opened.get("shop")
        await opened.bare.create("main")
        self.sha = await commit_on(opened.bare, "main", {"file": "1"})
        await self.write(None, self.sha, *specs)
        await server.read(SHOP)
        return server

    async def write(self, old: str | None, new: str, *specs: dict[str, Any], problems: Any = ()) -> None:
        triggers = {} if problems else {"schedule": list(specs)}
        flow = IndexedFlow(
            name="nightly", path=f"{FOLDER}/n.yaml", blob="", title="n", triggers=triggers, problems=problems
        )
        push = SeenPush(repo="shop", ref="refs/heads/main", old=old, new=new, who="", via="push", flows=(flow,))
        await self.stored.pushes.store([push])

    async def fired(self) -> list[FiringRecord]:
        return [*reversed(await self.stored.firings.newest("shop"))]


@pytest.fixture
async def schedules(database_url: str, tmp_path: Path) -> AsyncIterator[Schedules]:
    clock = MovedClock()
    clock.move(3600 - clock.now() % 3600 + 1)  # just after a full hour
    store = await open_sql_store(database_url)
    yield Schedules(stored_in(store.database), tmp_path, clock)
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
    await server.read(SHOP)
    schedules.clock.move(3600)
    assert await server.fire_due() == 1


async def test_a_schedule_that_changes_is_due_by_its_new_times_and_one_that_is_gone_never(schedules: Schedules) -> None:
    server = await schedules.begin(HOURLY)
    await schedules.write(schedules.sha, "1" * 40, HOURLY | {"cron": "30 * * * *"})
    await server.read(SHOP)
    schedules.clock.move(1800)
    assert await server.fire_due() == 1
    await schedules.write("1" * 40, "2" * 40)
    await server.read(SHOP)
    schedules.clock.move(7200)
    assert await server.fire_due() == 0


async def test_the_wait_ends_when_the_next_one_is_due(schedules: Schedules) -> None:
    server = await schedules.begin(HOURLY)
    schedules.clock.move(3600)
    await server.wait()
    assert await server.fire_due() == 1
