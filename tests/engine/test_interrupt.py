"""A step that was at work when its process ended: repeated, failed or asked about, as it says itself."""

from collections.abc import Mapping
from typing import Any

import pytest

from pitstop.engine.frame import Activation
from pitstop.events.log import MemoryLog, events_from_json, events_to_json
from pitstop.events.outcome import Status
from pitstop.events.types import AnyEvent, StepInterrupted, StepRetried, StepStarted
from pitstop.events.view import fold
from pitstop.plan.plan import Plan
from tests.engine.flows import Bench, DoType, flow, give, leaf, parallel, passes, retry, sequence, takes
from tests.engine.virtual_time import virtual_time


async def killed_in(plan: Plan, occurrence: str, events: list[AnyEvent] | None = None) -> MemoryLog:
    """The log of a run that was killed just after this occurrence began."""
    whole = Bench(plan, log=MemoryLog(events or []))
    await whole.execute()
    began = [
        number
        for number, event in enumerate(whole.events, 1)
        if isinstance(event, StepStarted) and event.occurrence == occurrence
    ]
    return MemoryLog(events_from_json(events_to_json(whole.events[: began[-1]])))


def interrupted(bench: Bench) -> list[str]:
    return [event.occurrence for event in bench.events if isinstance(event, StepInterrupted)]


@virtual_time
async def test_it_is_repeated_unless_it_says_otherwise() -> None:
    plan = flow(leaf("a"), leaf("b"), leaf("c"))
    again = Bench(plan, log=await killed_in(plan, "b"))

    outcome = await again.execute()

    assert outcome.status is Status.PASSED
    assert again.ran == ["b", "c"]
    assert interrupted(again) == ["b"]


@virtual_time
async def test_it_may_fail_instead_and_says_why() -> None:
    plan = flow(leaf("a"), leaf("b", on_interrupt="fail"), leaf("c"), cleanup=[leaf("k")])
    again = Bench(plan, log=await killed_in(plan, "b"))

    outcome = await again.execute()

    assert outcome.status is Status.FAILED
    assert outcome.error is not None
    assert (outcome.error.type, outcome.error.origin) == ("Interrupted", "b")
    assert again.ran == ["k"]
    assert interrupted(again) == ["b"]


@virtual_time
async def test_its_failure_is_tried_again_and_forgiven_as_any_other() -> None:
    plan = flow(
        leaf("a", on_interrupt="fail", retry=retry(1)),
        leaf("b", on_interrupt="fail", continue_on_error=True),
        leaf("c"),
    )
    again = Bench(plan, log=await killed_in(plan, "a"))
    await again.execute()

    assert again.ran == ["a#2", "b", "c"]
    assert [event.occurrence for event in again.events if isinstance(event, StepRetried)] == ["a"]

    third = Bench(plan, log=await killed_in(plan, "b", again.events))
    await third.execute()

    assert third.ran == ["c"]
    assert third.statuses["b"] == "failed"


@virtual_time
async def test_where_nobody_can_be_asked_it_fails_and_says_so() -> None:
    plan = flow(leaf("a", on_interrupt="pause"))
    again = Bench(plan, log=await killed_in(plan, "a"))

    outcome = await again.execute()

    assert outcome.error is not None
    assert outcome.error.type == "Interrupted"
    assert "no debugger is attached" in outcome.error.message


@virtual_time
async def test_what_combines_steps_is_just_gone_on_with() -> None:
    plan = flow(sequence("s", leaf("a"), leaf("b"), on_interrupt="fail"), parallel("p", leaf("c"), on_interrupt="fail"))

    for occurrence in ("s", "p"):
        again = Bench(plan, log=await killed_in(plan, occurrence))
        assert (await again.execute()).status is Status.PASSED
        assert interrupted(again) == []


@virtual_time
async def test_each_attempt_is_interrupted_for_itself() -> None:
    def flaky_once(activation: Any) -> None:
        if activation.attempt == 1:
            raise ValueError("no")

    plan = flow(leaf("a", flaky_once, retry=retry(2), on_interrupt="fail"))
    again = Bench(plan, log=await killed_in(plan, "a#2"))

    outcome = await again.execute()

    assert outcome.status is Status.PASSED
    assert again.ran == ["a#3"]


@virtual_time
async def test_killed_again_and_again_in_the_same_step_it_is_repeated_each_time() -> None:
    plan = flow(leaf("a", passes(1)), give("b", "${{ .steps.a.outputs }}"))
    log = await killed_in(plan, "a")
    log = await killed_in(plan, "a", list(log.read()))
    again = Bench(plan, log=log)

    await again.execute()

    assert again.ran == ["a"]
    assert interrupted(again) == ["a", "a"]
    assert again.steps["b"]["outputs"] == 1


@pytest.mark.parametrize("cut", [0, 1])
@virtual_time
async def test_killed_while_it_was_being_failed_it_fails_all_the_same(cut: int) -> None:
    plan = flow(leaf("a", on_interrupt="fail", continue_on_error=True), leaf("b"))
    first = Bench(plan, log=await killed_in(plan, "a"))
    await first.execute()
    told = next(number for number, event in enumerate(first.events) if isinstance(event, StepInterrupted))

    again = Bench(plan, log=MemoryLog(first.events[: told + cut]))
    await again.execute()

    assert again.ran == ["b"]
    assert again.statuses["a"] == "failed"
    assert interrupted(again) == ["a"]


@virtual_time
async def test_what_another_run_had_left_at_work_was_not_interrupted_in_this_one() -> None:
    class CarriedOver(MemoryLog):
        carried_over = 0

    plan = flow(leaf("a"), leaf("b", on_interrupt="fail"))
    log = CarriedOver((await killed_in(plan, "b")).read())
    log.carried_over = len(log)
    again = Bench(plan, log=log)

    outcome = await again.execute()

    assert outcome.status is Status.PASSED
    assert interrupted(again) == []


@virtual_time
async def test_the_view_tells_it_from_a_step_that_runs() -> None:
    plan = flow(leaf("a", on_interrupt="fail"))
    log = await killed_in(plan, "a")
    assert fold(log.read()).steps["a"].status == "running"
    again = Bench(plan, log=log)
    await again.execute()
    told = next(number for number, event in enumerate(again.events, 1) if isinstance(event, StepInterrupted))

    assert fold(again.events[:told]).steps["a"].status == "interrupted"
    assert fold(again.events).steps["a"].status == "failed"


class Kept(DoType):
    """Work that outlives the run's process: what ended there is known by its occurrence."""

    def __init__(self, *ended: str) -> None:
        super().__init__()
        self.ended = ended
        self.taken: list[str] = []

    async def has_ended(self, activation: Activation) -> bool:
        return activation.occurrence in self.ended

    async def act(self, activation: Activation, config: Mapping[str, Any]) -> Any:
        if not activation.takes_result:
            return await super().act(activation, config)
        self.taken.append(activation.occurrence)
        return "its result"


@pytest.mark.parametrize("on_interrupt", ["repeat", "fail", "pause"])
@virtual_time
async def test_one_whose_work_ended_meanwhile_has_that_result_and_was_not_interrupted(on_interrupt: str) -> None:
    plan = flow(sequence("s", leaf("a"), leaf("b", on_interrupt=on_interrupt, timeout_seconds=60)), leaf("c"))
    does = Kept("s.a", "s.b", "c")
    again = Bench(plan, log=await killed_in(plan, "s.b"), does=does, left_at=3600.0)

    outcome = await again.execute()

    assert (outcome.status, does.taken, does.ran) == (Status.PASSED, ["s.b"], ["c"])
    assert (again.statuses["b"], again.steps["b"]["outputs"]) == ("passed", "its result")
    assert again.started == ["s", "s.a", "s.b", "c"]
    assert interrupted(again) == []


@virtual_time
async def test_a_result_is_not_taken_once_the_step_was_reported_as_interrupted() -> None:
    plan = flow(leaf("a", takes(1)))
    first = Bench(plan, log=await killed_in(plan, "a"))
    await first.execute()
    told = next(number for number, event in enumerate(first.events, 1) if isinstance(event, StepInterrupted))
    does = Kept("a")

    await Bench(plan, log=MemoryLog(first.events[:told]), does=does).execute()

    assert (does.taken, does.ran) == ([], ["a"])
