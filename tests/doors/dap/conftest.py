import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.doors.dap.adapter_client import AdapterClient
from tests.doors.dap.flows import write_flows
from tests.doors.dap.protocol import check_conversation

collect_ignore = [] if "NVIM_DAP" in os.environ else ["test_neovim.py"]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_flows(tmp_path)
    return tmp_path


@pytest.fixture
async def adapter(folder: Path) -> AsyncIterator[AdapterClient]:
    """An adapter over its standard streams. Whatever the test says to it has to obey the protocol, both ways."""
    async with AdapterClient(folder) as client:
        yield client
    check_conversation(client.trace)
    assert b"Traceback" not in client.stderr, client.stderr.decode()
