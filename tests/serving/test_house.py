import asyncio
from pathlib import Path

import pytest

from pitstop.service.api import RunRequest
from pitstop.serving.house import Serving, open_house
from pitstop.settings import Settings

PATIENCE_SECONDS = 60


async def test_a_house_that_is_left_by_an_error_is_closed_and_the_error_comes_out(tmp_path: Path) -> None:
    settings = Settings(tmp_path)
    with pytest.raises(ExceptionGroup) as left:
        async with asyncio.timeout(PATIENCE_SECONDS), open_house(serving(settings)) as house:
            run = await house.service.start(RunRequest(flow="a.yaml", text="steps: [{run: sleep 100}]"))
            await run.ready()
            raise LookupError("somebody made a mistake")

    assert left.group_contains(LookupError, match="somebody made a mistake")
    assert not settings.address_file.exists()
    async with asyncio.timeout(PATIENCE_SECONDS), open_house(serving(settings)) as house:
        assert (await (await house.service.run(run.id)).info()).status == "running"


def serving(settings: Settings) -> Serving:
    return Serving(settings=settings, port=0, drain_seconds=0.1)
