"""What the tests of the platform share: a server with one repository."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.platform.workbench import Workbench


@pytest.fixture
async def bench(tmp_path: Path) -> AsyncIterator[Workbench]:
    """A server with the empty repository `shop`, and a clone of it."""
    async with Workbench(tmp_path).open() as bench:
        await bench.create()
        yield bench
