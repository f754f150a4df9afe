"""What a run of a server has left can be looked into for as long as it is kept."""

from pathlib import Path

import pytest

from pitstop.errors import NoFiles
from pitstop.runs.live_run import LiveRun
from pitstop.service.caller import LOCAL
from pitstop.service.debugging import verbs
from pitstop.service.runs import DebugRequest, RunRequest
from tests.contracts.service_desk import next_stop
from tests.moved_clock import MovedClock
from tests.service.test_collecting import KEEP_SECONDS, collect, server

FLOW = """\
steps:
  - {id: first, run: echo one > file}
  - {id: last, secrets: [TOKEN], run: "echo $TOKEN > file; exit 3"}
"""


async def test_the_last_step_of_a_run_that_is_over_is_compared_with_what_is_left(tmp_path: Path) -> None:
    async with server(tmp_path, MovedClock()) as service:
        request = RunRequest(flow="f.yaml", text=FLOW, secrets={"TOKEN": "sesame-77"}, debug=DebugRequest())
        run = await service.runs.start(LOCAL, request)
        assert isinstance(run, LiveRun)
        await service.debugging.say(LOCAL, run.id, verbs.Continue((await next_stop(service, run)).id))
        assert (await run.wait()).status == "failed"
        await run.is_gone.wait()

        past = await service.runs.get(LOCAL, run.id)
        before = {
            each.step: each.number
            for each in await service.debugging.say(LOCAL, past.id, verbs.History())
            if each.position == "before"
        }
        changes = await service.debugging.say(LOCAL, past.id, verbs.Files(before["last"]))
        diff = await service.debugging.say(LOCAL, past.id, verbs.FilesDiff("repo/file", before["last"]))

        assert [(each.path, each.kind) for each in changes.changes] == [("repo/file", "changed")]
        assert diff.diff.endswith("-one\n+***\n")


async def test_what_is_gone_is_not_compared(tmp_path: Path) -> None:
    clock = MovedClock()
    async with server(tmp_path, clock) as service:
        run = await service.runs.start(
            LOCAL, RunRequest(flow="f.yaml", text=FLOW.replace("exit 3", "true"), debug=DebugRequest())
        )
        assert isinstance(run, LiveRun)
        await run.wait()
        await run.is_gone.wait()
        past = await service.runs.get(LOCAL, run.id)
        first = next(
            point.number for point in await service.debugging.say(LOCAL, past.id, verbs.History()) if point.has_snapshot
        )
        await collect(service, tmp_path, clock.now() + KEEP_SECONDS + 1)

        with pytest.raises(NoFiles):
            await service.debugging.say(LOCAL, past.id, verbs.Files(first))
