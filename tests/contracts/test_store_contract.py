from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from pitstop.store.folder import FolderStore
from pitstop.store.port import RunStore
from pitstop.store.sql.store import open_sql_store
from tests.contracts.store import StoreContract
from tests.databases import postgres, postgres_url, sqlite_url

__all__ = ["postgres", "postgres_url", "sqlite_url"]


class TestFolderStore(StoreContract):
    @pytest.fixture
    async def store(self, tmp_path: Path) -> AsyncIterator[RunStore]:
        yield FolderStore(tmp_path / "home")


class TestSqliteStore(StoreContract):
    @pytest.fixture
    async def store(self, sqlite_url: str) -> AsyncIterator[RunStore]:
        store = await open_sql_store(sqlite_url)
        yield store
        await store.close()


class TestPostgresStore(StoreContract):
    @pytest.fixture
    async def store(self, postgres_url: str) -> AsyncIterator[RunStore]:
        store = await open_sql_store(postgres_url)
        yield store
        await store.close()
