"""A workspace with more in it than a snapshot may have: the steps run all the same, and nobody is left in the dark."""

import asyncio
from pathlib import Path

import pytest

from pitstop.app import open_service
from pitstop.errors import NoFiles
from pitstop.service.caller import LOCAL
from pitstop.service.debugging import verbs
from pitstop.service.runs import DebugRequest, RunRequest
from pitstop.settings import Settings
from tests.contracts.service_desk import next_stop

FLOW = """\
steps:
  - {id: few, run: touch a}
  - {id: many, run: "for each in 1 2 3 4 5 6 7 8 9; do touch $each; done"}
  - {id: last, run: test -e 9}
"""


async def test_files_that_cannot_be_kept_keep_no_step_from_running(tmp_path: Path) -> None:
    request = RunRequest(flow="flow.yaml", text=FLOW, debug=DebugRequest(stop_at_entry=True))
    async with open_service(Settings(tmp_path, snapshot_limit_files=5)) as service:
        run = await service.runs.start(LOCAL, request)
        stop = await next_stop(service, run)
        await service.debugging.say(LOCAL, run.id, verbs.Step(stop.id, "to", "last"))
        stop = await next_stop(service, run, stop.id)

        problem = (await run.info()).problem
        assert problem is not None
        assert "could not store the workspace files before last: the workspace has 10 files" in problem
        assert "PITSTOP_SNAPSHOT_LIMIT_FILES" in problem
        (told,) = stop.problems
        assert "the workspace files are not stored at this point: the workspace has 10 files" in told
        points = {
            point.step: point
            for point in await service.debugging.say(LOCAL, run.id, verbs.History())
            if point.position == "before"
        }
        assert [points[step].has_snapshot for step in ("few", "many", "last")] == [True, True, False]
        with pytest.raises(NoFiles):
            await service.debugging.say(LOCAL, run.id, verbs.Files(points["many"].number))

        await service.debugging.say(
            LOCAL, run.id, verbs.Rewind(stop.id, points["many"].number)
        )  # of this point the files are kept
        stop = await next_stop(service, run, stop.id)
        assert stop.problems == ()
        await service.debugging.say(LOCAL, run.id, verbs.Continue(stop.id))
        async with asyncio.timeout(90):
            assert (await run.wait()).status == "passed"
