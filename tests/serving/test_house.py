import asyncio
import errno
import socket
from pathlib import Path

import httpx
import pytest

from pitstop.doors.http.server import open_socket
from pitstop.runs.live_run import LiveRun
from pitstop.service.caller import LOCAL
from pitstop.service.runs import RunRequest
from pitstop.serving.house import Serving, listen, open_house
from pitstop.settings import Settings
from tests.moved_clock import MovedClock
from tests.patience import PATIENCE_SECONDS
from tests.service.test_recovery import NINE_AXES, TOO_MANY, ended_runs, leave_run


async def test_a_house_that_is_left_by_an_error_is_closed_and_the_error_comes_out(tmp_path: Path) -> None:
    settings = Settings(tmp_path)
    with pytest.raises(ExceptionGroup) as left:
        async with asyncio.timeout(PATIENCE_SECONDS), open_house(serving(settings)) as house:
            run = await house.service.runs.start(LOCAL, RunRequest(flow="a.yaml", text="steps: [{run: sleep 100}]"))
            assert isinstance(run, LiveRun)
            await run.ready()
            raise LookupError("somebody made a mistake")

    assert left.group_contains(LookupError, match="somebody made a mistake")
    assert not settings.address_file.exists()
    async with asyncio.timeout(PATIENCE_SECONDS), open_house(serving(settings)) as house:
        assert (await (await house.service.runs.get(LOCAL, run.id)).info()).status == "running"


async def test_a_port_that_becomes_free_in_a_moment_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    """As that of a server which is killed while it starts a process, and started again at once."""
    refused: list[int | None] = []
    clock = MovedClock()
    with open_socket("127.0.0.1", 0) as held_a_little_longer:
        port = held_a_little_longer.getsockname()[1]

        def open_and_free(host: str, port: int) -> socket.socket:
            try:
                return open_socket(host, port)
            except OSError as error:
                refused.append(error.errno)
                held_a_little_longer.close()
                asyncio.get_running_loop().call_soon(clock.move, 1)
                raise

        monkeypatch.setattr("pitstop.serving.house.open_socket", open_and_free)
        with await listen("127.0.0.1", port, clock) as listening:
            assert listening.getsockname()[1] == port

    assert refused == [errno.EADDRINUSE]


def serving(settings: Settings) -> Serving:
    return Serving(settings=settings, port=0, drain_seconds=0.1)


async def test_a_house_with_a_run_that_cannot_be_resumed_answers_and_says_why(tmp_path: Path) -> None:
    settings = Settings(tmp_path)
    await leave_run(settings, "old", NINE_AXES)
    async with open_house(serving(settings)) as house, httpx.AsyncClient(base_url=house.url, trust_env=False) as client:
        answers = [(await client.get(path)).status_code for path in ("/health", "/ready")]
        reasons = await ended_runs(house.service, 1)

    assert answers == [200, 200]
    assert TOO_MANY in str(reasons["old"])
