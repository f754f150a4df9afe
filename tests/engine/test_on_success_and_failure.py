"""What a step says should come after it: `on_success` and `on_failure`."""

from pitstop.debugger.session import Session
from pitstop.events.outcome import Status
from tests.debugger.bench import at, debugging
from tests.engine.flows import fails, flow, leaf, run_flow, sequence


async def test_a_failure_that_says_next_is_passed_by() -> None:
    outcome, bench = await run_flow(flow(leaf("a", fails(), on_failure="next"), leaf("b")))

    assert outcome.status is Status.PASSED
    assert bench.ran == ["a", "b"]


async def test_a_success_that_says_stop_ends_its_sequence_well() -> None:
    outcome, bench = await run_flow(flow(sequence("s", leaf("a", on_success="stop"), leaf("b")), leaf("c")))

    assert outcome.status is Status.PASSED
    assert bench.ran == ["s.a", "c"]


async def test_a_step_that_says_pause_stops_a_run_that_somebody_debugs() -> None:
    plan = flow(leaf("a", on_success="pause"), leaf("b", fails(), on_failure="pause"))
    async with debugging(plan, {}, Session(stop_on_error=False)) as run:
        stop = await run.stop()
        assert (at(stop), stop.reasons) == ("after a", ("pause",))
        await run.session.continue_(stop)
        stop = await run.stop()
        assert (at(stop), stop.reasons) == ("error b", ("pause",))
        await run.session.continue_(stop)
        await run.end()


async def test_nobody_is_waited_for_where_nobody_debugs() -> None:
    outcome, _ = await run_flow(flow(leaf("a", on_success="pause")))

    assert outcome.status is Status.PASSED


async def test_what_follows_a_failure_runs_and_the_failure_still_counts() -> None:
    plan = flow(leaf("a", fails()), leaf("a!card", follows_failure=True), leaf("b"))
    outcome, bench = await run_flow(plan)
    assert outcome.status is Status.FAILED
    assert bench.ran == ["a", "a!card"]


async def test_a_failure_that_is_passed_by_is_followed_too() -> None:
    plan = flow(leaf("a", fails(), continue_on_error=True), leaf("a!card", follows_failure=True), leaf("b"))
    outcome, bench = await run_flow(plan)
    assert outcome.status is Status.PASSED
    assert bench.ran == ["a", "a!card", "b"]


async def test_a_failure_still_counts_when_what_follows_it_fails_or_is_gone_back_to() -> None:
    plan = flow(leaf("a", fails()), leaf("a!card", fails(), follows_failure=True), leaf("b"))
    async with debugging(plan, {}, Session()) as run:
        await run.session.continue_(await run.stop())
        stop = await run.stop()
        assert at(stop) == "error a!card"
        await run.session.step_back(stop)
        stop = await run.stop()
        assert at(stop) == "before a!card"
        await run.session.continue_(stop)
        await run.session.continue_(await run.stop())
        outcome = await run.end()
    assert outcome.status is Status.FAILED
    assert outcome.error is not None
    assert outcome.error.origin == "a"
