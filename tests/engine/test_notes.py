"""What a step reports while it runs is in the log, once."""

from pathlib import PurePosixPath
from typing import Any

from pitstop.engine.frame import LARGEST_NOTE_BYTES, Activation
from pitstop.events.log import events_from_json, events_to_json
from pitstop.events.outcome import Status
from pitstop.events.types import StepNoted
from pitstop.runs.telling import masked_event
from tests.engine.flows import Bench, Do, flaky, flow, leaf, parallel, retry, run_flow
from tests.engine.virtual_time import virtual_time


def notes(**data: Any) -> Do:
    return lambda activation: activation.note("tool.called", data)


def noted(bench: Bench) -> list[StepNoted]:
    return [event for event in bench.events if isinstance(event, StepNoted)]


@virtual_time
async def test_a_note_is_logged_between_the_start_and_the_end_of_its_step() -> None:
    outcome, bench = await run_flow(flow(leaf("x", notes(tool="bash", cost=0.5))))

    assert outcome.status is Status.PASSED
    kinds = [type(event).__name__ for event in bench.events]
    assert kinds.index("StepStarted") < kinds.index("StepNoted") < kinds.index("StepFinished")
    (event,) = noted(bench)
    assert (event.frame, event.occurrence, event.note) == ("main", "x", "tool.called")
    assert event.data == {"tool": "bash", "cost": 0.5}


@virtual_time
async def test_a_note_names_the_attempt_and_the_branch_that_it_is_of() -> None:
    def note_then_fail_once(activation: Activation) -> Any:
        activation.note("tried", {"attempt": activation.attempt})
        return flaky(1)(activation)

    _, bench = await run_flow(flow(parallel("p", leaf("a", note_then_fail_once, retry=retry(1)), leaf("b"))))

    assert [(event.frame, event.occurrence) for event in noted(bench)] == [("p.a", "p.a"), ("p.a", "p.a#2")]


@virtual_time
async def test_what_the_log_knows_is_not_noted_again() -> None:
    plan = flow(leaf("x", notes(n=1)), leaf("y"))
    _, first = await run_flow(plan)
    again = Bench(plan, log=first.log)
    await again.execute()

    assert len(noted(again)) == 1


@virtual_time
async def test_values_that_are_no_json_are_logged_as_json() -> None:
    _, bench = await run_flow(flow(leaf("x", notes(path=PurePosixPath("/a"), pair=(1, 2)))))

    (event,) = noted(bench)
    assert event.data["pair"] == [1, 2]
    assert events_from_json(events_to_json([event])) == [event]


@virtual_time
async def test_a_note_that_is_too_large_fails_the_step_and_names_the_limit() -> None:
    outcome, bench = await run_flow(flow(leaf("x", notes(text="a" * LARGEST_NOTE_BYTES))))

    assert noted(bench) == []
    assert outcome.error is not None
    assert outcome.error.type == "NoteTooLarge"
    assert f"{LARGEST_NOTE_BYTES:,}" in outcome.error.message


def test_secrets_are_masked_in_a_note() -> None:
    event = StepNoted(1.0, "main", "x", "tool.called", {"text": "key=hush", "hush": ["hush"]})

    masked = masked_event(event, lambda text: text.replace("hush", "***"))

    assert isinstance(masked, StepNoted)
    assert masked.note == "tool.called"
    assert masked.data == {"text": "key=***", "***": ["***"]}
