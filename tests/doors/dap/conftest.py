import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.doors.dap.adapter_client import AdapterClient
from tests.doors.dap.flows import write_flows

collect_ignore = [] if "NVIM_DAP" in os.environ else ["test_neovim.py"]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_flows(tmp_path)
    return tmp_path


@pytest.fixture
async def adapter(folder: Path) -> AsyncIterator[AdapterClient]:
    """An adapter over its standard streams."""
    async with AdapterClient(folder) as client:
        yield client
