import asyncio
import time
from collections.abc import AsyncIterator
from functools import partial

import pytest
from sqlalchemy import select

from pitstop.errors import LogLost, StoreUnavailable, UnknownRun
from pitstop.events.types import StepStarted
from pitstop.store.port import Status
from pitstop.store.sql import database
from pitstop.store.sql.schema import runs
from pitstop.store.sql.store import SqlStore, open_sql_store
from tests.contracts.store import ENDED, STARTED, collect, lines_of, record, step, write
from tests.moved_clock import MovedClock
from tests.patience import wait_until


@pytest.fixture
async def other(store: SqlStore, database_url: str) -> AsyncIterator[SqlStore]:
    """The store of another server on the same database."""
    other = await open_sql_store(database_url)
    yield other
    await other.close()


async def claim_one(store: SqlStore, server: str, lease_seconds: float) -> int | None:
    """The epoch of the claim; None when no run can be claimed."""
    claims = await store.claim(server, lease_seconds, 1)
    return claims[0].epoch if claims else None


async def test_pending_runs_are_claimed_by_priority_and_age(store: SqlStore) -> None:
    for name, priority in (("old", 0), ("young", 0), ("urgent", 5)):
        await store.create(record(name, created_at=float(len(name)), priority=priority))

    first = await store.claim("one", 30, 2)
    assert [(claim.record.id, claim.epoch) for claim in first] == [("urgent", 1), ("old", 1)]
    assert [claim.record.id for claim in await store.claim("two", 30, 10)] == ["young"]
    assert await store.claim("two", 30, 10) == []


async def test_whoever_takes_a_run_over_is_told_when_its_server_was_last_seen(store: SqlStore) -> None:
    await store.register_server("one", "")
    for name in ("first", "second"):
        await store.create(record(name, status="running"), owner="one", lease_seconds=0)
    await store.create(record("pending"))
    (one,) = await store.servers()

    (lost,) = await store.claim("two", 30, 1)
    await store.forget_server("one")
    freed, pending = await store.claim("two", 30, 2)

    assert (lost.left_at, freed.left_at, pending.left_at) == (one.seen_at, one.seen_at, None)


async def test_two_servers_never_get_the_same_run(store: SqlStore, other: SqlStore) -> None:
    for number in range(60):
        await store.create(record(f"run-{number}"))

    async def take(place: SqlStore, server: str) -> list[str]:
        taken: list[str] = []
        while claims := await place.claim(server, 30, 3):
            taken += [claim.record.id for claim in claims]
        return taken

    both = await asyncio.gather(take(store, "one"), take(other, "two"), take(other, "three"))
    taken = [run for each in both for run in each]
    assert sorted(taken) == sorted(f"run-{number}" for number in range(60))


async def test_a_run_is_claimed_by_one_of_many_that_race_for_it(store: SqlStore, other: SqlStore) -> None:
    for round_number in range(10):
        run = f"run-{round_number}"
        await store.create(record(run))
        epochs = await asyncio.gather(
            *(claim_one(place, f"server-{n}", 30) for n, place in enumerate([store, other] * 4))
        )
        assert sorted(epochs, key=str) == [1, *[None] * 7]


async def test_a_run_whose_owner_is_gone_can_be_taken_over(store: SqlStore, other: SqlStore) -> None:
    await store.create(record())
    (claim,) = await store.claim("one", 30, 1)
    (run,) = await store.open_claimed([claim])
    await run.update(status="running")

    assert await other.claim("two", 30, 10) == []
    assert await store.renew("one", ["run-1"], 0) == {"run-1"}  # which ends its lease
    assert [(claim.record.status, claim.epoch) for claim in await other.claim("two", 30, 10)] == [("running", 2)]
    assert await store.renew("one", ["run-1"], 30) == set()
    assert await other.renew("two", ["run-1"], 30) == {"run-1"}


@pytest.mark.parametrize("status", ["passed", "failed", "cancelled", "timed_out"])
async def test_a_run_that_has_ended_is_nobodys(store: SqlStore, status: Status) -> None:
    await store.create(record(status=status))

    assert await store.claim("one", 30, 10) == []


async def test_a_lease_is_over_when_its_time_in_the_database_is(database_url: str) -> None:
    clock = MovedClock()
    store, other = [await open_sql_store(database_url, clock.in_database) for _ in range(2)]
    try:
        await store.register_server("one", "http://one")
        await store.create(record("made", status="running"), owner="one", lease_seconds=30)
        await store.create(record("claimed", status="running"))
        assert await claim_one(store, "one", 30) == 1
        clock.move(29)
        assert await other.claim("two", 30, 10) == []
        assert await store.renew("one", ["claimed"], 30) == {"claimed"}
        clock.move(1)
        assert await other.owner_of("made") is None
        assert [claim.record.id for claim in await other.claim("two", 30, 10)] == ["made"]
        clock.move(29)
        assert [claim.record.id for claim in await other.claim("two", 30, 10)] == ["claimed"]
    finally:
        await store.close()
        await other.close()


async def test_leases_do_not_care_what_time_this_process_thinks_it_is(
    store: SqlStore, other: SqlStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    await store.create(record())
    real_time = time.time
    monkeypatch.setattr(time, "time", lambda: real_time() - 1e6)
    assert await claim_one(store, "one", 60) == 1
    monkeypatch.setattr(time, "time", lambda: real_time() + 1e6)

    assert await other.claim("two", 60, 10) == []
    assert await store.renew("one", ["run-1"], 60) == {"run-1"}


async def test_a_server_that_has_lost_a_run_writes_nothing_more_of_it(store: SqlStore, other: SqlStore) -> None:
    lost = await store.create(record("lost"), [STARTED])
    ours = await store.create(record("ours"))
    (claim,) = await other.claim("two", 30, 1)
    lost.log.append(step(1))
    write(lost, "build", b"too late\n")
    ours.log.append(step(1))

    with pytest.raises(LogLost):
        await lost.log.settled()
    await ours.log.settled()  # the same batch
    assert ours.problem is None
    assert lost.problem is not None
    with pytest.raises(LogLost):
        lost.log.append(step(2))
    with pytest.raises(LogLost):
        await lost.update(status="failed")

    (taken,) = await other.open_claimed([claim])
    assert list(taken.log.read()) == [STARTED]
    assert await lines_of(taken, "build") == []
    assert (await taken.record()).status == "pending"
    await lost.close()


async def test_a_run_that_was_claimed_again_is_lost_at_its_first_write(store: SqlStore) -> None:
    await store.create(record())
    claims = [*await store.claim("one", 0, 1), *await store.claim("two", 0, 1)]
    assert [claim.epoch for claim in claims] == [1, 2]

    stale, current = await store.open_claimed(claims)
    with pytest.raises(LogLost):
        await stale.update(status="running")
    await current.update(status="running")


async def test_a_run_goes_on_elsewhere_with_its_log_and_its_output(store: SqlStore, other: SqlStore) -> None:
    run = await store.create(record(), owner="one", lease_seconds=30)
    run.log.append(STARTED)
    write(run, "build", b"one\ntwo\n")
    await run.update(status="paused")
    await run.close()
    await store.forget_server("one")

    (claim,) = await other.claim("two", 30, 10)
    assert (claim.epoch, claim.record.status) == (2, "paused")
    (again,) = await other.open_claimed([claim])
    again.log.append(step(1))
    write(again, "build", b"three\n")
    await again.log.settled()

    assert list(again.log.read()) == [STARTED, step(1)]
    assert [(line.number, line.data) for line in await lines_of(again, "build")] == [
        (1, b"one"),
        (2, b"two"),
        (3, b"three"),
    ]


async def test_a_run_can_be_watched_that_another_server_runs(store: SqlStore, other: SqlStore) -> None:
    run = await store.create(record(), owner="one", lease_seconds=30)
    watched = await other.open("run-1")
    async with asyncio.TaskGroup() as group:
        following = group.create_task(collect(watched.log.follow()))
        for number in range(1, 20):
            run.log.append(step(number))
            await run.log.settled()
        run.log.append(ENDED)
        await run.update(status="passed")

    assert following.result() == list(enumerate([*map(step, range(1, 20)), ENDED], 1))
    assert (await watched.record()).status == "passed"
    assert len(watched.log) == 20  # looking at the record has looked at the log
    with pytest.raises(RuntimeError, match="opened read-only"):
        watched.log.append(step(1))


async def test_a_follower_stays_when_its_run_goes_on_elsewhere(store: SqlStore, other: SqlStore) -> None:
    run = await store.create(record(), owner="one", lease_seconds=0)
    async with asyncio.TaskGroup() as group:
        following = group.create_task(collect(run.log.follow()))
        run.log.append(step(1))
        await run.log.settled()
        (claim,) = await other.claim("two", 30, 1)
        with pytest.raises(LogLost):
            await run.update(status="running")
        (taken,) = await other.open_claimed([claim])
        taken.log.append(step(2))
        taken.log.append(ENDED)
        await taken.log.settled()

    assert following.result() == [(1, step(1)), (2, step(2)), (3, ENDED)]


async def test_following_ends_when_the_run_is_deleted(store: SqlStore, other: SqlStore) -> None:
    run = await store.create(record(), [STARTED])
    async with asyncio.TaskGroup() as group:
        following = group.create_task(collect((await other.open("run-1")).log.follow()))
        await store.delete("run-1")

    assert following.result() in ([], [(1, STARTED)])
    run.log.append(step(1))
    with pytest.raises(LogLost):
        await run.log.settled()
    with pytest.raises(UnknownRun):
        await run.record()


async def test_servers_are_known_by_when_they_were_last_seen(store: SqlStore, other: SqlStore) -> None:
    await store.register_server("one", "http://one")
    await other.register_server("two", "http://two")
    await store.create(record(), owner="two", lease_seconds=30)
    (first, second) = await store.servers()
    await other.renew("two", [], 30)
    owner = await store.owner_of("run-1")

    assert (first.id, first.address, second.id) == ("one", "http://one", "two")
    assert owner is not None
    assert owner.id == "two"
    assert owner.seen_at > second.seen_at >= second.started_at
    await store.forget_server("two")
    assert await store.owner_of("run-1") is None
    assert await claim_one(store, "one", 30) == 2


async def test_a_long_log_is_opened_without_its_events_and_paged(store: SqlStore) -> None:
    run = await store.create(record(), list(map(step, range(1, 3001))))
    opened = await store.open("run-1", events=False)

    assert len(opened.log) == 3000
    assert await opened.log.page(2500, 3) == [(2501, step(2501)), (2502, step(2502)), (2503, step(2503))]
    with pytest.raises(RuntimeError, match="without its events"):
        opened.log.read()
    run.log.append(step(3001))
    await run.log.settled()
    await opened.record()
    assert len(opened.log) == 3001


def large(name: str) -> StepStarted:
    """An event that does not stand in its row."""
    return StepStarted(1.0, "main", "large", name * 100_000)


async def test_runs_that_were_claimed_are_opened_together_each_with_its_own_log(store: SqlStore) -> None:
    lengths = {"empty": 0, "short": 3, "long": 450}
    for name, length in lengths.items():
        run = await store.create(record(name), owner="gone", lease_seconds=0)
        for number in range(1, length + 1):
            run.log.append(step(number))
        run.log.append(large(name))
        await run.close()
    claims = await store.claim("one", 30, 10)

    opened = {run.id: run for run in await store.open_claimed(claims)}

    assert {name: len(run.log) - 1 for name, run in opened.items()} == lengths
    assert list(opened["long"].log.read(448)[:2]) == [step(449), step(450)]
    assert all(run.log.read()[-1] == large(name) for name, run in opened.items())
    opened["short"].log.append(step(99))
    await opened["short"].close()
    assert await claim_one(store, "two", 30) is None
    assert (await store.open("short")).log.read()[-1] == step(99)


@pytest.mark.needs("postgres")
async def test_a_server_that_freezes_in_a_transaction_does_not_keep_its_runs_from_others(
    postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database, "IDLE_SECONDS", 0.5)
    frozen = await open_sql_store(postgres_url)
    await frozen.create(record(), owner="frozen", lease_seconds=0)
    other = await open_sql_store(postgres_url)

    with pytest.raises(StoreUnavailable):
        async with frozen.database.write() as connection:
            await connection.execute(frozen.database.locked(select(runs.c.id)))
            assert await claim_one(other, "other", 30) is None
            assert await wait_until(partial(claim_one, other, "other", 30)) == 1
            await connection.execute(select(runs.c.id))

    assert await frozen.renew("frozen", ["run-1"], 30) == set()
    await frozen.close()
    await other.close()
