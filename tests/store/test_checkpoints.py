"""SQLite's log, which is carried over into the database while runs go on."""

import asyncio
from pathlib import Path

from pitstop.store.sql.store import open_sql_store
from tests.contracts.store import PATIENCE_SECONDS, record, step


async def test_what_was_kept_comes_into_the_database_file_while_the_store_is_open(tmp_path: Path) -> None:
    database = tmp_path / "runs.db"
    store = await open_sql_store(f"sqlite:///{database}")
    try:
        kept = await store.create(record("carried-over"))
        assert database.with_name("runs.db-wal").exists()

        kept.log.append(step(1))
        await kept.log.settled()

        async with asyncio.timeout(PATIENCE_SECONDS):
            while b"carried-over" not in database.read_bytes():  # noqa: ASYNC110 - nobody tells of it
                await asyncio.sleep(0.01)
    finally:
        await store.close()
