"""SQLite's log, which is carried over into the database while runs go on."""

from pathlib import Path

from pitstop.store.sql.store import open_sql_store
from tests.contracts.store import record, step
from tests.patience import wait_until


async def test_what_was_kept_comes_into_the_database_file_while_the_store_is_open(tmp_path: Path) -> None:
    database = tmp_path / "runs.db"
    store = await open_sql_store(f"sqlite:///{database}")
    try:
        kept = await store.create(record("carried-over"))
        assert database.with_name("runs.db-wal").exists()

        kept.log.append(step(1))
        await kept.log.settled()

        await wait_until(lambda: b"carried-over" in database.read_bytes())
    finally:
        await store.close()
