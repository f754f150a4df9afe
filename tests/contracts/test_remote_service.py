from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from pitstop.service.remote import RemoteService
from tests.contracts.service import Desk, ServiceContract
from tests.doors.http.bench import Bench


class TestRemoteService(ServiceContract):
    """The same promises, through a real server."""

    @pytest.fixture
    async def desk(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Desk]:
        async with Bench(tmp_path).serving() as bench:
            monkeypatch.chdir(bench.folder)
            async with RemoteService(bench.url, bench.token) as service:
                yield Desk(service, bench.folder, bench.folder / ".pitstop/flows")
