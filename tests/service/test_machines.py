"""A run for whose steps no machine is there is refused before it begins."""

import platform

import pytest

from pitstop.errors import BadFlow
from tests.service.desk import Desk

ELSEWHERE = "requires: {arch: pdp-11, has: [gpio, tape]}"


async def test_what_no_machine_has_is_told_before_any_step_runs(desk: Desk) -> None:
    flow = desk.write(f"""\
        steps:
          - {{id: first, run: touch began}}
          - {{id: group, steps: [{{id: old, {ELSEWHERE}, run: ls}}]}}
        cleanup:
          - {{id: older, requires: {{runner: 7}}, sleep: 0s}}
        """)

    with pytest.raises(BadFlow) as refused:
        async with desk.start(flow):
            pass

    old, older = refused.value.found
    assert (old.file, old.line) == (flow, 3)
    assert old.message.startswith("`old` requires arch=pdp-11, has=gpio+tape; available: local (os=")
    assert (older.line, older.message.partition(";")[0]) == (5, "`older` requires runner=7")


async def test_a_step_that_this_machine_can_run_is_run(desk: Desk) -> None:
    here = platform.system().lower()

    async with desk.start(
        desk.write(f"steps: [{{id: a, requires: {{os: {here}, runner: local}}, run: 'true'}}]")
    ) as run:
        assert (await run.wait()).status == "passed"


@pytest.mark.parametrize(
    "step",
    [
        f"{{id: a, if: 'false', {ELSEWHERE}, run: 'true'}}",
        f"{{id: c, choose: [{{id: b, if: 'true', run: 'true'}}, {{id: a, {ELSEWHERE}, run: 'true'}}]}}",
    ],
    ids=["if", "else"],
)
async def test_a_step_that_may_be_skipped_keeps_no_run_from_its_start(desk: Desk, step: str) -> None:
    async with desk.start(desk.write(f"steps: [{step}]")) as run:
        assert (await run.wait()).status == "passed"


async def test_one_that_is_not_skipped_then_fails_and_says_what_is_there(desk: Desk) -> None:
    async with desk.start(desk.write(f"steps: [{{id: a, if: 'true', {ELSEWHERE}, run: 'true'}}]")) as run:
        (failure,) = (await run.wait()).failures

    assert failure.message.startswith("requires: arch=pdp-11, has=gpio+tape cannot be satisfied: available: local (os=")


async def test_a_step_that_is_over_needs_no_machine_any_more(desk: Desk) -> None:
    text = "steps: [{id: a, requires: {arch: ARCH}, run: 'true'}, {id: b, run: 'true'}]"
    async with desk.start(desk.write(text.replace("requires: {arch: ARCH}, ", ""))) as run:
        await run.wait()

    async with desk.start(desk.write(text.replace("ARCH", "pdp-11")), from_step="b") as again:
        assert (await again.wait()).status == "passed"
