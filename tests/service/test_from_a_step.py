"""A run that goes on from a step: what runs again is decided by the order of the flow, not by when things happened."""

import pytest

from pitstop.errors import BadLog
from pitstop.service.debugging import verbs
from pitstop.service.runs import DebugRequest
from tests.service.desk import Desk

NESTED = """\
    steps:
      - {id: first, run: "true"}
      - id: both
        parallel:
          - {id: quick, run: "true"}
          - id: slow
            steps:
              - {id: prepare, run: "sleep 0.2"}
              - {id: act, run: "test -e repaired", retry: {times: 1}}
              - {id: check, run: "true"}
      - {id: last, run: "true"}
    cleanup: [{id: tidy, run: "true"}]
    """


async def started_from(desk: Desk, flow: str, step: str) -> list[str]:
    """The occurrences that run again, without those that are only around others."""
    async with desk.start(flow, from_step=step) as run:
        events = [event async for event in run.events(run.carried_over)]
    return [event.fields["occurrence"] for event in events if event.kind == "step.started"]


async def test_what_ended_beside_the_step_stays_and_what_is_after_it_runs(desk: Desk) -> None:
    flow = desk.write(NESTED)
    assert (await desk.run(flow))[0].status == "failed"
    (desk.folder / "repaired").touch()

    assert await started_from(desk, flow, "act") == ["both.slow.act", "both.slow.check", "last", "tidy"]
    assert await started_from(desk, flow, "prepare") == [
        "both.slow.prepare",
        "both.slow.act",
        "both.slow.check",
        "last",
        "tidy",
    ]
    assert await started_from(desk, flow, "quick") == ["both.quick", "last", "tidy"]
    assert await started_from(desk, flow, "last") == ["last", "tidy"]
    assert await started_from(desk, flow, "tidy") == ["tidy"]


async def test_turns_after_the_step_run_again_and_earlier_ones_do_not(desk: Desk) -> None:
    flow = desk.write("""\
        steps:
          - id: turns
            repeat: {times: 3}
            steps: [{id: a, run: "true"}, {id: b, run: "true"}]
        """)
    await desk.run(flow)

    assert await started_from(desk, flow, "turns[1].b") == ["turns[1].b", "turns[2].a", "turns[2].b"]
    assert await started_from(desk, flow, "b") == ["turns[0].b", "turns[1].a", "turns[1].b", "turns[2].a", "turns[2].b"]


async def test_combinations_that_run_side_by_side_leave_each_other_alone(desk: Desk) -> None:
    flow = desk.write("""\
        steps:
          - id: mx
            matrix: {n: [1, 2]}
            parallel: true
            steps: [{id: a, run: "true"}, {id: b, run: "true"}]
        """)
    await desk.run(flow)

    assert await started_from(desk, flow, "mx[1].a") == ["mx[1].a", "mx[1].b"]
    assert sorted(await started_from(desk, flow, "b")) == ["mx[0].b", "mx[1].b"]


async def test_a_hand_in_what_is_taken_over_is_not_forgotten(desk: Desk) -> None:
    flow = desk.write("steps: [{id: a, run: 'true'}, {id: b, run: 'true'}, {id: c, run: 'true'}]")
    async with desk.start(flow, debug=DebugRequest(stop_at_entry=True)) as run:
        async for event in run.events():
            if event.kind == "debug.stopped" and event.fields["stop"] == 1:
                await desk.debugger(run).say(verbs.Step(1, "over"))
            elif event.kind == "debug.stopped" and event.fields["stop"] == 2:
                await desk.debugger(run).say(verbs.Step(2, "back"))
            elif event.kind == "debug.stopped":
                await desk.debugger(run).say(verbs.Continue(event.fields["stop"]))

    summary, _ = await desk.run(flow, from_step="c")

    assert (summary.status, summary.intervened) == ("passed", True)


async def test_a_step_that_was_never_come_to_is_refused(desk: Desk) -> None:
    flow = desk.write(NESTED)
    await desk.run(flow)

    with pytest.raises(BadLog, match=r"did not reach 'last'; it failed at 'both\.slow\.act'"):
        await desk.run(flow, from_step="last")
