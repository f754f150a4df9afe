from pathlib import Path

import pytest

from tests.service.desk import Desk


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Desk:
    monkeypatch.setenv("HOME", str(tmp_path))  # a shell is not to begin with what the user has written for it
    return Desk(tmp_path)
