"""A run that is to begin no further step, because its server ends and another one resumes it."""

import asyncio

import pytest

from pitstop.debugger.session import Session
from pitstop.errors import LogLost, NotRunning
from pitstop.events.log import MemoryLog
from tests.engine.flows import Bench, flow, leaf, living_tasks, parallel, sequence, takes
from tests.engine.virtual_time import virtual_time


@virtual_time
async def test_steps_that_run_end_and_no_other_begins() -> None:
    parts = (sequence("s", leaf("a", takes(2)), leaf("b")), leaf("c", takes(3)))
    bench = Bench(flow(parallel("p", *parts), leaf("d"), cleanup=[leaf("k")]))
    loop = asyncio.get_running_loop()
    loop.call_later(1, bench.run.hold_steps)
    loop.call_later(60, bench.run.lose, LogLost("run-1"))

    with pytest.raises(LogLost):
        await bench.execute()

    assert bench.ran == ["p.s.a", "p.c"]
    assert {name: status.value for name, status in bench.finished.items()} == {"p.s.a": "passed", "p.c": "passed"}
    assert living_tasks() == set()

    resumed = Bench(bench.plan, log=MemoryLog(bench.events))
    await resumed.execute()

    assert resumed.ran == ["p.s.b", "d", "k"]


@virtual_time
async def test_a_held_run_can_still_be_aborted_and_cleans_up_nothing_that_it_may_not_begin() -> None:
    bench = Bench(flow(leaf("a"), cleanup=[leaf("k")]))
    bench.run.hold_steps()
    asyncio.get_running_loop().call_later(1, bench.run.abort, "enough")
    asyncio.get_running_loop().call_later(2, bench.run.abort, "enough")

    outcome = await bench.execute()

    assert (outcome.status.value, bench.ran) == ("cancelled", [])


@virtual_time
async def test_a_hook_joins_a_run_that_has_begun_and_not_ended() -> None:
    bench = Bench(flow(leaf("a")))
    with pytest.raises(NotRunning):
        bench.run.join(Session())

    await bench.execute()

    with pytest.raises(NotRunning):
        bench.run.join(Session())
    assert bench.run.hook is None
