import asyncio
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Column, Integer, MetaData, Table, Text, func, select
from sqlalchemy.ext.asyncio import AsyncConnection

from pitstop.errors import UnknownRun
from pitstop.events.outcome import Outcome, Status
from pitstop.events.types import StepFinished
from pitstop.store.port import RunFilter
from pitstop.store.sql import event_rows
from pitstop.store.sql.columns import AnyText
from pitstop.store.sql.schema import artifacts, blob_uses, blobs, deleted_runs, events, output
from pitstop.store.sql.store import SqlStore, open_sql_store
from tests.contracts.store import collect, handed_on, record, step, write

LONG_AGO = 1000.0
SHARED = "shared " * 10_000


def finished(text: str) -> StepFinished:
    return StepFinished(1.0, "main", "build", "build#1", Outcome(Status.PASSED, {"text": text}))


async def ended_run(store: SqlStore, name: str, folder: Path | None = None, **fields: Any) -> None:
    run = await store.create(record(name, ended_at=LONG_AGO, **fields), [finished(SHARED), finished(name * 20_000)])
    write(run, "build", b"said\n" * 1000)
    if folder is not None:
        await run.keep_artifacts(handed_on(folder))
    await run.update(status="passed")
    await run.close()


async def count(store: SqlStore, table: Any) -> int:
    async with store.database.read() as connection:
        return int((await connection.execute(select(func.count()).select_from(table))).scalar_one())


async def ids(store: SqlStore) -> set[str]:
    return {each.id for each in await store.find(RunFilter())}


async def test_a_deleted_run_leaves_nothing_that_only_it_had(store: SqlStore, tmp_path: Path) -> None:
    folder = tmp_path / "artifacts"
    folder.mkdir()
    (folder / "shared").write_bytes(os.urandom(1_500_000))
    for name in ("one", "two"):
        await ended_run(store, name, folder)
    both = await count(store, blobs)
    await store.delete("one")

    assert await count(store, blobs) == both - 1  # the text that only it had
    two = await store.open("two")
    assert list(two.log.read()) == [finished(SHARED), finished("two" * 20_000)]
    assert b"".join(await collect(two.artifact("shared"))) == (folder / "shared").read_bytes()
    await store.delete("two")
    for table in (events, output, artifacts, blobs, blob_uses, deleted_runs):
        assert await count(store, table) == 0


async def test_rows_of_any_room_that_are_keyed_by_the_run_go_with_it(store: SqlStore) -> None:
    tables = MetaData()
    marks = Table("marks", tables, Column("name", Text, primary_key=True), Column("run", AnyText, primary_key=True))
    mentions = Table("mentions", tables, Column("id", Integer, primary_key=True), Column("run", AnyText))
    async with store.database.write() as connection:
        await connection.run_sync(tables.create_all)
    for run in ("one\x00", "two"):
        await ended_run(store, run)
        await store.database.put_new(marks, {"name": "a", "run": run})
        await store.database.put(mentions, {"run": run})
    await store.delete("one\x00")

    assert [row.run for row in await store.database.rows(select(marks))] == ["two"]
    assert await count(store, mentions) == 2  # as with the audit log, which tells what happened to a deleted run


async def test_a_run_that_is_deleted_while_it_is_read_is_unknown(
    store: SqlStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    read_blobs = event_rows.read_blobs
    for name in ("opened", "followed"):
        await ended_run(store, name)
    followed = await store.open("followed", events=False)
    doomed: list[str] = []

    async def read_after_deletion(connection: AsyncConnection, packed: Iterable[bytes]) -> dict[bytes, bytes]:
        await store.delete(doomed.pop())
        return await read_blobs(connection, packed)

    monkeypatch.setattr(event_rows, "read_blobs", read_after_deletion)

    doomed.append("opened")
    with pytest.raises(UnknownRun):
        await store.open("opened")
    doomed.append("followed")
    assert await collect(followed.log.follow()) == []


async def test_old_runs_go_but_for_those_that_are_to_stay(store: SqlStore) -> None:
    await ended_run(store, "old")
    await ended_run(store, "pinned", is_pinned=True)
    await ended_run(store, "kept", kept_until=1e12)
    await ended_run(store, "newest", created_at=9999.0)
    await store.create(record("pending"))
    running = await store.create(record("running"))
    await running.update(status="running")
    now = await store.database.read_clock()
    await ended_run(store, "young", created_at=1.0)
    await (await store.open("young")).update(ended_at=now)

    collected = await store.gc(3600, keep_last=1)
    assert collected.runs == ("old",)
    assert await ids(store) == {"pinned", "kept", "newest", "pending", "running", "young"}
    with pytest.raises(UnknownRun):
        await store.open("old")
    assert set((await store.gc(0)).runs) == {"newest", "young"}


async def test_the_file_of_sqlite_shrinks(sqlite_url: str) -> None:
    store = await open_sql_store(sqlite_url)
    for number in range(30):
        run = await store.create(record(f"run-{number}", ended_at=LONG_AGO))
        for _ in range(10):
            run.log.append(finished(os.urandom(20_000).hex()))
        await run.update(status="passed")
        await run.close()
    collected = await store.gc(0)

    assert len(collected.runs) == 30
    assert collected.freed_bytes > 5_000_000
    await store.close()


async def test_what_a_crash_left_of_a_deleted_run_goes_with_the_next_collection(store: SqlStore) -> None:
    await ended_run(store, "one")
    async with store.database.write() as connection:  # as far as a deletion comes when it is killed at once
        await connection.exec_driver_sql("DELETE FROM runs")
        await connection.exec_driver_sql("INSERT INTO deleted_runs (run) VALUES ('one')")
    await store.gc(0)

    for table in (events, output, blobs, blob_uses, deleted_runs):
        assert await count(store, table) == 0


async def test_runs_are_written_while_others_are_deleted(store: SqlStore) -> None:
    async def write_run(name: str) -> None:
        run = await store.create(record(name, ended_at=LONG_AGO))
        for number in range(20):
            run.log.append(finished(SHARED))  # the blob that is deleted meanwhile, again and again
            run.log.append(step(number))
            await run.log.settled()
        await run.update(status="passed", is_pinned=name.startswith("pinned"))
        await run.close()

    async def collect_all() -> None:
        for _ in range(10):
            await store.gc(0)

    async with asyncio.TaskGroup() as group:
        for number in range(5):
            group.create_task(write_run(f"pinned-{number}"))
            group.create_task(write_run(f"old-{number}"))
        group.create_task(collect_all())
    await store.gc(0)

    assert await ids(store) == {f"pinned-{number}" for number in range(5)}
    for number in range(5):
        log = (await store.open(f"pinned-{number}")).log
        assert [each for each in log.read() if isinstance(each, StepFinished)] == [finished(SHARED)] * 20
    assert await count(store, blobs) == 1
