"""Servers are killed at random, again and again, while runs, stops and edits go on: nothing is lost or done twice."""

import asyncio
import os
import random
import signal
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from tests.amounts import amount
from tests.chaos.judge import judge
from tests.chaos.world import People, Servers
from tests.databases import postgres, postgres_url  # noqa: F401 - fixtures

KILLS = amount(20, soak=300)
TAKEOVERS = amount(5, soak=50)
LEASE_SECONDS, STOPPED_SECONDS = 4.0, 4.5
AT_ONCE = 12
# A server on a busy machine needs more time between two hits to get anywhere: as much more as it took to start.
START_SECONDS, MOST_SLOW = 0.5, 5.0
SEED = int(os.environ.get("PITSTOP_SEED", "1"))


@pytest.mark.timeout(1800)
async def test_a_server_that_is_killed_again_and_again_loses_nothing(tmp_path: Path) -> None:
    servers = Servers(tmp_path / "home", "", 1, 5.0)

    async def hit(chance: random.Random) -> None:
        (port,) = servers.ports
        servers.kill(port)
        servers.start(port)

    await live(servers, tmp_path, hit, KILLS)


@pytest.mark.timeout(1800)
async def test_two_servers_on_one_database_take_over_from_each_other(
    tmp_path: Path,
    postgres_url: str,  # noqa: F811 - the fixture
) -> None:
    servers = Servers(tmp_path / "home", postgres_url, 2, LEASE_SECONDS)

    async def hit(chance: random.Random) -> None:
        port = chance.choice(servers.ports)
        if chance.random() < 0.3:
            os.kill(servers.pids[port], signal.SIGSTOP)
            await asyncio.sleep(STOPPED_SECONDS)  # it has to find out by itself that its lease has lapsed
            os.kill(servers.pids[port], signal.SIGCONT)
        else:
            servers.kill(port)
            servers.start(port)

    await live(servers, tmp_path, hit, TAKEOVERS, between=(0.0, 2.0))


async def live(
    servers: Servers,
    folder: Path,
    hit: Callable[[random.Random], Awaitable[None]],
    hits: int,
    between: tuple[float, float] = (0.0, 0.6),
) -> None:
    counts = folder / "counts"
    counts.mkdir()
    chance = random.Random(SEED)
    people = People(servers, counts, SEED)
    is_over = asyncio.Event()
    numbers = iter(range(1_000_000))

    def is_enough() -> bool:
        return is_over.is_set() and len(people.told) > AT_ONCE and people.did["edits"] > 0

    async def live_on() -> None:
        while not is_enough():
            await people.live_one_run(next(numbers))

    with servers.running():
        try:
            async with asyncio.TaskGroup() as group:
                for _ in range(AT_ONCE):
                    group.create_task(live_on())
                for _ in range(hits):
                    began = time.monotonic()
                    if chance.random() < 0.9:  # else it may well be hit while it starts
                        await people.ask("GET", "/me")
                    slowness = (time.monotonic() - began) / START_SECONDS
                    await asyncio.sleep(chance.uniform(*between) * min(max(1.0, slowness), MOST_SLOW))
                    await hit(chance)
                is_over.set()
            there = await people.all_runs()
        finally:
            await people.close()

    wrong = {told.id: problems for told in people.told if (problems := judge(told, counts))}
    assert not wrong, f"{len(wrong)} of {len(people.told)} runs: {dict(list(wrong.items())[:5])}"
    assert there == {told.id for told in people.told}, "a request to start a run that came twice has started two"
    print(f"{len(people.told)} runs, {dict(people.did)}")
