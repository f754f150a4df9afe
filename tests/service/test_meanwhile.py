"""What a run does while somebody asks about it: the answer is of one moment, and of the right run."""

from collections.abc import AsyncIterator
from typing import Any

import pytest

from pitstop.debugger.session import Session
from pitstop.events.log import EventLog
from pitstop.runs import live_run
from pitstop.runs.live_run import LiveRun
from pitstop.runs.log_pages import Page, pages_in_memory
from pitstop.service.caller import LOCAL
from pitstop.service.debugging import verbs
from pitstop.service.runs import DebugRequest
from pitstop.store.folder import FolderStore
from pitstop.store.port import RunFilter, RunRecord
from tests.contracts.service_desk import next_stop, wait_for
from tests.service.desk import Desk

WAITS = "steps: [{id: waits, run: sleep 600}]"
FAILING = """
    <testsuite name="shop"><testcase classname="shop" name="buys"><failure message="no"/></testcase></testsuite>
"""
ONE_STEP = "steps: [{id: only, run: echo only}]"


async def test_a_run_that_ends_as_it_is_asked_about_has_ended(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    async with desk.start(desk.write(ONE_STEP), debug=DebugRequest(stop_at_entry=True)) as run:
        assert isinstance(run, LiveRun)
        stop = (await next_stop(desk.opened, run)).id
        read_record = run.kept.record

        async def read_before_it_ends() -> RunRecord:
            record = await read_record()
            monkeypatch.undo()
            await desk.debugger(run).say(verbs.Continue(stop))
            await run.wait()
            return record

        monkeypatch.setattr(run.kept, "record", read_before_it_ends)
        info = await run.info()

    assert (info.status, info.session) == ("passed", "ended")  # who follows after `last_event` would not hear of it


async def test_a_session_that_comes_while_a_long_log_is_read_is_told_with_it(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def read_until_somebody_comes(log: EventLog, after: int = 0) -> AsyncIterator[Page]:
        async for page in pages_in_memory(log, after):
            yield page
            await desk.debugger(run).say(verbs.Watch(".inputs"))
            monkeypatch.undo()

    async with desk.start(desk.write(WAITS)) as run:
        await wait_for(run, "step.started")
        monkeypatch.setattr(live_run, "pages_in_memory", read_until_somebody_comes)
        state = await desk.debugger(run).say(verbs.State())
        watched = await wait_for(run, "debug.watches_changed")
        await desk.opened.runs.cancel(LOCAL, run.id, "enough")

    assert state.last_event >= watched.number
    assert state.watches == (".inputs",)


async def test_a_run_may_end_while_it_is_told_where_a_stop_of_it_is(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with desk.start(desk.write(ONE_STEP), debug=DebugRequest(stop_at_entry=True)) as run:
        stop = (await next_stop(desk.opened, run)).id
        resolve = Session.config

        async def resolve_before_it_ends(self: Session, stop: int) -> Any:
            config = await resolve(self, stop)
            await desk.debugger(run).say(verbs.Abort())
            await run.wait()
            return config

        monkeypatch.setattr(Session, "config", resolve_before_it_ends)
        context = await desk.debugger(run).say(verbs.Context(stop))

    assert (context.stop, context.step) == (stop, "only")


async def test_tests_are_told_though_an_earlier_run_is_deleted_after_it_was_found(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    (desk.folder / "report.xml").write_text(FAILING)
    flow = desk.write("steps: [{id: tests, run: 'cp report.xml out.xml', tests: out.xml}]")
    async with desk.service as service:
        runs = [await service.runs.start(LOCAL, desk.request(flow))]
        for _ in range(2):
            await runs[-1].wait()
            runs.append(await service.runs.start(LOCAL, desk.request(flow)))
        await runs[-1].wait()
        first, second, third = runs

        async def find_those_of_before(self: FolderStore, filter: RunFilter) -> tuple[RunRecord, ...]:
            return found

        found = (await FolderStore(desk.settings.home).find(RunFilter()))[1:]
        await service.runs.delete(LOCAL, second.id)
        monkeypatch.setattr(FolderStore, "find", find_those_of_before)
        history, (case,) = await third.test_history(), await third.tests()

    assert [each.run for each in history] == [third.id, first.id]
    assert case.change == "still_failing"
