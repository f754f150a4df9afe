"""Steps that run: stopping one where it is, and taking back a pause that has not come about."""

import pytest

from pitstop.debugger.session import Session
from pitstop.errors import NoPausePending, StepNotRunning, UnknownFrame
from pitstop.events.log import MemoryLog, events_from_json, events_to_json
from pitstop.events.outcome import Status
from pitstop.events.types import FrameOpened, PauseCancelled, StepFinished, StepStarted, StepStopped
from pitstop.events.view import fold
from tests.debugger.bench import Debugged, at, debugging
from tests.engine.flows import fails, flow, leaf, parallel, retry, sequence, stubborn, takes
from tests.engine.virtual_time import virtual_time

HANGS = flow(leaf("a"), leaf("b", takes(1000)), leaf("c"))


async def begun(run: Debugged, *occurrences: str) -> None:
    """Wait until these steps run."""
    for occurrence in occurrences:
        await run.event(StepStarted, occurrence=occurrence)


def quiet() -> Session:
    return Session(stop_on_error=False)


# --- Stopping a step -------------------------------------------------------------------------------------------------


@virtual_time
async def test_a_step_that_hangs_is_stopped_and_pauses_at_its_failure() -> None:
    async with debugging(HANGS, {}, quiet()) as run:
        await begun(run, "b")
        await run.session.stop_step("b")
        stop = await run.stop()

        assert (at(stop), stop.reasons) == ("error b", ("failure",))
        assert stop.outcome is not None
        assert stop.outcome.error is not None
        assert (stop.outcome.error.type, stop.outcome.error.message) == ("Stopped", "stopped by the user")
        assert {"retry", "force", "config"} <= {*stop.allowed}
        await run.session.force(stop, "passed", {"n": 1})
        result = await run.end()

    assert result.status is Status.PASSED
    assert isinstance(result.intervened[0], StepStopped)
    assert run.does.ran == ["a", "b", "c"]


@virtual_time
async def test_a_stopped_step_fails_like_any_other() -> None:
    plan = flow(leaf("a", takes(1000), retry=retry(1)), leaf("b"), cleanup=[leaf("tidy")])
    async with debugging(plan, {}, quiet()) as run:
        await begun(run, "a")
        await run.session.stop_step("a", "it hangs")
        await run.session.continue_(await run.stop())
        await begun(run, "a#2")  # by the step's own rule
        await run.session.stop_step("a")
        await run.session.continue_(await run.stop())
        result = await run.end()

    assert result.status is Status.FAILED
    assert result.error is not None
    assert str(result.error) == "Stopped: stopped by the user"
    assert run.does.ran == ["a", "a#2", "tidy"]


@virtual_time
async def test_a_step_that_takes_the_stop_for_its_own_has_failed_too() -> None:
    async with debugging(flow(leaf("a", stubborn(1000)), leaf("b")), {}, quiet()) as run:
        await begun(run, "a")
        await run.session.stop_step("a")
        stop = await run.stop()
        assert at(stop) == "error a"
        await run.session.force(stop, "passed")
        assert (await run.end()).status is Status.PASSED


@virtual_time
async def test_the_steps_inside_a_step_are_stopped_and_no_others() -> None:
    branches = parallel("p", sequence("x", leaf("x1", takes(1000))), leaf("y", takes(1000)), leaf("z", fails()))
    async with debugging(flow(parallel("all", branches, leaf("other", takes(5)))), {}, Session()) as run:
        failed = await run.stop()
        assert at(failed) == "error all.p.z"
        await begun(run, "all.p.x.x1", "all.p.y", "all.other")
        await run.session.stop_step("p")
        found = await run.stops(2)

        assert list(found) == ["error all.p.x.x1", "error all.p.y"]
        with pytest.raises(StepNotRunning):
            await run.session.stop_step("p")  # all that is in it is paused
        with pytest.raises(StepNotRunning, match="'nope' is not running; running now: "):
            await run.session.stop_step("nope")
        await run.session.continue_all()
        result = await run.end()

    finished = {event.occurrence: event.outcome.status for event in run.told(StepFinished)}
    assert finished["all.other"] is Status.PASSED
    assert result.status is Status.FAILED


@virtual_time
async def test_an_abort_counts_for_more_than_a_stop() -> None:
    async with debugging(HANGS, {}, quiet()) as run:
        await begun(run, "b")
        await run.session.stop_step("b")
        await run.session.abort("enough")
        result = await run.end()

    assert result.status is Status.CANCELLED
    assert run.does.ran == ["a", "b"]


@virtual_time
async def test_a_stopped_step_pauses_although_its_process_ended_first() -> None:
    async with debugging(HANGS, {}, quiet()) as run:
        await begun(run, "b")
        await run.session.stop_step("b")
        first = await run.stop()
        events = run.log.read()[: first.after_event - 1]  # up to the failure
    log = MemoryLog(events_from_json(events_to_json(events)))
    async with debugging(HANGS, {}, quiet(), log=log) as run:
        assert at(await run.stop()) == "error b"


# --- Taking back a pause ---------------------------------------------------------------------------------------------


@virtual_time
async def test_a_pending_pause_is_taken_back() -> None:
    async with debugging(HANGS, {}, quiet()) as run:
        await begun(run, "b")
        with pytest.raises(NoPausePending):
            await run.session.cancel_pause()
        await run.session.pause()
        assert [frame.state for frame in run.session.frames] == ["pausing"]
        await run.session.cancel_pause()

        assert [frame.state for frame in run.session.frames] == ["running"]
        assert fold(run.log.read()).frames["main"].state == "running"
        with pytest.raises(NoPausePending):
            await run.session.cancel_pause("main")
        assert (await run.end()).status is Status.PASSED

    assert fold(run.log.read()).intervened is False


@virtual_time
async def test_the_pause_of_one_frame_is_taken_back_and_the_others_last() -> None:
    slow = [sequence(name, leaf(f"{name}1", takes(10)), leaf(f"{name}2")) for name in ("x", "y")]
    async with debugging(flow(parallel("p", *slow), leaf("z")), {}, quiet()) as run:
        await begun(run, "p.x.x1", "p.y.y1")
        await run.session.pause("p.x")
        await run.session.pause("p.y")
        with pytest.raises(UnknownFrame):
            await run.session.cancel_pause("nope")
        await run.session.cancel_pause("p.x")
        states = {name: frame.state for name, frame in fold(run.log.read()).frames.items()}
        assert states == {"main": "running", "p.x": "running", "p.y": "pausing"}

        stop = await run.stop()
        assert stop.frame == "p.y"
        await run.session.continue_(stop)
        assert (await run.end()).status is Status.PASSED
    assert [event.frame for event in run.told(PauseCancelled)] == ["p.x"]
    assert run.told(FrameOpened)
