"""Clocks that go on after a restart: of the run, and of each part that was open when its process ended."""

import asyncio

import pytest

from pitstop.events.log import MemoryLog, events_from_json, events_to_json
from pitstop.events.outcome import Status
from pitstop.events.types import RunStarted
from pitstop.plan.plan import Plan, Step
from tests.engine.flows import Bench, call, flow, leaf, matrix, parallel, repeat, retry, sequence, takes
from tests.engine.virtual_time import now, virtual_time

DOWN_SECONDS = 1000.0


async def killed_after(seconds: float, bench: Bench) -> MemoryLog:
    """The log of a run whose process was killed after so many seconds, when the next one begins."""
    async with asyncio.TaskGroup() as group:
        running = group.create_task(bench.execute())
        await asyncio.sleep(seconds)
        left = events_from_json(events_to_json(bench.events))
        running.cancel()
    await asyncio.sleep(DOWN_SECONDS)
    return MemoryLog(left)


async def seconds_to_end(bench: Bench) -> tuple[Status, float]:
    began = now()
    outcome = await bench.execute()
    return outcome.status, now() - began


SLOW = (leaf("a", takes(4)), leaf("b", takes(60)))
PARTS: dict[str, Step] = {
    "sequence": sequence("part", *SLOW, timeout_seconds=10),
    "parallel": parallel("part", *SLOW, timeout_seconds=10),
    "matrix": matrix("part", {"n": [1]}, *SLOW, timeout_seconds=10),
    "repeat": repeat("part", *SLOW, config={"times": 2}, timeout_seconds=10),
    "call": call("part", *SLOW, timeout_seconds=10),
    "deep": sequence("part", parallel("p", sequence("s", *SLOW)), timeout_seconds=10),
}
OPEN: dict[str, Plan] = {"run": flow(*SLOW, timeout=10), **{name: flow(part) for name, part in PARTS.items()}}


@pytest.mark.parametrize("kind", OPEN)
@virtual_time
async def test_a_timeout_goes_on_from_what_the_log_tells(kind: str) -> None:
    log = await killed_after(7, Bench(OPEN[kind]))

    assert await seconds_to_end(Bench(OPEN[kind], log=log)) == (Status.TIMED_OUT, 6), "its last event came after 4 s"


@pytest.mark.parametrize("kind", OPEN)
@virtual_time
async def test_a_timeout_goes_on_from_when_its_process_was_last_there(kind: str) -> None:
    log = await killed_after(7, Bench(OPEN[kind]))

    assert await seconds_to_end(Bench(OPEN[kind], log=log, left_at=7)) == (Status.TIMED_OUT, 3)


@virtual_time
async def test_the_times_of_all_processes_add_up() -> None:
    plan = OPEN["sequence"]
    first = await killed_after(7, Bench(plan))
    began = now()
    second = await killed_after(2, Bench(plan, log=first, left_at=7))

    assert await seconds_to_end(Bench(plan, log=second, left_at=began + 2)) == (Status.TIMED_OUT, 1)


@virtual_time
async def test_a_step_that_is_repeated_has_all_its_time_again() -> None:
    plan = flow(leaf("a", takes(60), timeout_seconds=10))
    log = await killed_after(7, Bench(plan))

    assert await seconds_to_end(Bench(plan, log=log, left_at=7)) == (Status.TIMED_OUT, 10)


@virtual_time
async def test_another_attempt_of_a_part_has_a_clock_of_its_own() -> None:
    plan = flow(sequence("part", *SLOW, timeout_seconds=10, retry=retry(1)))
    log = await killed_after(12, Bench(plan))

    assert await seconds_to_end(Bench(plan, log=log, left_at=12)) == (Status.TIMED_OUT, 8)


@virtual_time
async def test_a_run_that_was_done_and_only_cleaned_up_is_not_too_late() -> None:
    plan = flow(parallel("p", leaf("a", takes(8)), leaf("b", takes(8))), cleanup=[leaf("c", takes(60))], timeout=10)
    log = await killed_after(30, Bench(plan))

    assert await seconds_to_end(Bench(plan, log=log, left_at=30)) == (Status.PASSED, 60)


@virtual_time
async def test_a_run_that_was_too_late_stays_so_when_it_is_killed_while_it_cleans_up() -> None:
    plan = flow(leaf("a", takes(60)), cleanup=[leaf("c", takes(5))], timeout=10)
    log = await killed_after(12, Bench(plan))

    assert await seconds_to_end(Bench(plan, log=log, left_at=12)) == (Status.TIMED_OUT, 5)


@virtual_time
async def test_the_time_of_another_run_does_not_count() -> None:
    class CarriedOver(MemoryLog):
        carried_over = 4

    log = await killed_after(7, Bench(OPEN["sequence"]))
    assert isinstance(log.read()[0], RunStarted)
    before = CarriedOver(log.read()[:4])

    assert await seconds_to_end(Bench(OPEN["sequence"], log=before, left_at=7)) == (Status.TIMED_OUT, 10)
