"""What excludes what: one test for each row of the table "Synchronization Requirements", named by resource and lock.

Everything is in the database; a workspace is also locked by files, because what runs in it is on one machine.
"""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from msgspec import Struct
from sqlalchemy import update

from pitstop.engine.executor import Placement
from pitstop.errors import LogLost
from pitstop.executors.machine.workspaces.held import Workspaces
from pitstop.executors.machine.workspaces.workspace import WorkspaceBusy
from pitstop.platform.stored.all import stored_in
from pitstop.platform.stored.firings import WINDOW_SECONDS, NewFiring, firings
from pitstop.store.sql.store import SqlStore, open_sql_store
from tests.contracts.store import STARTED, record, step
from tests.moved_clock import MovedClock
from tests.patience import wait_until
from tests.platform.workbench import Workbench

MARKS = "on: push\nsteps:\n  - {{id: mark, run: 'echo \"$PITSTOP_RUN\" >> {}'}}\n"
TOGETHER = """\
on: push
steps:
  - parallel:
      - {{id: a, run: 'test ! -e a; touch a; until test -e b && test -e {gate}; do sleep 0.01; done'}}
      - {{id: b, run: 'test ! -e b; touch b; until test -e a; do sleep 0.01; done'}}
"""


class Servers(Struct, frozen=True):
    """The stores of two servers on one database, and the clock of that."""

    one: SqlStore
    two: SqlStore
    clock: MovedClock


@pytest.fixture
async def servers(database_url: str) -> AsyncIterator[Servers]:
    clock = MovedClock()
    one, two = [await open_sql_store(database_url, clock.in_database) for _ in range(2)]
    yield Servers(one, two, clock)
    await one.close()
    await two.close()


async def test_step_assignment_is_by_row_lock(servers: Servers) -> None:
    """The steps of a run are assigned with it: of all servers that look, one gets it."""
    wanted = [f"assigned-{number}" for number in range(10)]
    for run in wanted:
        await servers.one.create(record(run, repo="shop", ref="main"))

    async def take(store: SqlStore, server: str) -> list[str]:
        taken: list[str] = []
        while claims := await store.claim(server, 30, 2):
            taken += [claim.record.id for claim in claims]
        return taken

    found = await asyncio.gather(take(servers.one, "one"), take(servers.two, "two"), take(servers.two, "three"))
    assert sorted(run for each in found for run in each) == wanted
    for run in wanted:
        await servers.one.delete(run)


async def test_step_execution_is_by_idempotency_key(bench: Workbench, tmp_path: Path) -> None:
    """The id of the run is chosen with its firing: one that is started again, after a crash, is the same run."""
    await bench.push_flow(MARKS.format(tmp_path / "marks"))
    (run,) = await bench.runs()
    store = await open_sql_store(bench.settings.database)
    async with store.database.write() as connection:  # the server was killed before it stored that it has started it
        await connection.execute(update(firings).where(firings.c.run == run.id).values(outcome="pending"))
    await store.close()
    await bench.push("HEAD:other")

    assert [each.outcome for each in await bench.firings()] == ["started", "started"]
    runs = await bench.runs()
    assert runs[0].id == run.id
    assert (tmp_path / "marks").read_text().split() == [each.id for each in runs]


async def test_workspace_access_is_shared_by_steps_and_exclusive_to_a_run(bench: Workbench, tmp_path: Path) -> None:
    """Steps of one run are in its workspace at once; neither another run nor another server is."""
    gate = tmp_path / "gate"
    await bench.commit({".pitstop/flows/ci.yaml": TOGETHER.format(gate=gate)})
    await bench.push("HEAD:main", "HEAD:other")
    started = [each.run or "" for each in await bench.firings()]
    folders = [bench.settings.workspaces / run for run in started]
    await wait_until(lambda: all((folder / "repo" / name).exists() for folder in folders for name in "ab"))
    other = Workspaces(bench.settings.workspaces)
    for run in started:
        with pytest.raises(WorkspaceBusy):
            await other.acquire(Placement(workspace=run, deadline_seconds=0))
    other.close()
    gate.touch()

    assert [run.status for run in await bench.runs()] == ["passed", "passed"]


async def test_pipeline_execution_is_exclusive(servers: Servers) -> None:
    """A run belongs to one server, until its lease is over; then the other has it, and the first can store nothing."""
    run = await servers.one.create(record("exclusive", status="running"), [STARTED], owner="one", lease_seconds=30)
    assert await servers.two.claim("two", 30, 10) == []
    servers.clock.move(31)
    (claim,) = await servers.two.claim("two", 30, 10)
    assert (claim.record.id, claim.epoch) == ("exclusive", 2)

    run.log.append(step(1))
    with pytest.raises(LogLost):
        await run.log.settled()
    assert await servers.one.renew("one", ["exclusive"], 30) == set()
    (taken,) = await servers.two.open_claimed([claim])
    assert list(taken.log.read()) == [STARTED]
    await taken.update(status="passed")
    await taken.close()


async def test_trigger_dedup_is_by_time_windowed_key(servers: Servers) -> None:
    """Of servers that see the same event at once one starts the flow; an hour later the same event is another."""

    async def fire(store: SqlStore, flow: str = "ci") -> str:
        key = f"push:shop:{flow}:refs/heads/main:{'1' * 40}"
        new = NewFiring(repo="shop", flow=flow, kind="push", outcome="pending", who="", subject={}, key=key, run="run")
        return (await stored_in(store.database, store.news).firings.add_one(new)).outcome

    both = [servers.one, servers.two] * 4
    assert sorted(await asyncio.gather(*map(fire, both))) == ["duplicate"] * 7 + ["pending"]
    assert await fire(servers.two, "other") == "pending"  # which another flow of the same push does not shut out
    servers.clock.move(WINDOW_SECONDS - 1)
    assert await fire(servers.two) == "duplicate"
    servers.clock.move(2)
    assert sorted(await asyncio.gather(*map(fire, both))) == ["duplicate"] * 7 + ["pending"]
