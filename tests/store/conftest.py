"""Stores on real databases: each test that takes `store` or `database_url` runs on both."""

from collections.abc import AsyncIterator

import pytest

from pitstop.store.sql.store import SqlStore, open_sql_store
from tests.databases import database_url, postgres, postgres_url, sqlite_url

__all__ = ["database_url", "postgres", "postgres_url", "sqlite_url"]


@pytest.fixture
async def store(database_url: str) -> AsyncIterator[SqlStore]:
    store = await open_sql_store(database_url)
    yield store
    await store.close()
