"""Branches side by side: when they pass together, what is seen of them, and why one was ended."""

import asyncio
from typing import Any

import pytest

from pitstop.engine.frame import Activation
from pitstop.events.outcome import Status
from pitstop.events.types import FrameOpened
from pitstop.limits import Limits
from tests.engine.flows import (
    Bench,
    fails,
    flow,
    give,
    leaf,
    living_tasks,
    parallel,
    passes,
    run_flow,
    sequence,
    takes,
    takes_then_fails,
)
from tests.engine.virtual_time import now, virtual_time


@virtual_time
async def test_branches_run_side_by_side_and_what_they_wrote_is_seen_after_the_join() -> None:
    plan = flow(
        parallel("both", leaf("a", takes(3, {"x": 1})), sequence("b", leaf("b1", takes(1)), leaf("b2", takes(2, "y")))),
        give("after", "${{ .steps.a.outputs.x }}-${{ .steps.b2.outputs }}"),
    )

    outcome, bench = await run_flow(plan)

    assert outcome.status is Status.PASSED
    assert now() == 3
    assert bench.steps["after"]["outputs"] == "1-y"
    assert set(bench.steps) == {"a", "b1", "b2", "b", "both", "after"}


@virtual_time
async def test_a_branch_does_not_see_what_another_wrote() -> None:
    seen: list[Any] = []

    async def look(activation: Activation) -> None:
        await asyncio.sleep(5)
        seen.append(sorted(activation.scope.values()["steps"]))

    await run_flow(flow(leaf("before"), parallel("both", leaf("a", takes(1)), leaf("b", look))))

    assert seen == [["before"]]


@virtual_time
async def test_every_frame_is_known_before_any_branch_runs() -> None:
    plan = flow(parallel("both", leaf("a"), leaf("b")))

    _, bench = await run_flow(plan)

    opened = [number for number, event in enumerate(bench.events) if isinstance(event, FrameOpened)]
    assert [event.frame for event in bench.events if isinstance(event, FrameOpened)] == ["main", "both.a", "both.b"]
    assert opened[2] - opened[1] == 1


@virtual_time
async def test_one_failed_branch_fails_the_step_but_the_others_come_to_their_end() -> None:
    outcome, bench = await run_flow(flow(parallel("both", leaf("a", fails("broken")), leaf("b", takes(2)))))

    assert outcome.status is Status.FAILED
    assert outcome.error is not None
    assert (outcome.error.message, outcome.error.origin) == ("broken", "both.a")
    assert bench.statuses == {"a": "failed", "b": "passed", "both": "failed"}


@virtual_time
async def test_continue_on_error_forgives_a_branch() -> None:
    outcome, _ = await run_flow(flow(parallel("both", leaf("a", fails(), continue_on_error=True), leaf("b"))))

    assert outcome.status is Status.PASSED


@virtual_time
async def test_a_timed_out_branch_makes_the_step_timed_out() -> None:
    outcome, _ = await run_flow(flow(parallel("both", leaf("a", takes(9), timeout_seconds=1), leaf("b"))))

    assert outcome.status is Status.TIMED_OUT


@virtual_time
async def test_fail_fast_ends_the_other_branches_and_says_why() -> None:
    plan = flow(
        parallel("all", leaf("a", takes_then_fails(1, "broken")), leaf("b", takes(60)), config={"fail_fast": True})
    )

    outcome, bench = await run_flow(plan)

    assert now() == 1
    assert outcome.status is Status.FAILED
    assert bench.finished["all.b"] is Status.CANCELLED
    error = bench.outcomes["all.b"].error
    assert error is not None
    assert "fail fast" in error.message
    assert "branch a failed" in error.message
    assert bench.frame_ends["all.b"] == error.message
    assert bench.frame_ends["all.a"] is None
    assert living_tasks() == set()


@pytest.mark.parametrize("failing", [0, 1, 2])
@virtual_time
async def test_fail_fast_tells_the_failure_that_began_it_wherever_it_is_written(failing: int) -> None:
    does = [takes(60), takes(60), takes(60)]
    does[failing] = takes_then_fails(1, "the real reason")
    children = [leaf(name, do) for name, do in zip("abc", does, strict=True)]

    outcome, _ = await run_flow(flow(parallel("all", *children, config={"fail_fast": True})))

    assert outcome.error is not None
    assert outcome.error.message == "the real reason"
    assert outcome.error.origin == f"all.{'abc'[failing]}"


@virtual_time
async def test_without_fail_fast_the_first_failure_in_the_order_of_the_file_is_told() -> None:
    plan = flow(parallel("all", leaf("a", takes_then_fails(5, "of a")), leaf("b", takes_then_fails(1, "of b"))))

    outcome, _ = await run_flow(plan)

    assert outcome.error is not None
    assert outcome.error.message == "of a"


@virtual_time
async def test_any_needs_one_branch_and_ends_the_rest() -> None:
    plan = flow(parallel("race", leaf("slow", takes(60)), leaf("quick", takes(1)), config={"succeed": "any"}))

    outcome, bench = await run_flow(plan)

    assert (outcome.status, now()) == (Status.PASSED, 1)
    assert bench.finished["race.slow"] is Status.CANCELLED
    assert bench.frame_ends["race.slow"] == "enough branches of race passed"
    assert living_tasks() == set()


@virtual_time
async def test_any_forgives_failures_until_none_is_left() -> None:
    config = {"succeed": "any"}
    some, _ = await run_flow(flow(parallel("p", leaf("a", fails()), leaf("b", takes(1)), config=config)))
    none, _ = await run_flow(flow(parallel("p", leaf("a", fails("of a")), leaf("b", fails("of b")), config=config)))

    assert some.status is Status.PASSED
    assert none.status is Status.FAILED


@pytest.mark.parametrize(
    ("succeed", "failures", "passed"),
    [
        ("all", 0, True),
        ("all", 1, False),
        (2, 1, True),
        (2, 2, False),
        ("any", 2, True),
        ("any", 3, False),
        (9, 0, True),
    ],
)
@virtual_time
async def test_so_many_branches_have_to_pass(succeed: str | int, failures: int, passed: bool) -> None:
    children = [leaf(f"b{number}", fails() if number < failures else passes()) for number in range(3)]

    outcome, _ = await run_flow(flow(parallel("p", *children, config={"succeed": succeed})))

    assert (outcome.status is Status.PASSED) is passed


@virtual_time
async def test_fail_fast_of_a_number_waits_until_it_is_out_of_reach() -> None:
    plan = flow(
        parallel(
            "p",
            leaf("a", takes_then_fails(1)),
            leaf("b", takes_then_fails(2)),
            leaf("c", takes(60)),
            config={"succeed": 2, "fail_fast": True},
        )
    )

    outcome, bench = await run_flow(plan)

    assert (outcome.status, now()) == (Status.FAILED, 2)
    assert bench.finished["p.c"] is Status.CANCELLED


@virtual_time
async def test_a_skipped_branch_counts_as_one_that_passed() -> None:
    outcome, bench = await run_flow(flow(parallel("p", leaf("a", condition="false"), leaf("b"))))

    assert outcome.status is Status.PASSED
    assert bench.statuses["a"] == "skipped"


@virtual_time
async def test_max_parallel_is_the_most_that_run_at_once() -> None:
    at_once: list[int] = []
    running = 0

    async def work(activation: Activation) -> None:
        nonlocal running
        running += 1
        at_once.append(running)
        await asyncio.sleep(1)
        running -= 1

    await run_flow(flow(parallel("p", *(leaf(f"b{n}", work) for n in range(7)), config={"max_parallel": 3})))

    assert max(at_once) == 3
    assert now() == 3


@virtual_time
async def test_a_branch_that_waits_for_its_turn_is_ended_without_having_begun() -> None:
    plan = flow(
        parallel(
            "p",
            leaf("a", takes_then_fails(1)),
            leaf("b"),
            config={"max_parallel": 1, "fail_fast": True},
        )
    )

    _, bench = await run_flow(plan)

    assert bench.ran == ["p.a"]
    assert "fail fast" in (bench.frame_ends["p.b"] or "")


@virtual_time
async def test_a_parallel_without_branches_passes() -> None:
    outcome, _ = await run_flow(flow(parallel("p")))

    assert outcome.status is Status.PASSED


@virtual_time
async def test_branches_in_branches_are_frames_in_frames() -> None:
    plan = flow(parallel("p", parallel("q", leaf("a", takes(1)), leaf("b", takes(1))), leaf("c", takes(1))))

    _, bench = await run_flow(plan)

    parents = {event.frame: event.parent for event in bench.events if isinstance(event, FrameOpened)}
    assert parents == {"main": None, "p.q": "main", "p.c": "main", "p.q.a": "p.q", "p.q.b": "p.q"}
    assert now() == 1
    assert set(bench.steps) == {"a", "b", "c", "q", "p"}


@virtual_time
async def test_fail_fast_reaches_the_deepest_frame() -> None:
    inner = parallel("q", leaf("a", takes(60)), sequence("s", leaf("b", takes(60))))
    plan = flow(parallel("p", inner, leaf("c", takes_then_fails(1)), config={"fail_fast": True}))

    _, bench = await run_flow(plan)

    cancelled = [occurrence for occurrence, status in bench.finished.items() if status is Status.CANCELLED]
    assert set(cancelled) == {"p.q", "p.q.a", "p.q.s", "p.q.s.b"}
    for occurrence in cancelled:
        error = bench.outcomes[occurrence].error
        assert error is not None
        assert "fail fast" in error.message, f"{occurrence} says: {error.message}"
    assert living_tasks() == set()


@virtual_time
async def test_a_hundred_branches_join() -> None:
    bench = Bench(flow(parallel("p", *(leaf(f"b{n}", takes(n % 7, n)) for n in range(100)))))

    outcome = await bench.execute()

    assert outcome.status is Status.PASSED
    assert [bench.steps[f"b{n}"]["outputs"] for n in range(100)] == list(range(100))


@virtual_time
async def test_branches_in_branches_above_the_limit_fail() -> None:
    inner = [parallel(f"p{n}", *(leaf(f"a{m}", takes(1)) for m in range(5))) for n in range(5)]
    plan = flow(parallel("p", *inner))
    plan.limits = Limits(frame_limit=20)

    outcome, bench = await run_flow(plan)

    assert outcome.error is not None
    assert (outcome.error.type, outcome.error.origin, outcome.error.message) == (
        "LimitExceeded",
        "p.p2",
        "the run would have 21 open frames, but at most 20 are allowed: "
        "run fewer branches at the same time, or raise PITSTOP_FRAME_LIMIT",
    )
    assert len(bench.ran) == 10
