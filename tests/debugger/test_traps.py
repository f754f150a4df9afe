"""What other debuggers got wrong: one test for each."""

import asyncio
from typing import Any

import pytest

from pitstop.debugger.session import Session
from pitstop.engine.frame import Activation
from pitstop.events.outcome import Status
from pitstop.events.types import AnyEvent, Logged, Resumed, StepStarted, Stopped
from pitstop.plan.plan import Plan
from tests.debugger.bench import State, at, counts, debugging, graph, loop
from tests.engine.flows import (
    background,
    call,
    conditional,
    flow,
    give,
    leaf,
    matrix,
    parallel,
    repeat,
    sequence,
    takes,
)
from tests.engine.virtual_time import virtual_time

TWO = flow(parallel("p", sequence("l", leaf("a"), leaf("b")), sequence("r", leaf("c"), leaf("d"))), leaf("z"))


def breaking(*steps: str, **options: Any) -> Session:
    session = Session(**options)
    for step in steps:
        session.add_breakpoint(step)
    return session


@pytest.mark.parametrize(
    ("plan", "place"),
    [
        (flow(call("c", leaf("x"))), "before c.x"),
        (flow(call("c", call("d", leaf("x")))), "before c.d.x"),
        (flow(parallel("p", leaf("x"), leaf("y"))), "before p.x"),
        (flow(parallel("p", parallel("q", leaf("x"), leaf("y")), leaf("w"))), "before p.q.x"),
        (flow(matrix("m", {"n": [1]}, leaf("x"), config={"parallel": True})), "before m[0].x"),
        (flow(matrix("m", {"n": [1]}, leaf("x"))), "before m[0].x"),
        (flow(repeat("r", leaf("x"), config={"times": 1})), "before r[0].x"),
        (flow(background("g", sequence("s", leaf("x")), leaf("y", takes(60)))), "before g.s.x"),
        (flow(conditional("c", leaf("x"))), "before c.x"),
        (flow(sequence("s", leaf("x"))), "before s.x"),
    ],
)
async def test_breakpoints_that_never_fire_inside_sub_flows_or_on_parallel_branches(plan: Plan, place: str) -> None:
    async with debugging(plan, {}, breaking("x")) as run:
        assert at(await run.stop()) == place


@pytest.mark.parametrize("wires", ["x", "a > x", "x + y", "a > x + y > z", "a > b > x"])
async def test_breakpoints_that_never_fire_inside_sub_graphs_or_on_their_branches(wires: str) -> None:
    inner = graph("h > i", h=graph(wires))
    async with debugging(graph("o > g + f > z", g=inner), {}, breaking("x")) as run:
        assert at(await run.stop()) == "before g.h.x"


async def test_paused_announced_only_after_the_resume() -> None:
    async with debugging(graph("a > b"), {}, breaking("a")) as run:
        stop = await run.stop()
        assert [event.stop for event in run.told(Stopped)] == [stop.id]
        assert run.told(Resumed) == []
        assert run.frame_states == {"main": "paused"}
        await run.session.continue_(stop)
        assert [event.stop for event in run.told(Resumed)] == [stop.id]


async def test_log_points_that_pause() -> None:
    session = Session()
    for position in ("before", "after"):
        session.add_breakpoint(position=position, log=f"{position} with ${{{{ .n }}}}")
    async with debugging(graph("a > b", a=counts()), {"n": 0}, session) as run:
        await run.end()

        assert [event.message for event in run.told(Logged)] == [
            "before with 0",
            "after with 1",
            "before with 1",
            "after with 1",
        ]
        assert run.told(Stopped) == []


@virtual_time
async def test_a_paused_run_that_dies_of_its_own_timeout() -> None:
    plan = flow(sequence("s", leaf("a", takes(1), timeout_seconds=2), timeout_seconds=2), timeout=2)
    async with debugging(plan, {}, breaking("a")) as run:
        stop = await run.stop()
        await asyncio.sleep(3000)
        await run.session.continue_(stop)

        assert (await run.end()).status is Status.PASSED


async def test_step_over_that_stops_twice_per_node() -> None:
    async with debugging(graph("a > b > c"), {}, Session(stop_at_entry=True)) as run:
        assert await run.trail("step_over") == ["before a", "before b", "before c"]


async def test_stopping_a_whole_superstep_instead_of_one_branch() -> None:
    async with debugging(TWO, {}, breaking("a")) as run:
        stop = await run.stop()
        await run.event(StepStarted, occurrence="p.r.d")

        assert stop.frame == "p.l"
        assert run.session.stops == [stop]


async def test_before_and_after_collapsing_into_one_stop() -> None:
    session = breaking("a")
    session.add_breakpoint("a", "after")
    async with debugging(graph("a > b"), {}, session) as run:
        assert await run.trail("continue_") == ["before a", "after a"]


async def test_editing_state_at_a_parallel_step_that_drops_the_sibling_branches() -> None:
    app = graph("s > a + b + c > z", a=counts("a"), b=counts("b"), c=counts("c"))
    async with debugging(app, {"n": 0}, breaking("b")) as run:
        stop = await run.stop()
        await run.session.set(stop, ".n", 1)
        await run.session.set(stop, ".b", 10)
        await run.session.continue_(stop)

        assert (await run.end()).state == {"n": 1, "s": "done", "a": 1, "b": 11, "c": 1, "z": "done"}


async def test_skip_that_runs_the_current_step_and_skips_the_next() -> None:
    async with debugging(graph("a > b > c"), {}, breaking("b")) as run:
        await run.session.skip(await run.stop())
        result = await run.end()

    assert run.ran == ["a", "c"]
    assert {path: outcome.status for path, outcome in result.steps.items()} == {
        "a": Status.PASSED,
        "b": Status.SKIPPED,
        "c": Status.PASSED,
    }


@pytest.mark.parametrize("what", [graph("a > b"), graph("g > z", g=graph("a")), TWO])
async def test_pause_on_start_that_never_fires(what: Any) -> None:
    async with debugging(what, {}, Session(stop_at_entry=True)) as run:
        stop = await run.stop()

        assert (stop.reasons, run.ran) == (("entry",), [])


async def test_a_step_mode_that_survives_a_breakpoint_hit_and_stops_later_for_no_reason() -> None:
    plan = flow(sequence("s", leaf("a"), leaf("b"), leaf("c")), leaf("y"), leaf("z"))
    for verb in ("step_over", "step_out"):
        session = breaking("s" if verb == "step_over" else "a", "b")
        async with debugging(plan, {}, session) as run:
            stop = await run.stop()
            await getattr(session, verb)(stop)
            stop = await run.stop()
            assert (at(stop), stop.reasons) == ("before s.b", ("breakpoint",))
            await session.continue_(stop)
            await run.end()


async def test_two_subscribers_of_which_one_misses_named_events() -> None:
    session = breaking("b")

    async def follow(log: Any) -> list[AnyEvent]:
        return [event async for event in log.follow()]

    async with debugging(graph("a > b > c"), {}, session) as run, asyncio.TaskGroup() as group:
        first = group.create_task(follow(run.log))
        stop = await run.stop()
        second = group.create_task(follow(run.log))
        await session.set(stop, ".n", 1)
        await session.continue_(stop)
        await run.end()

    assert first.result() == second.result() == run.log.read()


@pytest.mark.parametrize("at_stop", [True, False])
async def test_an_abort_that_continue_on_error_swallows(at_stop: bool) -> None:
    started = asyncio.Event()

    async def wait(activation: Activation) -> None:
        started.set()
        await asyncio.get_running_loop().create_future()

    plan = flow(
        sequence("s", leaf("a", wait, continue_on_error=True), leaf("b"), continue_on_error=True),
        leaf("z"),
        cleanup=[leaf("k")],
    )
    async with debugging(plan, {}, breaking("a") if at_stop else Session()) as run:
        await (run.stop() if at_stop else started.wait())
        await run.session.abort()
        result = await run.end()

    assert result.status is Status.CANCELLED
    assert [each for each in run.ran if each in ("s.b", "z", "k")] == ["k"]


async def test_resume_that_hits_the_same_breakpoint_again_for_ever() -> None:
    session = breaking("a")
    session.add_breakpoint("a", condition=".n == 0")
    session.add_breakpoint("a", "after")
    session.add_breakpoint(state=".n", equals=1)
    async with debugging(graph("a > b", a=counts()), {"n": 0}, session) as run:
        assert await run.trail("continue_") == ["before a", "after a"]


async def test_only_the_first_breakpoint_of_a_run_ever_firing() -> None:
    app = graph("n ; z", n=counts(), routers={"n": loop("n", 3, "z")})
    async with debugging(app, {}, breaking("n", "z")) as run:
        assert await run.trail("continue_") == ["before n", "before n@2", "before n@3", "before z"]


async def test_two_paused_frames_blocking_each_other() -> None:
    async with debugging(TWO, {}, breaking("a", "b", "c", "d")) as run:
        stops = await run.stops(2)
        left = await run.on(stops["before p.l.a"])
        assert at(left) == "before p.l.b"
        right = await run.on(stops["before p.r.c"])
        assert at(right) == "before p.r.d"
        await run.session.continue_(right)
        await run.session.continue_(left)

        assert (await run.end()).status is Status.PASSED


async def test_two_paused_runs_blocking_each_other() -> None:
    app = graph("a > b").compile()
    async with debugging(app, {"n": 1}, breaking("a", "b")) as one, debugging(app, {"n": 2}, breaking("a")) as two:
        first, second = await one.stop(), await two.stop()
        assert (await two.session.evaluate(second, ".n + 0"), await one.session.evaluate(first, ".n + 0")) == (2, 1)
        first = await one.on(first)
        await two.session.continue_(second)
        assert (await two.end()).state["n"] == 2
        await one.session.continue_(first)
        assert (await one.end()).state["n"] == 1


async def test_a_node_that_changes_the_state_it_was_given_does_not_change_what_a_stop_shows() -> None:
    def rude(state: State) -> State:
        state["n"] = 99
        return {"m": 1}

    async with debugging(graph("a > b", a=rude), {"n": 1}, breaking("a", "b")) as run:
        first = await run.stop()
        second = await run.on(first)

        assert (first.scope["n"], second.scope["n"], second.scope["m"]) == (1, 1, 1)


async def test_a_step_that_gives_nothing_can_be_stopped_at_like_any_other() -> None:
    async with debugging(flow(give("a", None)), {}, Session(stop_at_entry=True, stop_at_end=True)) as run:
        assert len(await run.trail("continue_")) == 2
