"""A consumer of the logs acts on each event exactly once, in order, whatever crashes in between."""

import asyncio
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncConnection

from pitstop.errors import Unavailable
from pitstop.events.types import AnyEvent
from pitstop.store.sql import consumers as module
from pitstop.store.sql.consumers import Consumers
from pitstop.store.sql.event_rows import PAGE
from pitstop.store.sql.schema import consumers as positions
from pitstop.store.sql.store import SqlStore, open_sql_store
from tests.contracts.store import ENDED, STARTED, record, step
from tests.store.consuming_process import Copying, consumed

PROCESS = Path(__file__).with_name("consuming_process.py")


@pytest.fixture
async def store(database_url: str) -> AsyncIterator[SqlStore]:
    store = await open_sql_store(database_url)
    async with store.database.write() as connection:
        await connection.run_sync(consumed.create)
    yield store
    await store.close()


async def written(store: SqlStore, run: str, count: int, **fields: object) -> None:
    """A run that has ended, with so many steps between its start and its end."""
    kept = await store.create(record(run, **fields))
    kept.log.append(STARTED)
    for number in range(count):
        kept.log.append(step(number))
    kept.log.append(ENDED)
    await kept.log.settled()


async def consumed_in(store: SqlStore, run: str | None = None) -> list[int]:
    wanted = select(consumed.c.number).order_by(consumed.c.run, consumed.c.number)
    async with store.database.read() as connection:
        return list(
            (await connection.execute(wanted if run is None else wanted.where(consumed.c.run == run))).scalars()
        )


@asynccontextmanager
async def following(store: SqlStore, *all_of_them: module.Consumer) -> AsyncIterator[None]:
    async with asyncio.TaskGroup() as tasks:
        task = tasks.create_task(Consumers(store.database, store.news, all_of_them).follow())
        yield
        task.cancel()


async def until_consumed(store: SqlStore, count: int) -> list[int]:
    while len(found := await consumed_in(store)) < count:  # noqa: ASYNC110 - the database has no event to wait for
        await asyncio.sleep(0.01)
    return found


async def test_every_event_is_consumed_once_in_order(store: SqlStore) -> None:
    await written(store, "a", 3)
    await written(store, "b", PAGE + 7)

    for _ in range(2):
        await Consumers(store.database, store.news, [Copying()]).catch_up()

    assert await consumed_in(store, "a") == list(range(1, 6))
    assert await consumed_in(store, "b") == list(range(1, PAGE + 10))


async def test_events_are_consumed_as_they_are_stored(store: SqlStore) -> None:
    kept = await store.create(record("a"))
    kept.log.append(STARTED)
    async with following(store, Copying()):
        await until_consumed(store, 1)
        kept.log.append(step(1))
        assert await until_consumed(store, 2) == [1, 2]


async def test_events_that_another_server_stores_are_found_by_the_scan(
    store: SqlStore, database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "SCAN_SECONDS", 0.02)
    other = await open_sql_store(database_url)
    async with following(store, Copying()):
        await written(other, "a", 3)
        assert await until_consumed(store, 5) == [1, 2, 3, 4, 5]
    await other.close()


async def test_two_servers_consume_each_event_once_between_them(store: SqlStore, database_url: str) -> None:
    other = await open_sql_store(database_url)
    names = [f"run-{number}" for number in range(10)]
    for name in names:
        await written(store, name, 30)

    await asyncio.gather(*(Consumers(each.database, each.news, [Copying()]).catch_up() for each in (store, other)))

    for name in names:
        assert await consumed_in(store, name) == list(range(1, 33))
    await other.close()


async def test_each_consumer_has_a_position_of_its_own(store: SqlStore) -> None:
    await written(store, "a", 1)
    await Consumers(store.database, store.news, [Copying("one")]).catch_up()
    await Consumers(store.database, store.news, [Copying("one"), Copying("two")]).catch_up()

    assert await consumed_in(store) == [1, 1, 2, 2, 3, 3]


class Failing(Copying):
    """Refuses, after it has written, as often as it is told to."""

    def __init__(self, times: int) -> None:
        super().__init__()
        self.times = times

    async def consume(self, connection: AsyncConnection, run: str, events: Sequence[tuple[int, AnyEvent]]) -> None:
        await super().consume(connection, run, events)
        if run == "a" and self.times:
            self.times -= 1
            raise Unavailable("the mail server does not answer")


async def test_what_a_consumer_refuses_leaves_no_trace_comes_again_and_holds_up_no_other_run(store: SqlStore) -> None:
    await written(store, "a", 1)
    await written(store, "b", 1)
    feeding = Consumers(store.database, store.news, [Failing(times=1)])

    assert await feeding.catch_up() == {"a"}
    assert await consumed_in(store, "a") == []
    assert await consumed_in(store, "b") == [1, 2, 3]
    assert await feeding.catch_up() == set()
    assert await consumed_in(store, "a") == [1, 2, 3]


async def test_what_a_run_took_over_from_another_is_not_consumed_again(store: SqlStore) -> None:
    kept = await store.create(record("again"), [STARTED, step(1)])
    kept.log.append(step(2))
    await kept.log.settled()

    await Consumers(store.database, store.news, [Copying()]).catch_up()

    assert await consumed_in(store) == [3]


async def test_a_deleted_run_leaves_no_position_behind(store: SqlStore) -> None:
    await written(store, "a", 1)
    await Consumers(store.database, store.news, [Copying()]).catch_up()
    await store.delete("a")

    async with store.database.read() as connection:
        assert (await connection.execute(select(positions))).all() == []
    await Consumers(store.database, store.news, [Copying()]).catch_up()


async def test_after_a_kill_each_event_is_consumed_once(store: SqlStore, database_url: str) -> None:
    names = [f"run-{number}" for number in range(20)]
    for name in names:
        await written(store, name, 40)
    for pages in (1, 3, 7):
        process = await asyncio.create_subprocess_exec(
            sys.executable, PROCESS, database_url, stdout=asyncio.subprocess.PIPE
        )
        assert process.stdout is not None
        for _ in range(pages):
            assert await process.stdout.readline()
        process.kill()
        await process.wait()

    await Consumers(store.database, store.news, [Copying()]).catch_up()

    for name in names:
        assert await consumed_in(store, name) == list(range(1, 43))
