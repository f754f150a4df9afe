import asyncio
import base64
import json
import zipfile
from collections.abc import AsyncIterator
from importlib import import_module
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import Connection, column, insert, inspect, table, text

from pitstop.errors import BadStore, StoreUnavailable
from pitstop.service.secret_scopes import SecretRecord
from pitstop.service.stored.secrets import StoredSecrets
from pitstop.store.port import RunFilter
from pitstop.store.sql.database import Database
from pitstop.store.sql.migrate import migrate, scripts
from pitstop.store.sql.schema import REVISION, metadata
from pitstop.store.sql.store import open_sql_store, restore_sql_store
from tests.contracts.store import record


@pytest.fixture
async def database(database_url: str) -> AsyncIterator[Database]:
    database = Database(database_url)
    yield database
    await database.close()


async def tables(database: Database) -> set[str]:
    async with database.read() as connection:
        return set(await connection.run_sync(lambda sync: inspect(sync).get_table_names())) - {"alembic_version"}


async def revision_of(database: Database) -> str | None:
    async with database.read() as connection:
        return await connection.run_sync(lambda sync: MigrationContext.configure(sync).get_current_revision())


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

    import_module("pitstop.serving.house")  # a whole server: every room has defined its tables
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


async def test_secrets_of_the_first_version_become_those_of_the_server(database: Database, database_url: str) -> None:
    await migrate(database, "0001")
    async with database.write() as connection:
        old = table("secrets", column("name"), column("sealed"), column("created_at"))
        await connection.execute(insert(old).values(name="KEY", sealed=b"\xffsealed", created_at=12.5))

    store = await open_sql_store(database_url)
    secrets = StoredSecrets(store.database)
    assert await secrets.all() == [SecretRecord("KEY", "server", (), 12.5, b"\xffsealed")]
    await secrets.put("KEY", "flow::ci", b"narrower", [])
    await store.close()

    await migrate(database, "0001")
    async with database.read() as connection:
        kept = await connection.execute(text("SELECT name, sealed, created_at FROM secrets"))
        assert [(name, bytes(sealed), at) for name, sealed, at in kept] == [("KEY", b"\xffsealed", 12.5)]


async def test_a_backup_of_the_first_version_is_restored(database_url: str, tmp_path: Path) -> None:
    """As that version wrote it: without the columns that came later."""
    columns = {"name": "plain", "sealed": "bytes", "created_at": "plain"}
    with zipfile.ZipFile(tmp_path / "backup.zip", "w") as packed:
        described = {"format": 1, "revision": "0001", "tables": {"secrets": columns}}
        packed.writestr("backup.json", json.dumps(described))
        packed.writestr("secrets.jsonl", json.dumps(["KEY", base64.b64encode(b"sealed").decode(), 1.0]) + "\n")

    await restore_sql_store(database_url, tmp_path / "backup.zip")

    store = await open_sql_store(database_url)
    assert await StoredSecrets(store.database).all() == [SecretRecord("KEY", "server", (), 1.0, b"sealed")]
    await store.close()
