"""Steps one after the other, and their `if`."""

import pytest
from msgspec.structs import force_setattr

from pitstop.events.outcome import Status
from tests.engine.flows import fails, flow, give, leaf, passes, run_flow, sequence
from tests.engine.virtual_time import virtual_time


@virtual_time
async def test_steps_run_in_order_and_hand_their_outputs_on() -> None:
    plan = flow(give("build", {"tag": "v1"}), give("ship", "to ${{ .vars.region }}: ${{ .steps.build.outputs.tag }}"))

    outcome, bench = await run_flow(plan, vars={"region": "eu"})

    assert outcome.status is Status.PASSED
    assert bench.steps["ship"] == {"status": "passed", "outputs": "to eu: v1", "error": None, "attempt": 1}


@virtual_time
async def test_the_first_failure_ends_a_sequence_and_names_its_origin() -> None:
    outcome, bench = await run_flow(flow(leaf("a"), sequence("b", leaf("x", fails("broken"))), leaf("c")))

    assert (outcome.status, outcome.error and outcome.error.type) == (Status.FAILED, "ValueError")
    assert outcome.error is not None
    assert (outcome.error.message, outcome.error.origin) == ("broken", "b.x")
    assert bench.ran == ["a", "b.x"]
    assert bench.statuses == {"a": "passed", "b": "failed", "x": "failed"}


@virtual_time
async def test_continue_on_error_goes_on_and_the_failure_can_be_asked_for() -> None:
    plan = flow(leaf("a", fails("broken"), continue_on_error=True), leaf("b", condition='.steps.a.status == "failed"'))

    outcome, bench = await run_flow(plan)

    assert outcome.status is Status.PASSED
    assert bench.ran == ["a", "b"]
    assert bench.steps["a"]["error"] == {"type": "ValueError", "message": "broken"}


@virtual_time
async def test_continue_on_error_of_a_part_does_not_save_the_steps_in_it() -> None:
    plan = flow(sequence("part", leaf("a", fails()), leaf("b"), continue_on_error=True), leaf("c"))

    outcome, bench = await run_flow(plan)

    assert outcome.status is Status.PASSED
    assert bench.ran == ["part.a", "c"]


@virtual_time
async def test_a_step_whose_if_is_false_is_skipped_and_so_is_all_in_it() -> None:
    plan = flow(
        leaf("never", condition="false"),
        sequence("part", leaf("inside"), condition="${{ .vars.go }}"),
        leaf("always", condition=".vars.zero"),
    )

    outcome, bench = await run_flow(plan, vars={"go": None, "zero": 0})

    assert outcome.status is Status.PASSED
    assert bench.ran == ["always"], "only false and null are false"
    assert bench.statuses == {"never": "skipped", "part": "skipped", "always": "passed"}
    assert bench.started == ["always"]


@pytest.mark.parametrize("condition", [".a |", 'error("no")', ".steps[", "empty"])
@virtual_time
async def test_a_broken_if_fails_its_step(condition: str) -> None:
    outcome, bench = await run_flow(flow(leaf("a", condition=condition), leaf("b")))

    assert outcome.status is Status.FAILED
    assert outcome.error is not None
    assert outcome.error.type == "BadExpression"
    assert bench.ran == []


@virtual_time
async def test_a_template_that_cannot_be_filled_in_fails_its_step() -> None:
    outcome, bench = await run_flow(flow(give("a", "${{ .vars.name.first }}"), leaf("b")), vars={"name": "x"})

    assert outcome.status is Status.FAILED
    assert bench.statuses == {"a": "failed"}


@virtual_time
async def test_a_step_of_an_unknown_type_fails() -> None:
    plan = flow(leaf("a"), sequence("part"))
    force_setattr(plan.steps["a"], "kind", "frobnicate")

    outcome, _ = await run_flow(plan)

    assert outcome.error is not None
    assert outcome.error.type == "UnknownStep"
    assert "frobnicate" in outcome.error.message


@virtual_time
async def test_an_empty_sequence_passes() -> None:
    outcome, _ = await run_flow(flow(sequence("nothing")))

    assert outcome.status is Status.PASSED


@virtual_time
async def test_a_step_without_an_id_leaves_nothing_under_steps() -> None:
    _, bench = await run_flow(flow(leaf("0", passes({"x": 1}), id=None)))

    assert bench.steps == {}
    assert bench.finished == {"0": Status.PASSED}


@virtual_time
async def test_two_steps_with_one_id_show_the_later() -> None:
    _, bench = await run_flow(flow(sequence("p", give("x", 1)), sequence("q", give("x", 2))))

    assert bench.steps["x"]["outputs"] == 2


@virtual_time
async def test_parts_in_parts_fail_as_a_step_too_deep_for_python_instead_of_ending_the_process() -> None:
    part = leaf("bottom")
    for _ in range(400):
        part = sequence("p", part)

    outcome, _ = await run_flow(flow(part))

    assert outcome.error is None or outcome.error.type == "RecursionError"
