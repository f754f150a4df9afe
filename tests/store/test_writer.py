"""The one writer of a store: what belongs together is written together, and nothing is written for nothing."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sqlalchemy import Connection, Engine, event

from pitstop.service.audit import Deed
from pitstop.service.stored.audit import StoredAudit
from pitstop.store.sql.store import open_sql_store
from tests.contracts.store import record, step
from tests.patience import PATIENCE_SECONDS


@contextmanager
def counted_commits() -> Iterator[list[Connection]]:
    commits: list[Connection] = []

    def note(connection: Connection) -> None:
        commits.append(connection)

    event.listen(Engine, "commit", note)
    try:
        yield commits
    finally:
        event.remove(Engine, "commit", note)


async def test_what_follows_at_once_from_what_was_written_is_kept_with_it(tmp_path: Path) -> None:
    store = await open_sql_store(f"sqlite:///{tmp_path}/runs.db")
    command = await store.create(record("command"))
    follower = await store.create(record("follower"))
    is_told = asyncio.Event()

    async def follow() -> None:
        await is_told.wait()
        follower.log.append(step(1))
        await follower.log.settled()

    async with asyncio.timeout(PATIENCE_SECONDS), asyncio.TaskGroup() as group:
        group.create_task(follow())
        await asyncio.sleep(0)  # it waits by now
        with counted_commits() as commits:
            command.log.append(step(1))
            is_told.set()
            await command.log.settled()
            await follower.log.settled()
    await store.close()

    assert len(commits) == 1


async def test_a_deed_is_kept_once_with_what_it_did(tmp_path: Path) -> None:
    store = await open_sql_store(f"sqlite:///{tmp_path}/runs.db")
    run = await store.create(record("run"))
    with counted_commits() as commits:
        async with asyncio.timeout(PATIENCE_SECONDS), asyncio.TaskGroup() as group:
            group.create_task(StoredAudit(store).add(Deed(1.0, "ann", "step", "run", {})))
            await asyncio.sleep(0)  # it is on its way by now
            run.log.append(step(1))
        await store.close()  # which keeps whatever is not kept yet

    assert len(commits) == 1
