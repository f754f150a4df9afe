"""A run that is watched, and told to end while it goes on."""

import asyncio
import os
from argparse import Namespace
from io import BytesIO
from pathlib import Path

import pytest

from pitstop.doors.cli.plain import PlainDisplay
from pitstop.doors.cli.watching import Watch
from pitstop.service.caller import Caller
from pitstop.service.runs import BreakpointRequest, DebugRequest
from tests.contracts.service_desk import next_stop
from tests.doors.cli.debug_bench import WAITING
from tests.patience import PATIENCE_SECONDS
from tests.service.desk import Desk


async def test_an_interrupt_lets_nothing_go_on_that_stops_meanwhile(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk = Desk(tmp_path)
    os.mkfifo(desk.folder / "fifo")
    stops = DebugRequest(breakpoints=(BreakpointRequest(step="after"), BreakpointRequest(step="tidy")))

    async with desk.start(desk.write(WAITING), debug=stops) as run:
        display, cancel = PlainDisplay(run.flow, BytesIO(), Namespace(log_level="info")), desk.opened.runs.cancel

        async def late(caller: Caller, name: str, reason: str) -> None:
            await asyncio.to_thread((desk.folder / "fifo").write_text, "go on\n")
            await next_stop(desk.opened, run)
            for _ in range(100):  # turns in which whoever follows the run hears of that
                await asyncio.sleep(0)
            await cancel(caller, name, reason)

        monkeypatch.setattr(desk.opened.runs, "cancel", late)
        async with asyncio.timeout(PATIENCE_SECONDS), Watch(desk.opened, run, display, is_terminal=False) as watch:
            watch.interrupt("SIGINT", 1)
            await watch.follow()
        assert (await run.wait()).status == "cancelled"
        begun = [event.fields["step"] async for event in run.events() if event.kind == "step.started"]

    assert begun == ["slow", "tidy"]
