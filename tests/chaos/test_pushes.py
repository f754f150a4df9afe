"""A server is killed again and again while a git client pushes: every push is known, and starts each flow once."""

import asyncio
import os
import random
from collections import Counter
from pathlib import Path

import pytest

from pitstop.git.commands import run_git
from tests.amounts import IS_SOAK
from tests.chaos.pushing import REPO, PushWorld, judge, push_world
from tests.databases import database_url, postgres, postgres_url, sqlite_url  # noqa: F401 - fixtures
from tests.patience import wait_until

COMMITS, KILLS = 50, 100
LARGE_BYTES = 30_000_000
LIFE_SECONDS = (0.3, 1.2)  # of a server that is ready, at most: one during which a push arrives, or its runs end
SEED = int(os.environ.get("PITSTOP_SEED", "1"))

if IS_SOAK:

    @pytest.mark.timeout(900)
    async def test_each_push_starts_each_flow_once_however_often_the_server_is_killed(
        tmp_path: Path,
        database_url: str,
    ) -> None:
        print(f"PITSTOP_SEED={SEED}")
        chance = random.Random(SEED)
        commits: list[str] = []
        async with push_world(tmp_path, database_url, SEED) as world:
            async with asyncio.TaskGroup() as group:
                group.create_task(push_all(world, commits))
                for _ in range(KILLS):
                    await hit(world, chance)
            runs = await world.wait_quiet()
            await world.restart_later()
            await wait_until(lambda: world.left_by_killed_git() == [], "something of a killed git stays")
        print(dict(world.did))
        await world.bare.fsck()
        assert await judge(world, commits, runs) == []

    @pytest.mark.timeout(300)
    @pytest.mark.parametrize("with_git", [False, True], ids=["alone", "with git"])
    @pytest.mark.parametrize("moment", ["before", "in", "after"])
    async def test_a_server_that_is_killed_around_a_large_push_takes_it_whole_or_not_at_all(
        tmp_path: Path, sqlite_url: str, moment: str, with_git: bool
    ) -> None:
        async with push_world(tmp_path, sqlite_url, SEED) as world:
            commits = [await world.commit({**world.flows(), "number": "0"})]
            await world.push()
            commits.append(await world.commit({"number": "1", "large": os.urandom(LARGE_BYTES)}))
            moments = {
                "before": world.is_receiving,
                "in": lambda: world.quarantined_bytes() > LARGE_BYTES // 2,
                "after": lambda: world.main() == commits[-1],
            }
            async with world.pushing() as client:
                await wait_until(moments[moment])
                world.kill(with_git=with_git)
                await client.wait()
            world.start()
            await world.push()
            runs = await world.wait_quiet()
            await world.restart_later()
            await wait_until(lambda: world.left_by_killed_git() == [], "something of a killed git stays")
        await world.bare.fsck()
        assert await judge(world, commits, runs) == []

    @pytest.mark.timeout(300)
    @pytest.mark.parametrize("with_git", [False, True], ids=["alone", "with git"])
    async def test_a_push_of_300_mb_whose_server_is_killed_half_way_leaves_nothing(
        tmp_path: Path, sqlite_url: str, with_git: bool
    ) -> None:
        async with push_world(tmp_path, sqlite_url, SEED) as world:
            commits = [await world.commit({**world.flows(), "number": "0"})]
            await world.push()
            await world.commit({f"large/{number}": os.urandom(LARGE_BYTES) for number in range(10)})
            async with world.pushing():
                await wait_until(lambda: world.quarantined_bytes() > 5 * LARGE_BYTES)
                world.kill(with_git=with_git)
            world.start()
            runs = await world.wait_quiet()
            await world.restart_later()  # git does not clean up by itself when its server's end of a pipe is gone
            await wait_until(lambda: world.left_by_killed_git() == [], "something of a killed git stays")
        assert await world.bare.size_bytes() < LARGE_BYTES
        await world.bare.fsck()
        assert await judge(world, commits, runs) == []

    @pytest.mark.timeout(300)
    async def test_10_000_branches_that_are_pushed_at_once_are_all_known_and_listed_in_pages(
        tmp_path: Path, sqlite_url: str
    ) -> None:
        async with push_world(tmp_path, sqlite_url, SEED) as world:
            sha = await world.commit({**world.flows(), "number": "0"})
            created = "".join(f"create refs/heads/many/{number:05} {sha}\n" for number in range(10_000))
            await run_git(world.clone / ".git", "update-ref", "--stdin", input=created.encode())
            await world.push("refs/heads/*:refs/heads/*")
            listed = await world.all_of(f"/repos/{REPO}/branches", "branches")
            world.kill()
            world.start()
            await world.people.ask("GET", "/me")
            runs = await world.all_of("/runs", "runs")
        rows = await world.stored()
        heads = await world.heads()
        assert len(heads) == 10_001
        assert rows.refs == heads
        assert sorted(f"refs/heads/{branch['name']}" for branch in listed) == sorted(heads)
        assert Counter((push.ref, push.new) for push in rows.pushes) == Counter(heads.items())
        assert "10,001 branches and tags changed at once" in (rows.pushes[0].note or "")
        assert (runs, rows.firings) == ([], ())


async def push_all(world: PushWorld, commits: list[str]) -> None:
    """Push one commit after the other, as many for each kill."""
    for number in range(COMMITS):
        await wait_for_kills(world, number * KILLS // COMMITS)
        flows = world.flows() if number == 0 else {}
        commits.append(await world.commit({**flows, "number": str(number)}))
        await world.push()


async def wait_for_kills(world: PushWorld, wanted: int) -> None:
    await wait_until(lambda: world.did["kills"] + world.did["kills with git"] >= wanted)


async def hit(world: PushWorld, chance: random.Random) -> None:
    """Kill the server and start it again: mostly when it is ready, and sometimes with its git."""
    if chance.random() < 0.9:
        await world.people.ask("GET", "/me")
    await asyncio.sleep(chance.uniform(0.0, chance.choice(LIFE_SECONDS)))
    world.kill(with_git=chance.random() < 0.3)
    world.start()
