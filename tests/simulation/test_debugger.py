"""The debugger's twelve invariants, under random plans, random commands and seeded schedules.

A seed that fails is told with its failure: `python -m pytest tests/simulation --seed N` runs it alone.
"""

import random
from collections.abc import Callable, Iterable

import pytest

from pitstop.debugger.session import Session
from pitstop.events.log import MemoryLog, events_from_json, events_to_json
from pitstop.events.outcome import Status
from pitstop.events.types import AnyEvent, Rewound, RunEnded, StepFinished, StepStarted, Stopped
from pitstop.events.view import fold
from pitstop.plan.plan import Plan
from tests.simulation.driver import (
    BarrierLog,
    Driver,
    Ended,
    add_random_breakpoint,
    check_aborted,
    check_interrupted,
    check_log,
    check_stops_came_back,
    is_cleanup,
    run_plan,
    walk_back_and_forth,
)
from tests.simulation.flows import Flows
from tests.simulation.loop import run_seeded
from tests.simulation.model import Model
from tests.simulation.resumed import check_resumed_stay_resumed

pytestmark = pytest.mark.timeout(300)


def each_seed(test: Callable[[int], None]) -> Callable[[Iterable[int]], None]:
    """A test of one seed as a test of a block of them, which names the first that fails."""

    def run(seeds: Iterable[int]) -> None:
        for seed in seeds:
            try:
                test(seed)
            except BaseException as error:
                error.add_note(f"seed {seed}: python -m pytest tests/simulation --seed {seed}")
                raise

    run.__name__, run.__doc__ = test.__name__, test.__doc__
    return run


def plan_of(seed: int, **options: object) -> Plan:
    return Flows(random.Random(f"plan {seed}"), **options).plan()  # type: ignore[arg-type]


def undebugged(plan: Plan, seed: int) -> Ended:
    return run_seeded(run_plan(plan, MemoryLog()), seed)


def debugged(
    plan: Plan, seed: int, *, may_edit: bool = False, may_go_back: bool = False, commands: int = 400
) -> tuple[Ended, Driver]:
    chance = random.Random(f"commands {seed}")
    session = Session(
        stop_at_entry=chance.random() < 0.5,
        stop_on_error=chance.random() < 0.5,
        stop_at_end=chance.random() < 0.2,
        lease_seconds=14_400,
    )
    for _ in range(chance.randint(0, 4)):
        add_random_breakpoint(session, plan, chance)
    driver = Driver(session, plan, chance, may_edit, may_go_back, commands=commands)
    return run_seeded(driver.run(MemoryLog()), seed), driver


def finished(events: list[AnyEvent]) -> dict[str, tuple[str, object]]:
    """What every occurrence came to; a background part's end is a matter of the schedule, so it is left out."""
    return {
        event.occurrence: (event.outcome.status.value, event.outcome.outputs)
        for event in events
        if isinstance(event, StepFinished) and "background" not in event.occurrence
    }


def counted(events: list[AnyEvent]) -> dict[str, tuple[str, object]]:
    """The same of a run that may have gone back, as its log counts in the end."""
    return {
        step.occurrence: (step.status, step.outcome and step.outcome.outputs)
        for step in fold(events).steps.values()
        if "background" not in step.occurrence
    }


def charged(plan: Plan, events: list[AnyEvent]) -> dict[str, float]:
    """The seconds that each leaf was charged with: none is paused while it works."""
    leaves = {path for path, step in plan.steps.items() if step.kind in ("do", "node")}
    began: dict[str, float] = {}
    seconds: dict[str, float] = {}
    for event in events:
        if isinstance(event, StepStarted):
            began[event.occurrence] = event.at
        elif isinstance(event, StepFinished) and event.outcome.outputs is not None and event.step in leaves:
            seconds[event.occurrence] = round(event.at - began.get(event.occurrence, event.at), 6)
    return {occurrence: spent for occurrence, spent in seconds.items() if "background" not in occurrence}


@each_seed
def test_looking_and_stepping_change_nothing(seed: int) -> None:
    plan = plan_of(seed)
    plain = undebugged(plan, seed)
    ended, driver = debugged(plan, seed)

    check_log(ended.events)
    Model().check(ended.events)
    assert ended.outcome.status == plain.outcome.status
    assert ended.values == plain.values
    assert finished(ended.events) == finished(plain.events)
    assert not driver.session.interventions
    assert charged(plan, ended.events) == charged(plan, plain.events)


@each_seed
def test_going_back_and_on_again_comes_to_the_same_end(seed: int) -> None:
    plan = plan_of(seed)
    plain = undebugged(plan, seed)
    ended, _ = debugged(plan, seed, may_go_back=True)

    check_log(ended.events)
    assert ended.outcome.status == plain.outcome.status
    assert ended.values == plain.values
    assert counted(ended.events) == finished(plain.events)


@each_seed
def test_a_session_that_joins_at_any_moment_changes_nothing_and_can_go_back(seed: int) -> None:
    plan = plan_of(seed)
    plain = undebugged(plan, seed)
    chance = random.Random(f"join {seed}")
    session = Session(stop_at_entry=chance.random() < 0.7, lease_seconds=14_400)
    seconds = chance.uniform(0.0, plain.events[-1].at - plain.events[0].at)
    driver = Driver(session, plan, chance, may_go_back=True, commands=100, joins_after=seconds)

    ended = run_seeded(driver.run(BarrierLog()), seed)

    check_log(ended.events)
    assert ended.outcome.status == plain.outcome.status
    assert ended.values == plain.values
    assert counted(ended.events) == finished(plain.events)


@each_seed
def test_back_leads_to_the_stop_before_as_it_was(seed: int) -> None:
    plan = plan_of(seed, kinds=("sequence", "repeat", "call", "conditional"))
    session = Session(stop_at_entry=True, stop_on_error=False)  # a failure stops a step command before its time
    chance = random.Random(f"road {seed}")

    run_seeded(walk_back_and_forth(session, plan, chance, MemoryLog()), seed)


@each_seed
def test_whatever_is_done_to_a_run_it_ends_and_nothing_is_left(seed: int) -> None:
    ended, driver = debugged(plan_of(seed), seed, may_edit=True)

    check_log(ended.events)
    check_aborted(ended.events)
    assert not driver.session.stops
    assert not driver.session._goals
    assert all(frame.state == "done" for frame in driver.session.frames)


@each_seed
def test_stepping_into_everything_visits_each_step_once(seed: int) -> None:
    plan = plan_of(seed)
    session = Session(stop_at_entry=True, stop_on_error=False)
    ended = run_seeded(Driver(session, plan, random.Random(seed), only="into").run(MemoryLog()), seed)

    visited = [event.occurrence for event in ended.events if isinstance(event, Stopped)]
    started = [event.occurrence for event in ended.events if isinstance(event, StepStarted)]
    assert len(visited) == len(set(visited)), "a step was visited twice"
    assert set(started) <= set(visited), f"never stopped at {set(started) - set(visited)}"
    assert ended.outcome.status == undebugged(plan, seed).outcome.status


@each_seed
def test_a_run_that_was_edited_goes_on_from_wherever_its_log_ends(seed: int) -> None:
    plan = plan_of(seed)
    ended, _ = debugged(plan, seed, may_edit=True)
    cut = random.Random(f"cut {seed}").randint(1, len(ended.events) - 1)
    kept = events_from_json(events_to_json(ended.events[:cut]))
    done = {
        step.occurrence
        for step in fold(kept).steps.values()
        if step.outcome is not None and step.outcome.status is not Status.CANCELLED and not is_cleanup(step.step)
    }  # what is done again is cleaned up after again

    resumed = run_seeded(run_plan(plan, MemoryLog(kept)), seed + 1)

    assert not done & set(resumed.ran), f"ran again although they had finished: {done & set(resumed.ran)}"
    assert isinstance(resumed.events[-1], RunEnded)


def killed_and_resumed(
    plan: Plan, seed: int, *, may_edit: bool = False, may_go_back: bool = False
) -> tuple[Ended, Driver]:
    """A debugged run whose process is killed once or twice, each time with a new session that only has the log."""
    ended, driver = debugged(plan, seed, may_edit=may_edit, may_go_back=may_go_back, commands=100)
    chance = random.Random(f"kill {seed}")
    for life in range(1, chance.randint(2, 3)):
        cut = chance.randint(1, len(ended.events) - 1)
        kept = events_from_json(events_to_json(ended.events[:cut]))
        session = Session(stop_on_error=False, lease_seconds=14_400)
        driver = Driver(session, plan, chance, may_edit, may_go_back, commands=100)
        ended = run_seeded(driver.run(MemoryLog(kept)), seed + life)
        check_stops_came_back(kept, ended, driver)
        check_resumed_stay_resumed(ended.events, cut)
        check_log(ended.events)
        if not any(isinstance(event, Rewound) for event in ended.events[cut:]):
            again = finished_leaves(kept) & set(ended.ran)
            assert not again, f"ran again although they had finished: {again}"
    return ended, driver


def finished_leaves(events: list[AnyEvent]) -> set[str]:
    """What a run with this log has no reason to do again; what is done again is cleaned up after again."""
    return {
        step.occurrence
        for step in fold(events).steps.values()
        if step.outcome is not None and step.outcome.status is not Status.CANCELLED and not is_cleanup(step.step)
    }


@each_seed
def test_killed_at_any_moment_a_debugged_run_comes_to_the_same_end(seed: int) -> None:
    plan = plan_of(seed)
    plain = undebugged(plan, seed)
    ended, driver = killed_and_resumed(plan, seed)

    assert ended.outcome.status == plain.outcome.status
    assert ended.values == plain.values
    assert counted(ended.events) == finished(plain.events)
    assert not driver.session.interventions


@each_seed
def test_killed_at_any_moment_a_step_at_work_does_what_it_says_itself(seed: int) -> None:
    plan = plan_of(seed, on_interrupt=("repeat", "fail", "pause"))
    ended, _ = killed_and_resumed(plan, seed)

    check_interrupted(plan, ended.events)


@each_seed
def test_killed_at_any_moment_whatever_was_done_to_it_a_run_ends_and_nothing_is_left(seed: int) -> None:
    _, driver = killed_and_resumed(plan_of(seed), seed, may_edit=True)

    assert not driver.session.stops
    assert not driver.session._goals
    assert all(frame.state == "done" for frame in driver.session.frames)


@each_seed
def test_a_log_that_ends_anywhere_is_enough_to_go_on(seed: int) -> None:
    plan = plan_of(seed)
    whole = undebugged(plan, seed)
    cut = random.Random(f"cut {seed}").randint(1, len(whole.events) - 1)
    kept = events_from_json(events_to_json(whole.events[:cut]))

    resumed = run_seeded(run_plan(plan, MemoryLog(kept)), seed + 1)

    done = {
        event.occurrence
        for event in kept
        if isinstance(event, StepFinished)
        and event.outcome.status is not Status.CANCELLED
        and not is_cleanup(event.step)  # what is done again is cleaned up after again
    }
    again = done & set(resumed.ran)
    assert not again, f"ran again although they had finished: {again}"
    assert resumed.outcome.status == whole.outcome.status
    assert resumed.values == whole.values
