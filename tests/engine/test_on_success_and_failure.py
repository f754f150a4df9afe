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
