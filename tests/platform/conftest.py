"""What the tests of the platform share: servers and databases for a module, with a repository for each test."""

from collections.abc import AsyncIterator, Sequence
from itertools import count
from pathlib import Path

import pytest
import pytest_asyncio

from tests.databases import Postgres, postgres
from tests.module_loops import share_loops
from tests.platform.workbench import Workbench

__all__ = ["postgres"]
NUMBERS = count(1)


def pytest_collection_modifyitems(items: Sequence[pytest.Item]) -> None:
    share_loops(items, Path(__file__).parent)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def server(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Workbench]:
    async with Workbench(tmp_path_factory.mktemp("server")).serving() as server:
        yield server


@pytest_asyncio.fixture(loop_scope="module")
async def bench(server: Workbench, tmp_path: Path) -> Workbench:
    """The server of the module with an empty repository of this test, and a clone of it."""
    bench = server.sharing(tmp_path, f"shop-{next(NUMBERS)}")
    await bench.create()
    return bench


@pytest.fixture
async def own_bench(tmp_path: Path) -> AsyncIterator[Workbench]:
    """A server of this test alone, with the empty repository `shop`, and a clone of it."""
    async with Workbench(tmp_path).open() as bench:
        await bench.create()
        yield bench


@pytest.fixture(scope="module", params=["sqlite", pytest.param("postgres", marks=pytest.mark.needs("postgres"))])
def database_url(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> str:
    """One database of each kind for all tests of a module."""
    if request.param == "sqlite":
        folder: Path = tmp_path_factory.mktemp("database")
        return f"sqlite:///{folder}/pitstop.db"
    cluster: Postgres = request.getfixturevalue("postgres")
    return cluster.new_database()
