"""Cleanup: always, in order, and never in the way of the first failure."""

import asyncio
import contextlib

import pytest

from pitstop.engine.frame import Activation
from pitstop.events.outcome import Status
from tests.engine.flows import Bench, call, fails, flow, give, leaf, living_tasks, parallel, run_flow, sequence, takes
from tests.engine.virtual_time import now, virtual_time


@virtual_time
async def test_it_runs_after_a_run_that_passed() -> None:
    outcome, bench = await run_flow(flow(leaf("a"), cleanup=[leaf("c1"), leaf("c2")]))

    assert outcome.status is Status.PASSED
    assert bench.ran == ["a", "c1", "c2"]


@virtual_time
async def test_it_runs_after_a_failure_and_can_ask_what_happened() -> None:
    plan = flow(leaf("a", fails("broken")), leaf("b"), cleanup=[give("c", "a ${{ .steps.a.status }}")])

    outcome, bench = await run_flow(plan)

    assert outcome.error is not None
    assert outcome.error.message == "broken"
    assert bench.steps["c"]["outputs"] == "a failed"


@virtual_time
async def test_its_failure_never_hides_the_first_one() -> None:
    outcome, bench = await run_flow(flow(leaf("a", fails("first")), cleanup=[leaf("c1", fails("second")), leaf("c2")]))

    assert outcome.error is not None
    assert outcome.error.message == "first"
    assert bench.ran == ["a", "c1", "c2"], "every cleanup step runs, whatever the others did"


@virtual_time
async def test_its_failure_fails_a_run_that_had_passed() -> None:
    outcome, bench = await run_flow(
        flow(leaf("a"), cleanup=[leaf("c1", fails("one")), leaf("c2", fails("two")), leaf("c3")])
    )

    assert outcome.status is Status.FAILED
    assert outcome.error is not None
    assert outcome.error.message == "one"
    assert bench.ran == ["a", "c1", "c2", "c3"]


@virtual_time
async def test_the_cleanup_of_a_sub_flow_comes_before_that_of_its_caller() -> None:
    plan = flow(call("sub", leaf("a", fails()), cleanup=(leaf("inner"),)), cleanup=[leaf("outer")])

    _, bench = await run_flow(plan)

    assert bench.ran == ["sub.a", "sub.inner", "outer"]


@virtual_time
async def test_it_may_be_branches() -> None:
    plan = flow(leaf("a", fails()), cleanup=[parallel("c", leaf("x", takes(2)), leaf("y", takes(2)))])

    _, bench = await run_flow(plan)

    assert bench.finished["c"] is Status.PASSED
    assert now() == 2


@virtual_time
async def test_it_runs_after_a_cancel_from_outside_which_is_raised_when_it_is_done() -> None:
    bench = Bench(flow(leaf("a", takes(60)), cleanup=[leaf("c", takes(5))]))

    with pytest.raises(TimeoutError):
        async with asyncio.timeout(1):
            await bench.execute()

    assert bench.finished == {"a": Status.CANCELLED, "c": Status.PASSED}
    assert now() == 6
    assert living_tasks() == set()


@virtual_time
async def test_its_failure_after_a_cancel_from_outside_hides_nothing() -> None:
    bench = Bench(flow(leaf("a", takes(60)), cleanup=[leaf("c1", fails()), leaf("c2")]))

    with pytest.raises(TimeoutError):
        async with asyncio.timeout(1):
            await bench.execute()

    assert bench.ran == ["a", "c1", "c2"]
    assert bench.events[-1].__class__.__name__ == "RunEnded"


@virtual_time
async def test_a_second_cancel_ends_the_cleanup_too() -> None:
    bench = Bench(flow(leaf("a", takes(60)), cleanup=[leaf("c1", takes(60)), leaf("c2", takes(60))]))

    async with asyncio.TaskGroup() as group:
        task = group.create_task(bench.execute())
        await asyncio.sleep(1)
        task.cancel()
        await asyncio.sleep(1)
        task.cancel()

    assert task.cancelled()
    assert now() == 2
    assert bench.finished["c1"] is Status.CANCELLED
    assert living_tasks() == set()


@virtual_time
async def test_it_runs_after_an_abort() -> None:
    bench = Bench(flow(leaf("a", takes(60), continue_on_error=True), leaf("b"), cleanup=[leaf("c", takes(1))]))
    asyncio.get_running_loop().call_later(2, bench.run.abort, "enough")

    outcome = await bench.execute()

    assert outcome.status is Status.CANCELLED
    assert outcome.error is not None
    assert (outcome.error.type, outcome.error.message) == ("Aborted", "enough")
    assert bench.ran == ["a", "c"]
    assert now() == 3


@virtual_time
async def test_a_second_abort_ends_the_cleanup_at_once() -> None:
    bench = Bench(flow(leaf("a", takes(60)), cleanup=[leaf("c1", takes(60)), leaf("c2")]))
    asyncio.get_running_loop().call_later(2, bench.run.abort, "enough")
    asyncio.get_running_loop().call_later(5, bench.run.abort, "really")

    outcome = await bench.execute()

    assert (outcome.status, now()) == (Status.CANCELLED, 5)
    assert bench.ran == ["a", "c1"]
    assert living_tasks() == set()


@virtual_time
async def test_an_abort_while_it_runs_ends_the_step_and_the_rest_is_done() -> None:
    steps = [leaf("c1", takes(60)), leaf("c2", takes(1)), sequence("s", leaf("c3", takes(1)))]
    bench = Bench(flow(leaf("a"), cleanup=steps))
    asyncio.get_running_loop().call_later(2, bench.run.abort, "enough")

    outcome = await bench.execute()

    assert (outcome.status, now()) == (Status.CANCELLED, 4)
    assert bench.finished == {
        "a": Status.PASSED,
        "c1": Status.CANCELLED,
        "c2": Status.PASSED,
        "s.c3": Status.PASSED,
        "s": Status.PASSED,
    }
    assert living_tasks() == set()


@virtual_time
async def test_a_second_abort_while_it_runs_ends_the_rest_too() -> None:
    bench = Bench(flow(leaf("a"), cleanup=[leaf("c1", takes(60)), leaf("c2", takes(60)), leaf("c3")]))
    asyncio.get_running_loop().call_later(2, bench.run.abort, "enough")
    asyncio.get_running_loop().call_later(5, bench.run.abort, "really")

    outcome = await bench.execute()

    assert (outcome.status, now()) == (Status.CANCELLED, 5)
    assert bench.ran == ["a", "c1", "c2"]
    assert bench.finished["c2"] is Status.CANCELLED
    assert living_tasks() == set()


@virtual_time
async def test_a_cancel_from_outside_while_it_runs_ends_the_step_and_the_rest_is_done() -> None:
    bench = Bench(flow(leaf("a"), cleanup=[leaf("c1", takes(60)), leaf("c2", takes(1)), leaf("c3", takes(1))]))

    with pytest.raises(TimeoutError):
        async with asyncio.timeout(2):
            await bench.execute()

    assert now() == 4
    assert bench.finished["c1"] is Status.CANCELLED
    assert (bench.finished["c2"], bench.finished["c3"]) == (Status.PASSED, Status.PASSED)
    assert living_tasks() == set()


@virtual_time
async def test_the_rest_is_done_although_the_step_took_the_cancel_for_its_own() -> None:
    async def deaf(activation: Activation) -> None:
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.sleep(60)

    bench = Bench(flow(leaf("a"), cleanup=[leaf("c1", deaf), leaf("c2"), leaf("c3")]))
    asyncio.get_running_loop().call_later(2, bench.run.abort, "enough")

    await bench.execute()

    assert bench.ran == ["a", "c1", "c2", "c3"]
    assert bench.finished["c2"] is Status.PASSED


@virtual_time
async def test_an_abort_while_a_sub_flow_cleans_up_ends_the_step_and_the_rest_is_done() -> None:
    sub = call("sub", leaf("a"), cleanup=(leaf("c1", takes(60)), leaf("c2")))
    bench = Bench(flow(sub, leaf("b"), cleanup=[leaf("outer")]))
    asyncio.get_running_loop().call_later(2, bench.run.abort, "enough")

    await bench.execute()

    assert bench.ran == ["sub.a", "sub.c1", "sub.c2", "outer"]


@virtual_time
async def test_the_cleanup_of_a_sub_flow_runs_after_a_cancel_from_outside() -> None:
    bench = Bench(flow(call("sub", leaf("a", takes(60)), cleanup=(leaf("inner"),)), cleanup=[leaf("outer")]))

    with pytest.raises(TimeoutError):
        async with asyncio.timeout(1):
            await bench.execute()

    assert bench.ran == ["sub.a", "sub.inner", "outer"]


@virtual_time
async def test_the_cleanup_of_a_sub_flow_runs_after_an_abort() -> None:
    bench = Bench(
        flow(sequence("s", call("sub", leaf("a", takes(60)), cleanup=(leaf("inner"),))), cleanup=[leaf("outer")])
    )
    asyncio.get_running_loop().call_later(2, bench.run.abort, "enough")

    await bench.execute()

    assert bench.ran == ["s.sub.a", "s.sub.inner", "outer"]


@virtual_time
async def test_it_can_be_told_from_other_steps() -> None:
    seen: list[bool] = []

    def look(activation: Activation) -> None:
        seen.append(activation.step.is_cleanup)

    await run_flow(flow(leaf("a", look), cleanup=[leaf("c", look)]))

    assert seen == [False, True]
