"""One server for the tests of a module, each of which finds it as if it had just begun."""

from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import pytest
import pytest_asyncio

from tests.doors.http.bench import Bench
from tests.module_loops import share_loops


def pytest_collection_modifyitems(items: Sequence[pytest.Item]) -> None:
    share_loops(items, Path(__file__).parent)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def server(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Bench]:
    async with Bench(tmp_path_factory.mktemp("server")).serving() as serving:
        yield serving


@pytest_asyncio.fixture(loop_scope="module")
async def bench(server: Bench, tmp_path: Path) -> AsyncIterator[Bench]:
    """The server of the module, whose runs work in a folder of this test."""
    server.work_in(tmp_path)
    yield server
    await server.clear()


@pytest.fixture
async def own_bench(tmp_path: Path) -> AsyncIterator[Bench]:
    """A server of this test alone, which it may break."""
    async with Bench(tmp_path).serving() as serving:
        yield serving
