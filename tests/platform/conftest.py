"""What the tests of the platform share: servers and databases for a module, with a repository for each test."""

from collections.abc import AsyncIterator, Sequence
from itertools import count
from pathlib import Path

import pytest
import pytest_asyncio

from tests.databases import Postgres, postgres
from tests.platform.workbench import Workbench

__all__ = ["postgres"]
NUMBERS = count(1)


def pytest_collection_modifyitems(items: Sequence[pytest.Item]) -> None:
    """A test that uses the server of its module runs in the loop that the server runs in."""
    in_module_loop = pytest.mark.asyncio(loop_scope="module")
    for item in items:
        if item.path.is_relative_to(Path(__file__).parent) and "server" in getattr(item, "fixturenames", ()):
            item.add_marker(in_module_loop, append=False)


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
