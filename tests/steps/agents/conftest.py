"""The bench for agents, for every test of them."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest_asyncio

from tests.steps.agents.agent_bench import AgentBench, open_agent_bench


@pytest_asyncio.fixture
async def agents(tmp_path: Path) -> AsyncIterator[AgentBench]:
    async with open_agent_bench(tmp_path) as bench:
        yield bench
