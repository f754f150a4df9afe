"""The clocks of a run that stood at a stop when its process ended: they stood still, and go on when the run does."""

import asyncio

from pitstop.debugger.session import Session
from pitstop.events.log import MemoryLog, events_from_json, events_to_json
from pitstop.events.outcome import Status
from pitstop.events.types import StepFinished
from pitstop.plan.plan import Plan
from tests.debugger.bench import Debugged, debugging
from tests.engine.flows import flow, leaf, parallel, sequence, takes
from tests.engine.virtual_time import now, virtual_time

PART = flow(sequence("part", leaf("a", takes(4)), leaf("b", takes(60)), timeout_seconds=10))


async def killed_at_a_stop(plan: Plan, step: str) -> MemoryLog:
    """The log of a run that stood at a step for 100 s when it was killed, 1,000 s before the next process begins."""
    session = Session(stop_on_error=False, lease_seconds=4 * 3600)
    session.add_breakpoint(step)
    async with debugging(plan, {}, session) as run:
        await run.stop()
        await asyncio.sleep(100)
        left = events_from_json(events_to_json(run.log.read()))
    await asyncio.sleep(1000)
    return MemoryLog(left)


async def go_on_after(seconds: float, run: Debugged) -> tuple[Status, float]:
    """Go on from the stop after a while: how the run ends, and how long that takes."""
    stop = await run.stop()
    await asyncio.sleep(seconds)
    began = now()
    await run.session.continue_(stop)
    return (await run.end()).status, now() - began


@virtual_time
async def test_a_part_has_the_time_left_that_it_had_when_it_stopped() -> None:
    log = await killed_at_a_stop(PART, "part.b")

    async with debugging(PART, {}, Session(), log=log) as run:
        assert await go_on_after(50, run) == (Status.TIMED_OUT, 6)


@virtual_time
async def test_the_pause_is_counted_from_its_first_stop_on() -> None:
    log = await killed_at_a_stop(PART, "part.b")

    async with debugging(PART, {}, Session(), log=log) as run:
        await go_on_after(50, run)
        (part,) = [event for event in run.told(StepFinished) if event.occurrence == "part"]

    assert part.outcome.paused_seconds == 1150


@virtual_time
async def test_beside_a_stop_only_what_is_around_it_stands_still() -> None:
    beside = sequence("beside", leaf("c", takes(30)), leaf("d", takes(500)), timeout_seconds=150)
    plan = flow(parallel("p", leaf("a"), beside))
    log = await killed_at_a_stop(plan, "p.a")  # when the last that was heard of `beside` was that `c` took 30 s

    async with debugging(plan, {}, Session(stop_on_error=False), log=log) as run:
        stop = await run.stop()
        began = now()
        finished = await run.event(StepFinished, occurrence="p.beside")
        assert (finished.outcome.status, now() - began) == (Status.TIMED_OUT, 120)
        await run.session.continue_(stop)
        await run.end()
