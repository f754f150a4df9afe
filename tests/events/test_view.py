"""The state of a run is what its events add up to."""

import asyncio

from pitstop.events.outcome import Outcome, Status
from pitstop.events.types import FrameOpened, PauseAsked, Rewound, RunStarted, StepFinished, StepStarted
from pitstop.events.view import RunView, failed_steps, fold
from tests.engine.flows import Bench, fails, flaky, flow, leaf, parallel, retry, run_flow, sequence, takes
from tests.engine.virtual_time import virtual_time

PASSED = Outcome(Status.PASSED)
FRAMES = (("main", None), ("p.x", "main"), ("p.x.y", "p.x"))


@virtual_time
async def test_what_a_run_logs_in_its_order() -> None:
    _, bench = await run_flow(flow(sequence("s", leaf("a")), leaf("b", flaky(1), retry=retry(1, delay=2))))

    told = [
        (type(event).__name__, getattr(event, "occurrence", getattr(event, "frame", None))) for event in bench.events
    ]
    assert told == [
        ("RunStarted", None),
        ("FrameOpened", "main"),
        ("StepStarted", "s"),
        ("StepStarted", "s.a"),
        ("StepFinished", "s.a"),
        ("StepFinished", "s"),
        ("StepStarted", "b"),
        ("StepFinished", "b"),
        ("StepRetried", "b"),
        ("StepStarted", "b#2"),
        ("StepFinished", "b#2"),
        ("FrameEnded", "main"),
        ("RunEnded", None),
    ]
    assert [event.at for event in bench.events][-4:] == [2, 2, 2, 2]


@virtual_time
async def test_the_view_of_a_run_that_ended() -> None:
    _, bench = await run_flow(
        flow(parallel("p", leaf("a", takes(1)), leaf("b", fails()), leaf("c", condition="false")))
    )

    view = fold(bench.events)

    assert view.plan == "flow"
    assert view.status == "failed"
    assert {name: step.status for name, step in view.steps.items()} == {
        "p": "failed",
        "p.a": "passed",
        "p.b": "failed",
        "p.c": "skipped",
    }
    assert {name: (frame.parent, frame.state) for name, frame in view.frames.items()} == {
        "main": (None, "done"),
        "p.a": ("main", "done"),
        "p.b": ("main", "done"),
        "p.c": ("main", "done"),
    }
    assert (view.steps["p.a"].started_at, view.steps["p.a"].ended_at) == (0, 1)
    assert not view.intervened


@virtual_time
async def test_the_view_while_it_runs() -> None:
    bench = Bench(flow(leaf("a"), parallel("p", leaf("b", takes(5)), leaf("c"))))
    async with asyncio.TaskGroup() as group:
        group.create_task(bench.execute())
        await asyncio.sleep(1)
        view = fold(bench.events)

    assert view.status == "running"
    assert view.outcome is None
    assert {name: step.status for name, step in view.steps.items()} == {
        "a": "passed",
        "p": "running",
        "p.b": "running",
        "p.c": "passed",
    }
    assert {name: frame.state for name, frame in view.frames.items()} == {
        "main": "running",
        "p.b": "running",
        "p.c": "done",
    }


@virtual_time
async def test_a_failure_that_was_tried_again_does_not_count() -> None:
    _, bench = await run_flow(flow(leaf("a", flaky(1), retry=retry(1)), leaf("b", fails())))

    view = fold(bench.events)

    assert [step.occurrence for step in failed_steps(view)] == ["b"]
    assert view.steps["a"].is_retried


@virtual_time
async def test_events_one_by_one_are_events_all_at_once() -> None:
    _, bench = await run_flow(flow(parallel("p", leaf("a"), leaf("b", flaky(1), retry=retry(1)))))
    view = RunView()

    for number, event in enumerate(bench.events, 1):
        view.apply(event)
        assert view == fold(bench.events[:number])


def test_a_run_that_was_started_again_goes_on() -> None:
    view = fold(
        [
            RunStarted(1, "flow", {}),
            FrameOpened(1, "main", "flow", None, ""),
            StepStarted(1, "main", "a", "a"),
            StepFinished(2, "main", "a", "a", PASSED),
            StepStarted(2, "main", "b", "b"),
            RunStarted(9, "flow", {}),
            FrameOpened(9, "main", "flow", None, ""),
            StepStarted(9, "main", "b", "b"),
        ]
    )

    assert view.status == "running"
    assert {name: step.status for name, step in view.steps.items()} == {"a": "passed", "b": "running"}
    assert view.steps["b"].started_at == 9
    assert view.frames["main"].state == "running"


def test_a_frame_that_has_not_come_back_after_a_restart_is_forgotten_when_the_run_goes_back_over_it() -> None:
    """It waited in a branch that was open again, and that waited for its turn."""
    main, branch, inner = (FrameOpened(0, name, name, parent, "p") for name, parent in FRAMES)
    view = fold([RunStarted(0, "flow", {}), main, branch, inner, RunStarted(1, "flow", {}), main, branch])
    view.apply(Rewound(2, "main", "main", "p", "before", 2))
    view.apply(PauseAsked(3, "main"))
    for frame in (branch, inner):
        view.apply(frame)

    assert {frame.id: frame.state for frame in view.frames.values()} == dict.fromkeys(
        ("main", "p.x", "p.x.y"), "pausing"
    )
