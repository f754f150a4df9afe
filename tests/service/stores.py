"""Where a desk may store: a fixture for test modules of desks. They also import the fixtures of the databases."""

from collections.abc import AsyncIterator

import pytest

from pitstop.store.sql.store import SqlStore, open_sql_store


@pytest.fixture(params=["memory", "sqlite", pytest.param("postgres", marks=pytest.mark.needs("postgres"))])
async def store(request: pytest.FixtureRequest) -> AsyncIterator[SqlStore | None]:
    """A new database of each kind; None for a desk that stores without one."""
    if request.param == "memory":
        yield None
        return
    store = await open_sql_store(request.getfixturevalue(f"{request.param}_url"))
    yield store
    await store.close()
