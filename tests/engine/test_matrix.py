"""The same steps for every combination of values."""

import asyncio
from typing import Any

import pytest

from pitstop.engine.frame import Activation
from pitstop.events.outcome import Status
from pitstop.events.types import FrameOpened
from tests.engine.flows import Bench, flow, give, leaf, living_tasks, matrix, parallel, run_flow, sequence, takes
from tests.engine.virtual_time import now, virtual_time

AXES: dict[str, Any] = {"db": ["sqlite", "postgres"], "py": [11, 12]}


@virtual_time
async def test_every_combination_runs_one_by_one_in_the_order_of_nested_loops() -> None:
    seen: list[Any] = []

    def look(activation: Activation) -> None:
        seen.append(tuple(activation.scope.values()["matrix"].values()))

    outcome, bench = await run_flow(flow(matrix("m", AXES, leaf("a", look))))

    assert outcome.status is Status.PASSED
    assert seen == [("sqlite", 11), ("sqlite", 12), ("postgres", 11), ("postgres", 12)]
    assert bench.ran == ["m[0].a", "m[1].a", "m[2].a", "m[3].a"]


@virtual_time
async def test_the_combination_can_be_used_in_templates_and_is_gone_afterwards() -> None:
    plan = flow(
        matrix("m", {"db": "${{ .vars.databases }}"}, give("a", "test-${{ .matrix.db }}")),
        give("b", "[${{ .matrix }}]"),
    )

    _, bench = await run_flow(plan, vars={"databases": ["x", "y"]})

    assert bench.steps["a"]["outputs"] == "test-y", "the last combination is what is seen"
    assert bench.steps["b"]["outputs"] == "[]"


@virtual_time
async def test_one_by_one_the_first_failure_ends_it() -> None:
    def fail_for_two(activation: Activation) -> None:
        if activation.scope.values()["matrix"]["n"] == 2:
            raise ValueError("two")

    outcome, bench = await run_flow(flow(matrix("m", {"n": [1, 2, 3]}, leaf("a", fail_for_two), leaf("b"))))

    assert outcome.error is not None
    assert (outcome.error.message, outcome.error.origin) == ("two", "m[1].a")
    assert bench.ran == ["m[0].a", "m[0].b", "m[1].a"]


@virtual_time
async def test_side_by_side_each_combination_is_a_frame() -> None:
    plan = flow(matrix("m", AXES, leaf("a", takes(2)), give("b", "${{ .matrix.db }}"), config={"parallel": True}))

    outcome, bench = await run_flow(plan)

    assert (outcome.status, now()) == (Status.PASSED, 2)
    assert sorted(bench.frame_ends) == ["m[0]", "m[1]", "m[2]", "m[3]", "main"]
    assert [bench.outcomes[f"m[{n}].b"].outputs for n in range(4)] == ["sqlite", "sqlite", "postgres", "postgres"]
    assert bench.steps["b"]["outputs"] == "postgres", "as one by one, the last combination is what is seen"


@virtual_time
async def test_side_by_side_no_more_than_max_parallel() -> None:
    plan = flow(matrix("m", {"n": list(range(6))}, leaf("a", takes(1)), config={"parallel": True, "max_parallel": 2}))

    await run_flow(plan)

    assert now() == 3


@virtual_time
async def test_side_by_side_with_fail_fast_tells_the_failure_and_ends_the_rest() -> None:
    async def fail_for_last(activation: Activation) -> None:
        await takes(1 if activation.scope.values()["matrix"]["n"] == 2 else 60)(activation)
        raise ValueError("the real reason")

    plan = flow(matrix("m", {"n": [0, 1, 2]}, leaf("a", fail_for_last), config={"parallel": True, "fail_fast": True}))

    outcome, bench = await run_flow(plan)

    assert now() == 1
    assert bench.finished["m[0].a"] is Status.CANCELLED
    assert "branch n=2 failed" in (bench.frame_ends["m[0]"] or "")
    assert living_tasks() == set()
    assert outcome.error is not None
    assert (outcome.error.message, outcome.error.origin) == ("the real reason", "m[2].a")


@virtual_time
async def test_a_matrix_in_a_matrix_counts_both() -> None:
    plan = flow(matrix("m", {"x": [1, 2]}, matrix("n", {"y": [3, 4]}, leaf("a"))))

    _, bench = await run_flow(plan)

    assert bench.ran == ["m[0].n[0].a", "m[0].n[1].a", "m[1].n[0].a", "m[1].n[1].a"]


@pytest.mark.parametrize("axes", [{}, {"n": []}])
@virtual_time
async def test_a_matrix_without_values(axes: dict[str, Any]) -> None:
    outcome, bench = await run_flow(flow(matrix("m", axes, leaf("a"))))

    assert outcome.status is Status.PASSED
    assert bench.ran == (["m[0].a"] if not axes else []), "no axis has one combination, an empty axis has none"


@pytest.mark.parametrize("axes", ["${{ .vars.none }}", {"n": "${{ .vars.none }}"}, {"n": 3}, {"n": "abc"}])
@virtual_time
async def test_axes_that_are_no_lists_fail_the_step(axes: Any) -> None:
    outcome, bench = await run_flow(flow(matrix("m", axes, leaf("a"))), vars={"none": None})

    assert outcome.status is Status.FAILED
    assert bench.ran == []


@virtual_time
async def test_steps_in_a_combination_see_each_other() -> None:
    plan = flow(
        matrix(
            "m",
            {"n": [1, 2]},
            sequence("s", give("a", "${{ .matrix.n }}"), give("b", "${{ .steps.a.outputs }}")),
            config={"parallel": True},
        )
    )

    _, bench = await run_flow(plan)

    assert [bench.outcomes[f"m[{n}].s.b"].outputs for n in range(2)] == [1, 2]


@pytest.mark.parametrize("config", [{}, {"parallel": True}])
@virtual_time
async def test_a_computed_matrix_above_the_limit_fails_before_anything_is_expanded(config: dict[str, Any]) -> None:
    axes = {f"k{axis}": "${{ .vars.ten }}" for axis in range(9)}

    outcome, bench = await run_flow(flow(matrix("m", axes, leaf("a"), config=config)), vars={"ten": list(range(10))})

    assert outcome.error is not None
    assert (outcome.error.type, outcome.error.message) == (
        "LimitExceeded",
        "the matrix has 1,000,000,000 combinations, but at most 1,000 are allowed: "
        "use fewer values, or raise PITSTOP_MATRIX_LIMIT",
    )
    assert bench.ran == []


@virtual_time
async def test_other_work_goes_on_between_combinations_that_wait_for_nothing() -> None:
    seen: list[int] = []

    async def watch(activation: Activation) -> None:
        for _ in range(10):
            seen.append(len(bench.ran))
            await asyncio.sleep(0)

    bench = Bench(flow(parallel("p", matrix("m", {"n": list(range(500))}, leaf("a")), leaf("watch", watch))))
    await bench.execute()

    assert max(seen) < 100
    assert len(bench.ran) == 501


@virtual_time
async def test_the_name_of_a_combination_is_cut() -> None:
    plan = flow(matrix("m", {"text": ["x" * 1_000]}, leaf("a"), config={"parallel": True}))

    _, bench = await run_flow(plan)

    (name,) = (event.name for event in bench.events if isinstance(event, FrameOpened) and event.frame == "m[0]")
    assert name == f"text={'x' * 194}…"
