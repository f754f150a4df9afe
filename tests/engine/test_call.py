"""A sub-flow: what it sees, what it gives, and its own cleanup."""

from typing import Any

from pitstop.engine.frame import Activation
from pitstop.events.outcome import Status
from tests.engine.flows import call, fails, flow, give, leaf, parallel, passes, retry, run_flow, takes, takes_then_fails
from tests.engine.virtual_time import now, virtual_time


@virtual_time
async def test_it_sees_its_inputs_and_nothing_of_the_caller() -> None:
    seen: dict[str, Any] = {}

    def look(activation: Activation) -> None:
        seen.update(activation.scope.values())

    config = {
        "with": {"tag": "${{ .steps.build.outputs }}"},
        "values": {"inputs": {"tag": "none", "region": "eu"}, "vars": {"own": 1}},
    }
    plan = flow(give("build", "v1"), call("deploy", leaf("look", look), config=config))

    await run_flow(plan, vars={"callers": 1}, run={"id": 7}, secrets={"key": "s"}, matrix={"x": 1})

    assert seen == {
        "inputs": {"tag": "v1", "region": "eu"},
        "vars": {"own": 1},
        "steps": {},
        "run": {"id": 7},
        "secrets": {"key": "s"},
    }


@virtual_time
async def test_it_gives_its_outputs_and_keeps_its_steps_to_itself() -> None:
    config = {"outputs": {"url": "https://${{ .steps.host.outputs }}"}}
    plan = flow(
        call("deploy", give("host", "example.org"), config=config), give("show", "${{ .steps.deploy.outputs.url }}")
    )

    _, bench = await run_flow(plan)

    assert bench.steps["show"]["outputs"] == "https://example.org"
    assert set(bench.steps) == {"deploy", "show"}


@virtual_time
async def test_its_failure_is_the_callers_and_it_gives_nothing() -> None:
    plan = flow(
        call("deploy", leaf("a", fails("broken")), config={"outputs": {"x": "${{ .steps.b.outputs }}"}}), leaf("z")
    )

    outcome, bench = await run_flow(plan)

    assert outcome.error is not None
    assert (outcome.error.message, outcome.error.origin) == ("broken", "deploy.a")
    assert bench.steps["deploy"]["outputs"] == {}
    assert bench.ran == ["deploy.a"]


@virtual_time
async def test_a_template_that_cannot_be_filled_in_fails_the_call() -> None:
    bad_with, bench = await run_flow(
        flow(call("c", leaf("a"), config={"with": {"x": "${{ .vars.a.b }}"}})), vars={"a": 1}
    )
    bad_outputs, _ = await run_flow(
        flow(call("c", leaf("a", passes(1)), config={"outputs": "${{ .steps.a.outputs.b }}"}))
    )

    assert (bad_with.status, bench.ran) == (Status.FAILED, [])
    assert bad_outputs.status is Status.FAILED


@virtual_time
async def test_its_cleanup_runs_when_it_ends_before_the_caller_goes_on() -> None:
    plan = flow(call("deploy", leaf("a"), cleanup=(leaf("tidy"),)), leaf("b"))

    _, bench = await run_flow(plan)

    assert bench.ran == ["deploy.a", "deploy.tidy", "b"]


@virtual_time
async def test_its_cleanup_runs_after_a_failure_which_it_does_not_hide() -> None:
    plan = flow(call("deploy", leaf("a", fails("first")), cleanup=(leaf("tidy", fails("second")), leaf("last"))))

    outcome, bench = await run_flow(plan)

    assert outcome.error is not None
    assert outcome.error.message == "first"
    assert bench.ran == ["deploy.a", "deploy.tidy", "deploy.last"]


@virtual_time
async def test_its_cleanup_sees_its_own_scope() -> None:
    tidy = give("tidy", "remove ${{ .steps.host.outputs }} in ${{ .inputs.region }}")
    plan = flow(call("deploy", give("host", "h1"), config={"with": {"region": "eu"}}, cleanup=(tidy,)))

    _, bench = await run_flow(plan)

    assert bench.outcomes["deploy.tidy"].outputs == "remove h1 in eu"


@virtual_time
async def test_its_cleanup_runs_when_it_is_timed_out() -> None:
    plan = flow(call("deploy", leaf("a", takes(60)), cleanup=(leaf("tidy"),), timeout_seconds=5))

    outcome, bench = await run_flow(plan)

    assert outcome.status is Status.TIMED_OUT
    assert bench.ran == ["deploy.a", "deploy.tidy"]


@virtual_time
async def test_its_cleanup_runs_when_a_branch_beside_it_fails_fast() -> None:
    deploy = call("deploy", leaf("a", takes(60)), cleanup=(leaf("tidy", takes(2)),))
    plan = flow(parallel("p", deploy, leaf("b", takes_then_fails(1)), config={"fail_fast": True}))

    outcome, bench = await run_flow(plan)

    assert outcome.status is Status.FAILED
    assert bench.finished.get("p.deploy.tidy") is Status.PASSED
    assert now() == 3, "leaving a step waits for its cleanup"


@virtual_time
async def test_a_call_in_a_call_has_a_scope_of_its_own() -> None:
    inner = call(
        "inner",
        give("a", "${{ .inputs.x }}"),
        config={"outputs": "${{ .steps.a.outputs + 1 }}", "with": {"x": "${{ .inputs.x }}"}},
    )
    outer = call("outer", inner, config={"with": {"x": 1}, "outputs": "${{ .steps.inner.outputs + 1 }}"})

    _, bench = await run_flow(flow(outer))

    assert bench.steps["outer"]["outputs"] == 3


@virtual_time
async def test_tried_again_it_begins_with_a_fresh_scope() -> None:
    seen: list[Any] = []

    def look(activation: Activation) -> None:
        seen.append(sorted(activation.scope.values()["steps"]))
        raise ValueError("no")

    await run_flow(flow(call("c", leaf("a"), leaf("b", look), retry=retry(1))))

    assert seen == [["a"], ["a"]]
