"""A repository with agents for all tests of a module."""

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from tests.platform.conftest import NUMBERS
from tests.platform.playground.trial_bench import fill
from tests.platform.workbench import Workbench


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def shop(server: Workbench, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Workbench]:
    shop = server.sharing(tmp_path_factory.mktemp("shop"), f"shop-{next(NUMBERS)}")
    await shop.create()
    await fill(shop)
    yield shop
