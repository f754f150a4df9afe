"""What becomes of what was written when the process is killed, or the database is locked, full, read-only or gone."""

import asyncio
import os
import random
import signal
import sqlite3
import sys
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager, closing
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import text

from pitstop.errors import StoreUnavailable, UnknownRun
from pitstop.events.outcome import Outcome, Status
from pitstop.events.types import StepFinished
from pitstop.service.audit import Deed
from pitstop.service.stored.audit import StoredAudit
from pitstop.store.sql.store import SqlStore, open_sql_store
from tests.contracts.store import ENDED, collect, lines_of, record, step, write
from tests.databases import Postgres, database_of
from tests.patience import PATIENCE_SECONDS, wait_until

WRITER = Path(__file__).parent / "writing_process.py"
KILLS = 8


@asynccontextmanager
async def opened(url: str) -> AsyncIterator[SqlStore]:
    store = await open_sql_store(url)
    try:
        yield store
    finally:
        await store.close()


def path_of(url: str) -> Path:
    return Path(url.removeprefix("sqlite:///"))


# The process


async def kill_a_writer(url: str, name: str, told_times: int) -> int:
    """Start a process that writes, kill it when it has told so often that something is kept; the last it told."""
    process = await asyncio.create_subprocess_exec(sys.executable, WRITER, url, name, stdout=asyncio.subprocess.PIPE)
    assert process.stdout is not None
    async with asyncio.timeout(PATIENCE_SECONDS):
        for _ in range(told_times):
            await process.stdout.readline()
        process.send_signal(signal.SIGKILL)
        rest = (await process.stdout.read()).split(b"\n")
        await process.wait()
    return int(rest[-2]) if len(rest) > 1 else 0


async def test_nothing_that_was_told_to_be_kept_is_lost_when_the_process_is_killed(
    database_url: str, postgres: Postgres
) -> None:
    chance = random.Random(7)
    for round_number in range(KILLS):
        name = f"round-{round_number}"
        told = await kill_a_writer(database_url, name, chance.randint(1, 40))
        if not database_url.startswith("sqlite"):
            postgres.end_connections(database_of(database_url))  # what it has sent is kept by then, or never
        async with opened(database_url) as store:
            for run in (await store.open(f"{name}-1"), await store.open(f"{name}-2")):
                numbers = [
                    int(event.occurrence.split("#")[1]) for event in run.log.read() if isinstance(event, StepFinished)
                ]
                assert numbers == list(range(1, len(numbers) + 1))
                assert len(numbers) >= told
                lines = [line.data for line in await lines_of(run, "step")]
                assert lines == [b"line %d" % number for number in numbers]  # the same transaction


# Who is told, and when


async def test_nobody_is_told_of_what_is_not_kept(sqlite_url: str) -> None:
    async with opened(f"{sqlite_url}?busy_timeout=50") as store:
        run = await store.create(record())
        told: list[int] = []

        async def listen() -> None:
            async for number, _ in run.log.follow():
                told.append(number)

        async with asyncio.TaskGroup() as group:
            group.create_task(listen())
            with closing(sqlite3.connect(path_of(sqlite_url), isolation_level=None)) as locker:
                locker.execute("BEGIN IMMEDIATE")
                run.log.append(step(1))
                settling = group.create_task(run.log.settled())
                await wait_until(lambda: run.problem is not None)
                assert told == []
                assert not settling.done()
                assert len(run.log.read()) == 1  # the engine sees it at once
                locker.execute("ROLLBACK")
            await settling
            run.log.append(ENDED)
        assert told == [1, 2]
        assert run.problem is None


# The database


async def test_what_was_written_while_the_database_was_locked_is_kept_when_it_is_free(sqlite_url: str) -> None:
    async with opened(f"{sqlite_url}?busy_timeout=20") as store:
        run = await store.create(record())
        with closing(sqlite3.connect(path_of(sqlite_url), isolation_level=None)) as locker:
            locker.execute("BEGIN IMMEDIATE")
            for number in range(1, 101):
                run.log.append(step(number))
                write(run, "build", b"line\n")
            await wait_until(lambda: run.problem is not None)
            assert "locked" in str(run.problem)
            assert (await run.record()).status == "pending"  # reading goes on
            locker.execute("ROLLBACK")
        await run.log.settled()

        assert run.problem is None
        assert len((await store.open("run-1")).log) == 100
        assert len(await lines_of(run, "build")) == 100


async def test_a_full_database_is_told_and_what_did_not_fit_is_kept_when_there_is_room(sqlite_url: str) -> None:
    async with opened(sqlite_url) as store:
        old = await store.create(record("old"))
        for number in range(40):
            write(old, f"step-{number}", os.urandom(50_000).hex().encode() + b"\n")
        await old.update(status="passed")
        await old.close()
        async with store.database.read() as connection:
            pages = (await connection.execute(text("PRAGMA page_count"))).scalar_one()
    async with opened(f"{sqlite_url}?max_page_count={pages + 20}") as store:
        run = await store.create(record("new"))
        for number in range(1, 31):
            write(run, "build", os.urandom(50_000).hex().encode() + b"\n")
            run.log.append(step(number))
        await wait_until(lambda: run.problem is not None)
        assert "full" in str(run.problem)
        await store.delete("old")  # which needs no room, and gives some
        await run.log.settled()

        assert run.problem is None
        again = await store.open("new")
        assert len(again.log) == 30
        assert sum(map(len, await collect(again.output_bytes("build")))) == 30 * 100_001


async def test_a_database_that_is_read_only_is_told_until_it_is_not(postgres: Postgres, postgres_url: str) -> None:
    async with opened(postgres_url) as store:
        run = await store.create(record())
        postgres.set_read_only(postgres_url, True)
        run.log.append(step(1))
        await wait_until(lambda: "read-only" in str(run.problem))
        with pytest.raises(StoreUnavailable, match="read-only"):
            await store.write_flow_setting("flow", "x", 1)
        assert (await run.record()).status == "pending"
        postgres.set_read_only(postgres_url, False)
        await run.log.settled()
        assert run.problem is None
        assert len((await store.open("run-1")).log) == 1


async def test_a_file_that_cannot_be_written_is_told_when_it_is_opened() -> None:
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", OPEN_READ_ONLY, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT
    )
    async with asyncio.timeout(PATIENCE_SECONDS):
        said, _ = await process.communicate()

    assert said.startswith(b"StoreUnavailable: the store is unavailable: "), said.decode()
    assert b"readonly" in said or b"unable to open" in said


# In a process of its own, which stops being root: root can write everything. What it needs is imported before.
OPEN_READ_ONLY = """
import asyncio, os, shutil, tempfile
from pitstop.errors import StoreUnavailable
from pitstop.store.sql.store import open_sql_store

async def main(folder):
    url = f"sqlite:///{folder}/pitstop.db"
    await (await open_sql_store(url)).close()
    os.chmod(f"{folder}/pitstop.db", 0o444)
    os.chmod(folder, 0o555)
    if os.geteuid() == 0:
        os.seteuid(65534)
    try:
        store = await open_sql_store(url)
        await store.write_flow_setting("flow", "x", 1)
    except StoreUnavailable as error:
        print(f"{type(error).__name__}: {error}")
    finally:
        os.seteuid(os.getuid())
        os.chmod(folder, 0o700)

folder = tempfile.mkdtemp(prefix="pitstop-read-only-")
try:
    asyncio.run(main(folder))
finally:
    shutil.rmtree(folder)
"""


async def test_a_database_that_is_restarted_in_mid_write_loses_and_repeats_nothing(
    postgres: Postgres, postgres_url: str
) -> None:
    async with opened(postgres_url) as store:
        run = await store.create(record())
        is_over = asyncio.Event()

        async def work() -> int:
            number = 0
            while not is_over.is_set():
                number += 1
                run.log.append(step(number))
                write(run, "build", b"%d\n" % number)
                await StoredAudit(store).add(Deed(float(number), "ann", "step", "run-1", {}))
                await run.log.settled()
            run.log.append(ENDED)
            await run.log.settled()
            return number

        async with asyncio.TaskGroup() as group:
            working = group.create_task(work())
            here = group.create_task(collect(run.log.follow()))
            elsewhere = group.create_task(collect((await store.open("run-1")).log.follow()))
            for mode in ("immediate", "fast", "immediate"):
                kept = len(run.log)
                await wait_until(lambda kept=kept: len(run.log) > kept + 5)  # type: ignore[misc]
                await asyncio.to_thread(postgres.stop, mode)
                await wait_until(lambda: run.problem is not None)
                await asyncio.to_thread(postgres.start)
            is_over.set()

        expected = [*map(step, range(1, working.result() + 1)), ENDED]
        done = [entry.at for entry in await StoredAudit(store).newest(None, None, 1_000_000)]
        assert done == list(range(working.result(), 0, -1))
        assert list((await store.open("run-1")).log.read()) == expected
        assert here.result() == elsewhere.result() == list(enumerate(expected, 1))
        lines = await lines_of(run, "build")
        assert [(line.number, line.data) for line in lines] == [(n, b"%d" % n) for n in range(1, working.result() + 1)]


async def test_what_comes_while_all_connections_are_in_use_is_kept_when_one_is_free(postgres_url: str) -> None:
    async with opened(postgres_url) as store, AsyncExitStack() as others:
        run = await store.create(record())
        pool: Any = store.database.engine.pool
        pool._timeout = 0.05  # that somebody waits for a connection
        for _ in range(pool.size() + pool._max_overflow):
            await others.enter_async_context(store.database.read())
        run.log.append(step(1))
        await wait_until(lambda: run.problem is not None)
        await others.aclose()
        await run.log.settled()

        assert run.problem is None
        assert len((await store.open("run-1")).log) == 1


async def test_two_who_keep_the_same_large_values_do_not_wait_for_each_other(
    postgres: Postgres, postgres_url: str
) -> None:
    async with opened(postgres_url) as store, opened(postgres_url) as other:
        postgres.execute(SLOW_BLOBS, database_of(postgres_url))
        first, second = ("x" * 100_000, "y" * 100_000)
        made = await asyncio.gather(
            store.create(record("one"), [finished(first), finished(second)]),
            other.create(record("two"), [finished(second), finished(first)]),
        )

        assert [len(run.log) for run in made] == [2, 2]


def finished(text: str) -> StepFinished:
    return StepFinished(1.0, "main", "build", "build#1", Outcome(Status.PASSED, {"text": text}))


SLOW_BLOBS = """
CREATE FUNCTION take_time() RETURNS trigger AS $$ BEGIN PERFORM pg_sleep(0.5); RETURN NEW; END $$ LANGUAGE plpgsql;
CREATE TRIGGER slow BEFORE INSERT ON blobs FOR EACH ROW EXECUTE FUNCTION take_time();
"""


async def test_a_store_that_cannot_write_any_more_can_be_closed(
    postgres: Postgres, postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pitstop.store.sql.store.CLOSE_SECONDS", 0.5)
    store = await open_sql_store(postgres_url)
    run = await store.create(record())
    await asyncio.to_thread(postgres.stop, "immediate")
    try:
        run.log.append(step(1))
        with pytest.raises(StoreUnavailable, match="closed before everything was stored"):
            await store.close()
        with pytest.raises(StoreUnavailable):
            await open_sql_store(postgres_url)
    finally:
        await asyncio.to_thread(postgres.start)


async def test_a_store_that_is_closed_keeps_nobody_waiting(store: SqlStore) -> None:
    run = await store.create(record())
    await store.close()
    run.log.append(step(1))

    with pytest.raises(StoreUnavailable, match="closed"):
        await run.log.settled()
    with pytest.raises(StoreUnavailable, match="closed"):
        run.log.append(step(2))


async def test_a_run_that_is_gone_cannot_be_changed(store: SqlStore) -> None:
    await store.create(record())
    seen = await store.open("run-1")
    await store.delete("run-1")

    with pytest.raises(UnknownRun):
        await seen.update(is_pinned=True)


async def test_what_a_database_never_takes_of_one_run_does_not_harm_the_others(store: SqlStore) -> None:
    good, bad = await store.create(record("good")), await store.create(record("bad"))
    bad.log.append(StepFinished(1.0, "main", "build", "build#1", Outcome(Status.PASSED, 1)))
    await bad.log.settled()
    async with store.database.write() as connection:  # somebody has written what was ours to write
        await connection.execute(
            text("INSERT INTO events (run, number, kind, at, body) VALUES ('bad', 2, 'x', 1.0, :body)"), {"body": b"x"}
        )
    bad.log.append(step(2))
    good.log.append(step(1))
    await good.log.settled()
    with pytest.raises(StoreUnavailable):
        await bad.log.settled()

    assert good.problem is None
    assert bad.problem is not None
    assert len((await store.open("good")).log) == 1
    with pytest.raises(StoreUnavailable):
        bad.log.append(step(3))
    good.log.append(step(2))
    await good.log.settled()
