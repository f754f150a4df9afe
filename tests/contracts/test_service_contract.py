from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from pitstop.app import open_service
from pitstop.settings import Settings
from tests.contracts.service import ServiceContract
from tests.contracts.service_desk import Desk


class TestLocalService(ServiceContract):
    @pytest.fixture
    async def desk(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Desk]:
        folder = tmp_path / "work"
        folder.mkdir()
        monkeypatch.chdir(folder)
        monkeypatch.setenv("HOME", str(tmp_path))  # a shell is not to begin with what the user has written for it
        async with open_service(Settings(tmp_path / "state")) as service:
            yield Desk(service, folder, folder / ".pitstop/flows")
