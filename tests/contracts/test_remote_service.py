from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from pitstop.service.remote.opening import open_remote_service
from tests.contracts.service import Desk, ServiceContract
from tests.doors.http.bench import Bench


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def server(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Bench]:
    async with Bench(tmp_path_factory.mktemp("server")).serving() as serving:
        yield serving


@pytest.mark.asyncio(loop_scope="module")
class TestRemoteService(ServiceContract):
    """The same promises, through a real server."""

    @pytest_asyncio.fixture(loop_scope="module")
    async def desk(self, server: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Desk]:
        server.work_in(tmp_path)
        monkeypatch.chdir(server.folder)
        async with open_remote_service(server.url, server.token) as service:
            yield Desk(service, server.folder, server.folder / ".pitstop/flows")
        await server.clear()
