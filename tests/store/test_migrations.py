import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import Connection, inspect, text

from pitstop.errors import BadStore, StoreUnavailable
from pitstop.store.port import RunFilter
from pitstop.store.sql.database import Database
from pitstop.store.sql.migrate import migrate, revision_of, scripts
from pitstop.store.sql.schema import REVISION, metadata
from pitstop.store.sql.store import open_sql_store
from tests.contracts.store import record


@pytest.fixture
async def database(database_url: str) -> AsyncIterator[Database]:
    database = Database(database_url)
    yield database
    await database.close()


async def tables(database: Database) -> set[str]:
    async with database.read() as connection:
        return set(await connection.run_sync(lambda sync: inspect(sync).get_table_names())) - {"alembic_version"}


async def test_every_migration_goes_up_and_down_again(database: Database) -> None:
    up = [script.revision for script in reversed(list(scripts().walk_revisions()))]
    for revision in [*up, *reversed(up[:-1]), "base", *up]:
        await migrate(database, revision)
        assert await revision_of(database) == (None if revision == "base" else revision)
    await migrate(database, "base")

    assert await tables(database) == set()


async def test_the_migrations_make_the_tables_that_the_code_uses(database: Database) -> None:
    def differences(connection: Connection) -> list[object]:
        return list(compare_metadata(MigrationContext.configure(connection), metadata))

    await migrate(database)
    async with database.read() as connection:
        assert await connection.run_sync(differences) == []
    assert scripts().get_current_head() == REVISION


async def test_opening_a_store_again_changes_nothing(database_url: str) -> None:
    for name in ("first", "second"):
        store = await open_sql_store(database_url)
        await store.create(record(name))
        await store.close()
    store = await open_sql_store(database_url)

    assert len(await store.find(RunFilter())) == 2
    await store.close()


async def test_servers_that_start_at_once_migrate_once(database_url: str) -> None:
    stores = await asyncio.gather(*(open_sql_store(database_url) for _ in range(5)))
    for number, store in enumerate(stores):
        await store.create(record(f"run-{number}"))
    assert len(await stores[0].find(RunFilter())) == 5
    for store in stores:
        await store.close()


async def test_a_database_of_a_later_version_is_refused_and_left_alone(database: Database, database_url: str) -> None:
    await migrate(database)
    async with database.write() as connection:
        await connection.execute(text("UPDATE alembic_version SET version_num = '9999'"))
    before = await tables(database)

    with pytest.raises(BadStore, match="later version"):
        await open_sql_store(database_url)
    assert await revision_of(database) == "9999"
    assert await tables(database) == before


async def test_a_database_with_tables_of_somebody_else_is_refused(database: Database, database_url: str) -> None:
    async with database.write() as connection:
        await connection.execute(text("CREATE TABLE invoices (id INTEGER)"))

    with pytest.raises(BadStore, match="tables of another application"):
        await open_sql_store(database_url)
    assert await tables(database) == {"invoices"}


@pytest.mark.parametrize("url", ["mysql://x/y", "sqlite://", "postgresql:/", "sqlite:///x.db?colour=red", "://"])
async def test_a_url_that_names_no_database_of_ours_is_refused(url: str) -> None:
    with pytest.raises(BadStore):
        await open_sql_store(url)


async def test_a_database_that_does_not_answer_is_told(tmp_path: Path) -> None:
    with pytest.raises(StoreUnavailable):
        await open_sql_store(f"postgresql://nobody@/nothing?host={tmp_path}")
    (tmp_path / "file").write_text("no folder")
    with pytest.raises(StoreUnavailable):
        await open_sql_store(f"sqlite:///{tmp_path}/file/pitstop.db")


async def test_a_file_that_is_no_database_is_told(tmp_path: Path) -> None:
    (tmp_path / "pitstop.db").write_bytes(b"this is no database, but some text that is long enough" * 100)

    with pytest.raises(StoreUnavailable, match="not a database"):
        await open_sql_store(f"sqlite:///{tmp_path}/pitstop.db")


async def test_the_file_of_a_person_is_nobody_elses_to_read(tmp_path: Path) -> None:
    store = await open_sql_store(str(tmp_path / "home" / "pitstop.db"))
    await store.create(record())

    assert {path.stat().st_mode & 0o777 for path in (tmp_path / "home").iterdir()} == {0o600}
    assert (tmp_path / "home").stat().st_mode & 0o777 == 0o700
    await store.close()
