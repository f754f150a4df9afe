"""One server for the tests of a module, each of which finds it as if it had just begun."""

from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import pytest
import pytest_asyncio

from tests.doors.http.bench import Bench


def pytest_collection_modifyitems(items: Sequence[pytest.Item]) -> None:
    """A test that uses the server of its module runs in the loop that the server runs in."""
    in_module_loop = pytest.mark.asyncio(loop_scope="module")
    for item in items:
        if item.path.is_relative_to(Path(__file__).parent) and "server" in getattr(item, "fixturenames", ()):
            item.add_marker(in_module_loop, append=False)


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
