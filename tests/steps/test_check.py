import asyncio
from pathlib import Path

import pytest

from pitstop.events.outcome import Status
from tests.steps.bench import Bench, open_bench

VALUES = {"steps": {"build": {"outputs": {"size": 1200, "ready": False}}}, "vars": {"limit": 1000}}


@pytest.mark.parametrize(
    "expression", [".steps.build.outputs.size > .vars.limit", "${{ .vars.limit == 1000 }}", ".vars.limit", "0", '""']
)
async def test_what_holds_passes(bench: Bench, expression: str) -> None:
    assert await bench.outputs("check", {"expression": expression}, values=VALUES) == {}


async def test_what_does_not_hold_fails_and_tells_what_was_there(bench: Bench) -> None:
    error = await bench.failure("check", {"expression": ".steps.build.outputs.size < .vars.limit"}, values=VALUES)

    assert error == (
        "CheckFailed: '.steps.build.outputs.size < .vars.limit' is not true: "
        "it is false (.steps.build.outputs.size is 1200, .vars.limit is 1000)"
    )


async def test_what_is_missing_is_null_and_does_not_hold(bench: Bench) -> None:
    assert "it is null" in await bench.failure("check", {"expression": ".steps.nobody.outputs"}, values=VALUES)


async def test_a_check_is_repeated_until_it_holds(bench: Bench) -> None:
    state = {"ready": False}
    asyncio.get_running_loop().call_later(0.1, state.update, {"ready": True})

    config = {"expression": ".vars.ready", "every": "1ms", "within": "30s"}
    assert await bench.outputs("check", config, values={"vars": state}) == {}


async def test_a_check_that_never_holds_ends_in_time_and_tells_what_was_there(bench: Bench) -> None:
    config = {"expression": ".steps.build.outputs.ready", "every": "20ms", "within": "1s"}
    error = await bench.failure("check", config, values=VALUES)

    assert "'.steps.build.outputs.ready' is not true, tried " in error
    assert " in 1 s: it is false (.steps.build.outputs.ready is false)" in error


async def test_the_timeout_of_the_step_does_not_hide_what_was_there(bench: Bench) -> None:
    config = {"expression": ".steps.build.outputs.ready", "every": "20ms"}
    error = ""
    for seconds in (1.0, 10.0, 100.0):  # a machine that stands still may be late for both
        outcome = await bench.act("check", config, values=VALUES, timeout_seconds=seconds)
        if outcome.status is Status.FAILED:
            error = str(outcome.error)
            break

    assert ".steps.build.outputs.ready is false" in error


@pytest.mark.parametrize("expression", [".a |", "nonsense(1)", ". ="])
async def test_jq_that_does_not_compile_is_not_tried_again(bench: Bench, expression: str) -> None:
    async with asyncio.timeout(60):
        error = await bench.failure("check", {"expression": expression, "within": "1h"})

    assert error.startswith("BadExpression")


async def test_jq_that_never_ends_is_ended(bench: Bench) -> None:
    async with asyncio.timeout(60):
        error = await bench.failure("check", {"expression": "def f: f; f", "within": "1h"})

    assert error.startswith("ExpressionTimeout")


async def test_jq_that_fails_on_what_is_there_now_may_hold_later(bench: Bench) -> None:
    config = {"expression": ".vars.missing | .[0].x | keys", "every": "10ms", "within": "3s"}

    assert "tried" in await bench.failure("check", config, values=VALUES)


async def test_jq_with_several_values_is_no_condition(bench: Bench) -> None:
    assert "returned 2 values" in await bench.failure("check", {"expression": "true, false"})


async def test_secrets_are_not_told(tmp_path: Path, is_far: bool) -> None:
    async with open_bench(tmp_path, is_far=is_far, secrets={"token": "hunter2hunter2"}) as bench:
        values = {
            "secrets": {"token": "hunter2hunter2", "other": "unknown to the masker"},
            "vars": {"a": "hunter2hunter2"},
        }
        error = await bench.failure("check", {"expression": ".secrets.other == .vars.a"}, values=values)

        assert error == "CheckFailed: '.secrets.other == .vars.a' is not true: it is false (.vars.a is \"***\")"


async def test_a_check_can_be_cancelled_at_once(bench: Bench) -> None:
    outcome = await bench.act("check", {"expression": "false", "within": "1h", "every": "1h"}, timeout_seconds=0.05)

    assert outcome.status in (Status.TIMED_OUT, Status.FAILED)
