"""The bench, for every test of a step type."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest_asyncio

from tests.steps.bench import Bench, open_bench


@pytest_asyncio.fixture
async def bench(tmp_path: Path) -> AsyncIterator[Bench]:
    async with open_bench(tmp_path) as opened:
        yield opened
