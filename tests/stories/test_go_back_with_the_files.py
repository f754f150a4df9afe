"""A pipeline fails, is repaired in its workspace and passes; going back finds the files of then, and it fails again.

Nobody had switched debugging on: the run failed yesterday, and its workspace is still there.
"""

import asyncio
import textwrap
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from pitstop.app import server_parts
from pitstop.service.api import ActiveRun, BreakpointRequest, DebugRequest, RerunRequest, RunRequest
from pitstop.service.debugging import StopInfo
from pitstop.service.sealing import read_seal
from pitstop.service.server import ServerOptions, ServerService
from pitstop.settings import Settings
from pitstop.store.sql.store import open_sql_store

FLOW = """
    name: release
    steps:
      - {id: fetch, run: echo broken > app.txt; echo fetched}
      - {id: build, run: cp app.txt built.txt}
      - {id: tests, run: grep -q mended app.txt || exit 3}
      - {id: publish, run: cp app.txt published.txt; rm built.txt}
"""


async def test_a_run_of_yesterday_is_debugged_repaired_and_gone_back_in(tmp_path: Path) -> None:
    async with open_server(tmp_path) as service:
        failed = await service.start(RunRequest(flow="release.yaml", text=textwrap.dedent(FLOW)))
        assert (await failed.wait()).status == "failed"

    async with open_server(tmp_path) as service:
        debug = DebugRequest(stop_on_error=True)
        run = await service.rerun(failed.id, RerunRequest(from_step="tests", debug=debug))

        stop = await next_stop(run)
        assert (stop.step, stop.position) == ("tests", "error")
        assert ran(await events_of(run), "fetch") == 0  # it comes from the log of yesterday, and its file too

        terminal = await run.shell(stop.id)
        await terminal.write(b"echo mended > app.txt; exit\n")
        while await terminal.read():
            pass
        await terminal.close()
        await run.debugger.add_breakpoint(breakpoint_after("publish"))
        await run.debugger.retry(stop.id)

        stop = await next_stop(run, after=stop.id)
        assert (stop.step, stop.position) == ("publish", "after")
        state = await run.debugger.state()
        assert state.interventions

        points = [point for point in await run.debugger.history() if point.step == "tests" and point.has_snapshot]
        await run.debugger.rewind(stop.id, points[0].number)
        stop = await next_stop(run, after=stop.id)
        await run.debugger.continue_(stop.id)

        stop = await next_stop(run, after=stop.id)
        assert (stop.step, stop.position) == ("tests", "error")  # the file is broken again
        await run.debugger.abort()
        summary = await run.wait()

    assert summary.status == "cancelled"
    assert summary.intervened


def breakpoint_after(step: str) -> BreakpointRequest:
    return BreakpointRequest(step=step, position="after")


def ran(events: list[str], step: str) -> int:
    return events.count(step)


async def events_of(run: ActiveRun) -> list[str]:
    """The steps that this run has started itself."""
    info = await run.info()
    started: list[str] = []
    async for event in run.events(run.carried_over):
        if event.kind == "step.started":
            started.append(event.fields["step"])
        if event.number >= info.last_event:
            break
    return started


async def next_stop(run: ActiveRun, after: int = 0) -> StopInfo:
    async with asyncio.timeout(20):
        while True:
            for stop in (await run.debugger.state()).stops:
                if stop.id > after:
                    return stop
            await asyncio.sleep(0.01)


@asynccontextmanager
async def open_server(folder: Path) -> AsyncIterator[ServerService]:
    settings = Settings(folder / "state")
    settings.home.mkdir(exist_ok=True)
    store = await open_sql_store(settings.database)
    options = ServerOptions(drain_seconds=0.0)
    async with ServerService(server_parts(), settings, store, read_seal(settings.key_file), options) as service:
        yield service
