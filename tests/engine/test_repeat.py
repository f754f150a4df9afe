"""The same steps, repeated."""

import asyncio
from typing import Any

import pytest

from pitstop.engine.frame import Activation
from pitstop.events.outcome import Status
from pitstop.limits import Limits
from tests.engine.flows import Bench, fails, flow, flow_of, give, leaf, repeat, run_flow, takes
from tests.engine.virtual_time import now, virtual_time


def turn(activation: Activation) -> Any:
    return activation.scope.values()["repeat"]["index"]


@virtual_time
async def test_a_number_of_times_with_the_turn_to_be_seen() -> None:
    outcome, bench = await run_flow(
        flow(repeat("r", leaf("a", turn), config={"times": 3}), give("b", "[${{ .repeat }}]"))
    )

    assert outcome.status is Status.PASSED
    assert bench.ran == ["r[0].a", "r[1].a", "r[2].a"]
    assert [bench.outcomes[name].outputs for name in bench.ran] == [0, 1, 2]
    assert bench.steps["b"]["outputs"] == "[]", "the turn is gone afterwards"


@virtual_time
async def test_until_something_is_true_with_a_wait_between() -> None:
    config = {"until": ".steps.poll.outputs >= 3", "every_seconds": 2, "times": 30}

    outcome, bench = await run_flow(flow(repeat("r", leaf("poll", turn), config=config)))

    assert outcome.status is Status.PASSED
    assert len(bench.ran) == 4
    assert now() == 6, "there is no wait before the first turn or after the last"


@virtual_time
async def test_until_never_true_is_a_failure_that_says_so() -> None:
    config = {"until": '.steps.poll.outputs == "ready"', "every_seconds": 2, "times": 3}

    outcome, bench = await run_flow(flow(repeat("r", leaf("poll", turn), config=config), leaf("b")))

    assert outcome.status is Status.FAILED
    assert outcome.error is not None
    assert (outcome.error.type, outcome.error.origin) == ("NeverTrue", "r")
    assert '.steps.poll.outputs == "ready"' in outcome.error.message
    assert "3 iterations" in outcome.error.message
    assert (len(bench.ran), now()) == (3, 4)


@virtual_time
async def test_a_failing_step_ends_it() -> None:
    outcome, bench = await run_flow(flow(repeat("r", leaf("a", fails("broken")), leaf("b"), config={"times": 3})))

    assert outcome.error is not None
    assert (outcome.error.message, outcome.error.origin) == ("broken", "r[0].a")
    assert bench.ran == ["r[0].a"]


@virtual_time
async def test_with_continue_on_error_a_step_may_fail_until_it_passes() -> None:
    def fail_twice(activation: Activation) -> None:
        if turn(activation) < 2:
            raise ValueError("not yet")

    config = {"until": '.steps.a.status == "passed"', "times": 9}

    outcome, bench = await run_flow(flow(repeat("r", leaf("a", fail_twice, continue_on_error=True), config=config)))

    assert outcome.status is Status.PASSED
    assert len(bench.ran) == 3


@virtual_time
async def test_a_turn_sees_what_the_turn_before_it_wrote() -> None:
    plan = flow(
        give("sum", 0), repeat("r", give("sum", "${{ .steps.sum.outputs + .repeat.index }}"), config={"times": 5})
    )

    _, bench = await run_flow(plan)

    assert bench.steps["sum"]["outputs"] == 10


@virtual_time
async def test_without_a_number_of_times_a_timeout_ends_it() -> None:
    config = {"until": "false", "every_seconds": 10}

    outcome, bench = await run_flow(flow(repeat("r", leaf("a"), config=config, timeout_seconds=35)))

    assert (outcome.status, now()) == (Status.TIMED_OUT, 35)
    assert len(bench.ran) == 4


@virtual_time
async def test_no_times_at_all() -> None:
    plain, bench = await run_flow(flow(repeat("r", leaf("a"), config={"times": 0})))
    waiting, _ = await run_flow(flow(repeat("r", leaf("a"), config={"times": 0, "until": "true"})))

    assert (plain.status, bench.ran) == (Status.PASSED, [])
    assert waiting.status is Status.FAILED


@pytest.mark.parametrize("until", [".a |", 'error("no")', ".steps.a[0].x"])
@virtual_time
async def test_an_until_that_cannot_be_answered_fails_the_step(until: str) -> None:
    outcome, bench = await run_flow(flow(repeat("r", leaf("a"), config={"until": until, "times": 3})))

    assert outcome.status is Status.FAILED
    assert outcome.error is not None
    assert (outcome.error.type, outcome.error.origin) == ("BadExpression", "r")
    assert bench.ran == ["r[0].a"]


@virtual_time
async def test_an_until_that_cannot_be_answered_fails_the_run_when_it_is_the_whole_flow() -> None:
    outcome, _ = await run_flow(flow_of(repeat("r", leaf("a"), config={"until": ".a |", "times": 3})))

    assert outcome.status is Status.FAILED
    assert outcome.error is not None
    assert outcome.error.type == "BadExpression"


@virtual_time
async def test_repeats_in_repeats_count_both() -> None:
    plan = flow(repeat("r", repeat("s", leaf("a", takes(1)), config={"times": 2}), config={"times": 2}))

    _, bench = await run_flow(plan)

    assert bench.ran == ["r[0].s[0].a", "r[0].s[1].a", "r[1].s[0].a", "r[1].s[1].a"]


@virtual_time
async def test_a_loop_without_an_end_fails_at_the_limit() -> None:
    plan = flow(repeat("r", leaf("a"), config={"until": "false"}))
    plan.limits = Limits(iteration_limit=20)

    outcome, bench = await run_flow(plan)

    assert outcome.error is not None
    assert (outcome.error.type, outcome.error.message) == (
        "LimitExceeded",
        "the loop has 21 iterations, but at most 20 are allowed: "
        "end the loop earlier, or raise PITSTOP_ITERATION_LIMIT",
    )
    assert len(bench.ran) == 20


@virtual_time
async def test_a_loop_that_waits_for_nothing_can_be_cancelled() -> None:
    bench = Bench(flow(repeat("r", leaf("a", condition="false"), config={"until": "false"})))
    asyncio.get_running_loop().call_later(0, bench.run.abort, "enough")

    assert (await bench.execute()).status is Status.CANCELLED
