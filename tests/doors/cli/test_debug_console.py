"""What is told at the prompt: in the order in which it happened, however far the run is by then."""

import asyncio
import os
from collections.abc import AsyncIterator
from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console as Paper

from pitstop.doors.cli.debug.console import Console
from pitstop.doors.cli.debug.screen import Screen
from pitstop.doors.cli.debug.shell import open_shell
from pitstop.service.api import ActiveRun, DebugRequest, EventInfo
from tests.contracts.service_desk import PATIENCE_SECONDS, next_stop, wait_for
from tests.service.desk import Desk

FLOW = """\
    steps:
      - {id: first, run: 'echo $(cat first)'}
      - id: checks
        parallel:
          - {id: lint, run: echo linted}
          - {id: tests, run: 'echo $(cat second); exit 3'}
    """


async def test_a_stop_is_told_after_what_led_to_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    desk, paper = Desk(tmp_path), StringIO()
    for fifo in ("first", "second"):
        os.mkfifo(desk.folder / fifo)

    async with desk.start(desk.write(FLOW), debug=DebugRequest()) as run:
        tell_events_late(run, desk.folder, monkeypatch)
        screen = Screen(Paper(file=paper, highlight=False, markup=False))
        async with asyncio.timeout(PATIENCE_SECONDS), Console(run, screen, open_shell=open_shell) as console:
            await console.wait_settled()
            await console.end("seen")

    told = [line.partition("  ")[0] for line in paper.getvalue().splitlines()]
    assert told.index("first │ begun") < told.index("✔ first") < told.index("lint │ linted")
    assert told.index("tests │ wrong") < told.index("✘ checks.tests") < told.index("● stop 1")


def tell_events_late(run: ActiveRun, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever follows the run from now on hears nothing before it has stopped: one branch ended before the other."""
    events = run.events

    async def late(after: int = 0) -> AsyncIterator[EventInfo]:
        monkeypatch.undo()
        await asyncio.to_thread((folder / "first").write_text, "begun")
        await wait_for(run, "frame.ended")
        await asyncio.to_thread((folder / "second").write_text, "wrong")
        await next_stop(run)
        async for event in events(after):
            yield event

    monkeypatch.setattr(run, "events", late)
