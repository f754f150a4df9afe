"""One of several steps: the first whose `if` is true."""

import pytest

from pitstop.events.outcome import Status
from tests.engine.flows import conditional, fails, flow, leaf, run_flow, sequence
from tests.engine.virtual_time import virtual_time


@pytest.mark.parametrize(("size", "chosen"), [(1, "small"), (5, "medium"), (50, "large")])
@virtual_time
async def test_the_first_that_fits_runs_and_no_other(size: int, chosen: str) -> None:
    plan = flow(
        conditional(
            "how",
            leaf("small", condition=".vars.size < 3"),
            sequence("medium", leaf("m1"), condition=".vars.size < 10"),
            leaf("large"),
        ),
        leaf("after"),
    )

    outcome, bench = await run_flow(plan, vars={"size": size})

    assert outcome.status is Status.PASSED
    assert bench.ran == ["how.medium.m1" if chosen == "medium" else f"how.{chosen}", "after"]
    assert bench.statuses["how"] == "passed"
    assert {"small", "medium", "large"} & set(bench.steps) == {chosen}


@virtual_time
async def test_without_one_that_fits_it_is_skipped() -> None:
    outcome, bench = await run_flow(flow(conditional("how", leaf("a", condition="false")), leaf("b")))

    assert outcome.status is Status.PASSED
    assert bench.statuses == {"how": "skipped", "b": "passed"}


@virtual_time
async def test_the_chosen_ones_failure_is_its_own() -> None:
    outcome, bench = await run_flow(flow(conditional("how", leaf("a", fails("broken"), condition="true"), leaf("b"))))

    assert outcome.error is not None
    assert (outcome.error.message, outcome.error.origin) == ("broken", "how.a")
    assert bench.ran == ["how.a"], "the else is not a way out of a failure"


@virtual_time
async def test_a_failure_can_be_forgiven() -> None:
    plan = flow(conditional("how", leaf("a", fails(), condition="true", continue_on_error=True)), leaf("b"))

    outcome, _ = await run_flow(plan)

    assert outcome.status is Status.PASSED


@virtual_time
async def test_a_broken_condition_fails_it() -> None:
    outcome, bench = await run_flow(flow(conditional("how", leaf("a", condition=".x |"), leaf("b"))))

    assert outcome.status is Status.FAILED
    assert bench.ran == []
