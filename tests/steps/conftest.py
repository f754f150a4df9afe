"""The bench, for every test of a step type."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from tests.steps.bench import Bench, open_bench


@pytest.fixture(params=["here", "far"])
def is_far(request: pytest.FixtureRequest) -> bool:
    """Whether the workspace is on another machine, as far as the code of the steps can see."""
    return bool(request.param == "far")


@pytest_asyncio.fixture
async def bench(tmp_path: Path, is_far: bool) -> AsyncIterator[Bench]:
    async with open_bench(tmp_path, is_far=is_far) as opened:
        yield opened
