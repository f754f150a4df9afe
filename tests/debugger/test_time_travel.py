"""Going back: to any point, with everything as it was there, and nothing repeated that need not be."""

import asyncio
import operator
import sys
from collections.abc import Callable
from typing import Any

import pytest

from pitstop.debugger.session import Session
from pitstop.debugger.stops import HistoryPoint
from pitstop.errors import ExternalEffects, NotAllowed, UnknownPoint
from pitstop.events.outcome import Status
from pitstop.events.types import FrameEnded, Rewound, StepStarted, StopEnded
from pitstop.events.view import fold
from pitstop.plan.values import Change
from tests.debugger.bench import Debugged, State, at, counts, debugging, graph, loop, raises, undebugged
from tests.engine.flows import (
    background,
    call,
    fails,
    flaky,
    flow,
    give,
    leaf,
    matrix,
    parallel,
    repeat,
    retry,
    sequence,
    takes,
    takes_then_fails,
)
from tests.engine.virtual_time import now, virtual_time

CHAIN = graph("a > b > c > d", a=counts(), b=counts(), c=counts(), d=counts()).compile()


def breaking(*steps: str, stop_on_error: bool = False) -> Session:
    session = Session(stop_on_error=stop_on_error)
    for step in steps:
        session.add_breakpoint(step)
    return session


def point(run: Debugged, place: str) -> HistoryPoint:
    """The point of the history at a place such as "after b"."""
    return next(each for each in run.session.history() if f"{each.position} {each.occurrence}" == place)


# --- Stepping back ---------------------------------------------------------------------------------------------------


async def test_a_step_back_is_at_the_stop_before_with_everything_as_it_was_there() -> None:
    async with debugging(CHAIN, {"n": 0}, breaking("b")) as run:
        first = await run.stop()
        second = await run.over(first)
        assert second.scope["n"] == 2
        third = await run.back(second)

        assert (at(third), third.reasons, third.scope["n"]) == ("before b", ("step",), 1)
        assert third.id == 3
        await run.session.continue_(third)
        result = await run.end()
    assert (result.status, result.state) == (Status.PASSED, {"n": 4})
    assert run.ran == ["a", "b", "b", "c", "d"]


@pytest.mark.parametrize("position", ["before", "after"])
async def test_a_step_back_takes_as_much_in_a_long_run_as_in_a_short_one(position: Any) -> None:
    async def calls_of(steps: int) -> int:
        calls = 0

        def count(frame: Any, event: str, argument: Any) -> None:
            nonlocal calls
            calls += event == "call"

        session, last = breaking(), f"s{steps - 1}"
        for place in (f"s{steps - 2}", last):
            session.add_breakpoint(place, position)
        async with debugging(flow(*(leaf(f"s{number}") for number in range(steps))), {}, session) as run:
            stop = await run.on(await run.stop())
            sys.setprofile(count)
            try:
                stop = await run.back(stop)
            finally:
                sys.setprofile(None)
            target = steps - 2 if position == "before" else steps - 1
            assert at(stop) == f"before s{target}"
            assert list(stop.scope["steps"]) == [f"s{number}" for number in range(target)]
        return calls

    short, long = await calls_of(10), await calls_of(500)
    assert long <= short * 1.2


async def test_a_step_back_leaves_the_frames_alone_that_ended_before_it() -> None:
    plan = flow(parallel("p", leaf("x"), leaf("y")), leaf("a"), sequence("s", leaf("b"), leaf("c")))
    async with debugging(plan, {}, breaking("b", "c")) as run:
        stop = await run.back(await run.on(await run.stop()))
        assert at(stop) == "before s.b"
        frames = [(frame.id, frame.state) for frame in run.session.frames]
        assert frames == [("main", "paused"), ("p.x", "done"), ("p.y", "done")]
        assert [(frame.id, frame.state) for frame in fold(run.log.read()).frames.values()] == frames
        assert len(run.told(FrameEnded)) == 2
        assert (await run.session.scope_at(point(run, "after a")))["steps"].keys() == {"x", "y", "p", "a"}
        await run.session.continue_(stop)
        await run.session.continue_(await run.stop())
        assert (await run.end()).status is Status.PASSED
    assert [step for step in run.ran if "." not in step or step.startswith("s.")] == [
        "p",
        "a",
        "s",
        "s.b",
        "s.b",
        "s.c",
    ]


async def test_a_step_back_into_a_fork_that_has_ended_runs_only_what_follows_in_that_branch() -> None:
    plan = flow(leaf("a"), parallel("p", sequence("x", leaf("b"), leaf("c")), leaf("y")), leaf("d"))
    async with debugging(plan, {}, breaking("c", "d")) as run:
        stop = await run.on(await run.stop())
        assert at(stop) == "before d"
        back = point(run, "before p.x.c")
        await run.session.rewind(stop, back)
        stop = await run.stop()
        assert (at(stop), list(stop.scope["steps"])) == ("before p.x.c", ["a", "b"])
        await run.session.continue_(stop)
        await run.session.continue_(await run.stop())
        assert (await run.end()).status is Status.PASSED
    assert sorted(run.ran) == ["a", "d", "p", "p.x", "p.x.b", "p.x.c", "p.x.c", "p.y"]


async def test_edits_of_what_is_before_the_step_stay_when_it_is_gone_back_over() -> None:
    plan = flow(
        leaf("a"), call("sub", leaf("b"), leaf("c"), leaf("d"), config={"values": {"vars": {"n": 1}}}), leaf("e")
    )
    async with debugging(plan, {"vars": {"n": 0}}, breaking("a", "b", "c", "d")) as run:
        stop = await run.stop()
        await run.session.set(stop, ".vars.n", 5)
        stop = await run.on(stop)
        await run.session.set(stop, ".vars.n", 7)
        stop = await run.on(stop)
        await run.session.set(stop, ".vars.n", 9)
        stop = await run.back(await run.on(stop))
        assert (at(stop), stop.scope["vars"]["n"]) == ("before sub.c", 7)
        stop = await run.back(stop)
        assert (at(stop), stop.scope["vars"]["n"]) == ("before sub.b", 1)
        stop = await run.back(stop)
        assert (at(stop), stop.scope["vars"]["n"]) == ("before sub", 5)
        stop = await run.back(stop)
        assert (at(stop), stop.scope["vars"]["n"]) == ("before a", 0)


async def test_one_can_step_back_to_the_first_stop_and_no_further() -> None:
    async with debugging(CHAIN, {"n": 0}, breaking("a")) as run:
        stop = await run.stop()
        for _ in range(3):
            stop = await run.over(stop)
        for expected in ("before c", "before b", "before a"):
            stop = await run.back(stop)
            assert at(stop) == expected
        assert "step_back" not in stop.allowed
        with pytest.raises(NotAllowed):
            await run.session.step_back(stop)
        await run.session.continue_(stop)

        assert (await run.end()).state == {"n": 4}


async def test_a_step_back_to_after_a_step_does_not_run_it_again() -> None:
    session = breaking("c")
    session.add_breakpoint("b", "after")
    async with debugging(CHAIN, {"n": 0}, session) as run:
        stop = await run.back(await run.on(await run.stop()))

        assert (at(stop), stop.scope["n"]) == ("after b", 2)
        assert stop.outcome is not None
        assert stop.outcome.outputs == {"n": 2}
        assert run.ran == ["a", "b"]


async def test_a_step_back_to_an_error_can_be_repaired_after_all() -> None:
    plan = flow(leaf("x", fails(), continue_on_error=True), leaf("y"), leaf("z"))
    async with debugging(plan, {}, breaking("y", stop_on_error=True)) as run:
        stop = await run.back(await run.on(await run.stop()))
        assert at(stop) == "error x"
        await run.session.force(stop, "passed")
        stop = await run.stop()
        assert (at(stop), stop.scope["steps"]["x"]["status"]) == ("before y", "passed")


async def test_going_back_over_an_edit_undoes_it() -> None:
    async with debugging(CHAIN, {"n": 0}, breaking("b")) as run:
        stop = await run.stop()
        await run.session.set(stop, ".n", 100)
        stop = await run.over(stop)
        assert stop.scope["n"] == 101
        await run.session.set(stop, ".n", 500)
        stop = await run.back(stop)

        assert stop.scope["n"] == 1
        await run.session.continue_(stop)
        result = await run.end()
    assert result.state == {"n": 4}
    assert [event for event in result.intervened if isinstance(event, Rewound)]


async def test_going_back_over_an_edit_of_an_outer_layer_undoes_it_too() -> None:
    plan = flow(parallel("p", sequence("l", leaf("x"), leaf("y")), leaf("r")))
    async with debugging(plan, {"vars": {"n": 1}}, breaking("x")) as run:
        stop = await run.stop()
        await run.session.set(stop, ".vars.n", 2, layer="run")
        stop = await run.back(await run.over(stop))

        assert stop.scope["vars"] == {"n": 1}


@pytest.mark.parametrize("beside", [True, False])
async def test_going_back_step_by_step_over_an_edit_of_an_outer_layer_undoes_it_when_it_comes_to_it(
    beside: bool,
) -> None:
    row = (leaf("x"), leaf("y"), leaf("z"))
    line = background("l", leaf("serve", takes(100)), *row) if beside else sequence("l", *row)
    async with debugging(flow(parallel("p", line, leaf("r"))), {"vars": {"n": 1}}, breaking("x", "y", "z")) as run:
        stop = await run.stop()
        await run.session.set(stop, ".vars.n", 2, layer="run")
        stop = await run.back(await run.on(await run.on(stop)))
        assert (at(stop), stop.scope["vars"]) == ("before p.l.y", {"n": 2})
        stop = await run.back(stop)
        assert (at(stop), stop.scope["vars"]) == ("before p.l.x", {"n": 1})


@pytest.mark.parametrize("what", ["skip", "force", "config", "inject"])
async def test_going_back_over_what_was_done_by_hand_undoes_it(what: str) -> None:
    plan = flow(give("a", "as written"), leaf("b"), leaf("z"))
    async with debugging(plan, {}, breaking("a", "b")) as run:
        stop = await run.stop()
        match what:
            case "skip":
                await run.session.skip(stop, {"v": 1})
            case "force":
                await run.session.force(stop, "passed", {"v": 1})
            case "config":
                await run.session.override_config(stop, {"outputs": "other"})
                await run.session.continue_(stop)
            case "inject":
                await run.session.inject(stop, {"uses": "give", "with": {"outputs": 1}, "id": "extra"})
                await run.session.continue_(stop)
        stop = await run.back(await run.stop())
        assert (at(stop), stop.scope["steps"]) == ("before a", {})
        await run.session.detach()
        result = await run.end()

    assert result.state["steps"]["a"]["outputs"] == "as written"
    assert "extra" not in result.state["steps"]


# --- Rewinding -------------------------------------------------------------------------------------------------------

PLACES = ["before a", "after a", "before b", "after b", "before c", "after c"]


@pytest.mark.parametrize("place", PLACES)
async def test_one_can_go_back_to_any_point(place: str) -> None:
    async with debugging(CHAIN, {"n": 0}, breaking("d")) as run:
        await run.session.rewind(await run.stop(), point(run, place))
        stop = await run.stop()

        assert (at(stop), stop.scope["n"]) == (place, (PLACES.index(place) + 1) // 2)
        await run.session.detach()
        assert (await run.end()).state == {"n": 4}
        again = run.ran[3:]
        assert again == ["a", "b", "c", "d"][(PLACES.index(place) + 1) // 2 :]


async def test_a_point_is_named_by_its_number_or_by_its_stop() -> None:
    async with debugging(CHAIN, {"n": 0}, breaking("b")) as run:
        first = await run.stop()
        stop = await run.over(await run.over(first))
        await run.session.rewind(stop, first)
        stop = await run.stop()
        assert at(stop) == "before b"
        await run.session.rewind(stop, point(run, "before a").number)
        assert at(await run.stop()) == "before a"


async def test_every_point_has_a_number_of_its_own() -> None:
    async with debugging(CHAIN, {"n": 0}, breaking("d")) as run:
        await run.stop()
        numbers = [each.number for each in run.session.history()]

    assert len(numbers) == len(set(numbers))


async def test_points_of_a_future_that_was_undone_are_no_points() -> None:
    async with debugging(CHAIN, {"n": 0}, breaking("d")) as run:
        stop = await run.stop()
        undone = point(run, "after c")
        await run.session.rewind(stop, point(run, "before b"))
        stop = await run.stop()

        assert [f"{each.position} {each.occurrence}" for each in run.session.history() if each.stop is None] == [
            "before a",
            "after a",
        ]
        with pytest.raises(UnknownPoint):
            await run.session.rewind(stop, undone)
        with pytest.raises(UnknownPoint):
            await run.session.rewind(stop, undone.number)
        assert run.session.stops == [stop]


async def test_the_history_tells_every_point_in_order() -> None:
    async with debugging(graph("a > b", b=raises()), {}, breaking("b", stop_on_error=True)) as run:
        await run.on(await run.stop())
        told = [(each.position, each.occurrence, each.status, each.stop) for each in run.session.history()]

    assert told == [
        ("before", "a", None, None),
        ("after", "a", Status.PASSED, None),
        ("before", "b", None, 1),
        ("before", "b", None, None),
        ("error", "b", Status.FAILED, None),
        ("error", "b", None, 2),
    ]


async def test_a_frame_can_be_restarted() -> None:
    plan = flow(leaf("a"), parallel("p", sequence("l", leaf("x"), leaf("y")), leaf("r")), leaf("z"))
    async with debugging(plan, {}, breaking("y")) as run:
        await run.session.restart_frame(await run.stop())
        stop = await run.stop()

        assert (at(stop), stop.frame) == ("before p.l", "p.l")
        await run.session.detach()
        assert (await run.end()).status is Status.PASSED
    assert sorted(run.ran) == ["a", "p", "p.l", "p.l", "p.l.x", "p.l.x", "p.l.y", "p.r", "z"]


async def test_a_frame_that_was_opened_again_is_restarted_from_its_first_step() -> None:
    async with debugging(LEFT_RIGHT, {}, breaking("w")) as run:
        stop = await run.stop()
        await run.event(FrameEnded, frame="p.l")
        await run.session.rewind(stop, point(run, "before p.l.y"))
        stops = await run.stops(2)
        await run.session.restart_frame(stops["before p.r.w"])

        assert at(await run.stop()) == "before p.r"


async def test_restarting_the_main_frame_starts_the_run_again() -> None:
    async with debugging(CHAIN, {"n": 0}, breaking("c")) as run:
        await run.session.restart_frame(await run.stop())
        stop = await run.stop()

        assert (at(stop), stop.scope["n"]) == ("before a", 0)


async def test_going_back_over_a_failure_and_repairing_its_cause() -> None:
    def divide(state: State) -> State:
        return {"quotient": 10 / state["by"]}

    app = graph("a > b > c", a=lambda state: {"by": 0}, b=divide)
    async with debugging(app, {}, Session()) as run:
        stop = await run.stop()
        assert at(stop) == "error b"
        await run.session.rewind(stop, point(run, "after a"))
        stop = await run.stop()
        await run.session.set(stop, ".by", 5)
        await run.session.continue_(stop)
        result = await run.end()

    assert (result.status, result.state["quotient"]) == (Status.PASSED, 2.0)


async def test_going_back_in_a_loop_keeps_the_turns_before() -> None:
    app = graph("n ; z", n=counts(), routers={"n": loop("n", 5, "z")}).compile()
    async with debugging(app, {}, breaking("z")) as run:
        await run.session.rewind(await run.stop(), point(run, "before n@3"))
        stop = await run.stop()
        assert (at(stop), stop.scope["n"]) == ("before n@3", 2)
        await run.session.detach()

        assert (await run.end()).state["n"] == 5
    assert run.ran == ["n", "n@2", "n@3", "n@4", "n@5", "n@3", "n@4", "n@5", "z"]


async def test_going_back_into_a_retry() -> None:
    plan = flow(leaf("x", flaky(2), retry=retry(2)), leaf("z"))
    async with debugging(plan, {}, breaking("z")) as run:
        await run.session.rewind(await run.stop(), point(run, "before x#2"))
        stop = await run.stop()
        assert at(stop) == "before x#2"
        await run.session.detach()
        await run.end()

    assert run.ran == ["x", "x#2", "x#3", "x#2", "x#3", "z"]


@virtual_time
async def test_going_back_does_not_wait_again_for_what_a_repeat_waited_for() -> None:
    plan = flow(repeat("r", leaf("x"), config={"times": 5, "every_seconds": 100}), leaf("z"))
    async with debugging(plan, {}, breaking("z")) as run:
        stop = await run.stop()
        began = now()
        await run.session.rewind(stop, point(run, "before r[4].x"))
        assert at(await run.stop()) == "before r[4].x"

        assert now() - began == 0


# --- Branches --------------------------------------------------------------------------------------------------------

LEFT_RIGHT = flow(
    leaf("a"), parallel("p", sequence("l", leaf("x"), leaf("y")), sequence("r", leaf("v"), leaf("w"))), leaf("z")
)


async def test_from_a_branch_to_before_the_fork_takes_the_siblings_along() -> None:
    async with debugging(LEFT_RIGHT, {}, breaking("y", "w")) as run:
        stops = await run.stops(2)
        await run.session.rewind(stops["before p.l.y"], point(run, "before a"))
        stop = await run.stop()

        assert (at(stop), run.session.stops) == ("before a", [stop])
        (ended,) = run.told(StopEnded)
        assert (ended.stop, ended.reason) == (stops["before p.r.w"].id, "the run was rewound to a")
        assert run.frame_states == {"main": "paused"}
        await run.session.detach()
        assert (await run.end()).status is Status.PASSED


async def test_back_in_a_branch_repeats_nothing_of_its_siblings() -> None:
    async with debugging(LEFT_RIGHT, {}, breaking("y", "w")) as run:
        stops = await run.stops(2)
        await run.session.rewind(stops["before p.l.y"], point(run, "before p.l.x"))
        stop = await run.stop()
        assert at(stop) == "before p.l.x"
        assert not stops["before p.r.w"].is_over
        await run.session.detach()
        await run.end()

    assert sorted(run.ran) == sorted(["a", "p", "p.l", "p.r", "p.l.x", "p.r.v", "p.l.x", "p.l.y", "p.r.w", "z"])


async def test_back_into_a_branch_that_has_ended_repeats_only_that_branch() -> None:
    async with debugging(LEFT_RIGHT, {}, breaking("z")) as run:
        before = await run.stop()
        await run.session.rewind(before, point(run, "before p.l.y"))
        stop = await run.stop()
        assert (at(stop), stop.frame) == ("before p.l.y", "p.l")
        ran = len(run.ran)
        await run.session.continue_(stop)
        assert at(await run.stop()) == "before z"

        assert run.ran[ran:] == ["p.l.y"]
        await run.session.detach()
        assert (await run.end()).status is Status.PASSED


async def test_from_one_branch_back_into_another_that_has_ended() -> None:
    async with debugging(LEFT_RIGHT, {}, breaking("w")) as run:
        stop = await run.stop()
        await run.event(FrameEnded, frame="p.l")
        await run.session.rewind(stop, point(run, "before p.l.y"))
        again = await run.stops(2)

        assert list(again) == ["before p.l.y", "before p.r.w"]
        await run.session.detach()
        await run.end()
    assert run.ran.count("p.r.v") == 1
    assert run.ran.count("p.l.x") == 1


async def test_of_two_branches_that_go_back_across_each_other_one_does_and_stops_where_it_led() -> None:
    async with debugging(LEFT_RIGHT, {}, breaking("y", "w")) as run:
        stops = await run.stops(2)
        into_right, into_left = point(run, "after p.r.v"), point(run, "after p.l.x")
        await run.session.rewind(stops["before p.l.y"], into_right)
        await run.session.rewind(stops["before p.r.w"], into_left)
        back = await run.event(Rewound)
        again = await run.stops(2)

        assert sorted((stop.frame, stop.position) for stop in again.values()) == sorted(
            {(back.point_frame, "after"), ({"p.l": "p.r", "p.r": "p.l"}[back.point_frame], "before")}
        )
        await run.session.detach()
        assert (await run.end()).status is Status.PASSED
    assert (run.ran.count("p.l.x"), run.ran.count("p.r.v")) == (1, 1)


async def test_back_in_a_graph_keeps_what_the_other_branch_has_written() -> None:
    app = graph(
        "a > l > m > z; a > r > z",
        l=lambda state: {"sum": 1},
        m=lambda state: {"sum": 10},
        r=lambda state: {"sum": 100},
        reducers={"sum": operator.add},
    )
    async with debugging(app, {"sum": 0}, breaking("z")) as run:
        await run.session.rewind(await run.stop(), point(run, "before m"))
        stop = await run.stop()
        assert (at(stop), stop.scope["sum"]) == ("before m", 1)
        await run.session.detach()

        assert (await run.end()).state["sum"] == 111
    assert sorted(run.ran) == ["a", "l", "m", "m", "r", "z"]


async def test_back_in_a_combination_and_in_a_part_beside() -> None:
    plan = flow(
        matrix("m", {"n": [1, 2]}, leaf("x"), leaf("y"), config={"parallel": True}),
        background("g", leaf("u", takes(60)), leaf("v"), leaf("w")),
        leaf("z"),
    )
    async with debugging(plan, {}, breaking("z")) as run:
        await run.session.rewind(await run.stop(), point(run, "before m[1].y"))
        stop = await run.stop()
        assert (at(stop), stop.frame) == ("before m[1].y", "m[1]")
        stop = await run.on(stop)
        await run.session.rewind(stop, point(run, "before g.w"))
        assert at(await run.stop()) == "before g.w"
        await run.session.detach()

        assert (await run.end()).status is Status.PASSED
    assert run.ran.count("m[0].y") == 1


async def test_back_into_a_sub_flow_and_its_cleanup() -> None:
    plan = flow(call("c", leaf("x"), leaf("y"), cleanup=(leaf("k"),)), leaf("z"), cleanup=[leaf("j")])
    async with debugging(plan, {}, breaking("j")) as run:
        stop = await run.stop()
        await run.session.rewind(stop, point(run, "before c.k"))
        stop = await run.stop()
        assert at(stop) == "before c.k"
        await run.session.rewind(stop, point(run, "before c.x"))
        stop = await run.stop()
        assert (at(stop), stop.scope["steps"]) == ("before c.x", {})
        await run.session.detach()

        assert (await run.end()).status is Status.PASSED


async def test_back_into_the_cleanup_does_not_clean_up_again_what_is_before_it() -> None:
    plan = flow(leaf("a"), cleanup=[leaf("j"), leaf("k"), leaf("l")])
    async with debugging(plan, {}, breaking("k", "l")) as run:
        stop = await run.on(await run.stop())
        await run.session.rewind(stop, point(run, "before k"))
        assert at(await run.stop()) == "before k"
        await run.session.detach()

        assert (await run.end()).status is Status.PASSED
    assert run.ran == ["a", "j", "k", "k", "l"]


async def test_a_run_that_was_aborted_stays_so_though_somebody_goes_back_in_the_cleanup_of_a_sub_flow() -> None:
    plan = flow(call("c", leaf("x"), leaf("y"), cleanup=(leaf("k"),)), leaf("z"), cleanup=[leaf("j")])
    async with debugging(plan, {}, breaking("y", "k")) as run:
        await run.stop()
        await run.session.abort()
        stop = await run.stop()
        assert at(stop) == "before c.k"
        await run.session.rewind(stop, point(run, "before c.y"))
        stop = await run.stop()
        assert at(stop) == "before c.k"
        await run.session.continue_(stop)

        assert (await run.end()).status is Status.CANCELLED
    assert run.ran == ["c", "c.x", "c.k", "j"]


async def test_going_back_and_on_again_comes_to_the_same_end() -> None:
    plain = await undebugged(LEFT_RIGHT)
    async with debugging(LEFT_RIGHT, {}, breaking("x", "w", "z")) as run:
        went_back = 0
        while (stop := await run.session.next_stop()) is not None:
            if at(stop) == "before z" and went_back < 3:
                went_back += 1
                target = ("before p.r.v", "before p", "before a")[went_back - 1]
                await run.session.rewind(stop, point(run, target))
            else:
                await run.session.continue_(stop)
        result = await run.end()

    assert (result.status, result.state) == (plain.status, plain.state)
    assert {step.status for step in fold(run.log.read()).steps.values()} == {"passed"}


# --- Effects outside -------------------------------------------------------------------------------------------------


async def test_going_back_over_effects_outside_asks_first() -> None:
    sent: list[str] = []
    app = graph("a > mail > c > d", mail=lambda state: sent.append("mail"), options={"mail": {"external": True}})
    async with debugging(app, {}, breaking("a", "c", "d")) as run:
        stop = await run.on(await run.stop())
        with pytest.raises(ExternalEffects, match="mail") as told:
            await run.session.step_back(stop)
        assert told.value.steps == ("mail",)
        with pytest.raises(ExternalEffects):
            await run.session.rewind(stop, point(run, "before a"))
        with pytest.raises(ExternalEffects):
            await run.session.restart_frame(stop)
        assert run.session.stops == [stop]
        stop = await run.back(await run.on(stop))
        assert at(stop) == "before c"
        assert sent == ["mail"]

        await run.session.step_back(stop, external=True)
        stop = await run.stop()
        assert at(stop) == "before mail"
        await run.session.detach()
        await run.end()
    assert sent == ["mail", "mail"]


async def test_effects_outside_that_were_skipped_need_no_asking() -> None:
    app = graph("a > mail > c", options={"mail": {"external": True}})
    async with debugging(app, {}, breaking("a", "mail", "c")) as run:
        stop = await run.on(await run.stop())
        await run.session.skip(stop)
        stop = await run.back(await run.back(await run.stop()))

        assert at(stop) == "before a"


async def test_effects_outside_of_a_step_that_its_if_skipped_need_no_asking() -> None:
    plan = flow(leaf("a"), leaf("mail", condition=".no", effects="external"), leaf("z"))
    async with debugging(plan, {}, breaking("a", "z")) as run:
        assert at(await run.back(await run.on(await run.stop()))) == "before a"


async def test_effects_outside_that_are_happening_now_are_asked_about() -> None:
    """The sibling has begun to send: to go back before the fork would have it begin again."""
    sending = asyncio.Event()

    async def send(state: State) -> None:
        sending.set()
        await asyncio.get_running_loop().create_future()

    app = graph("a > l + mail > z", mail=send, options={"mail": {"external": True}})
    async with debugging(app, {}, breaking("l")) as run:
        stop = await run.stop()
        await sending.wait()
        with pytest.raises(ExternalEffects):
            await run.session.rewind(stop, point(run, "before a"))


# --- Looking at the past ---------------------------------------------------------------------------------------------


async def test_the_scope_can_be_seen_as_it_was_at_any_point() -> None:
    async with debugging(CHAIN, {"n": 0}, breaking("d")) as run:
        await run.stop()
        seen = {}
        for each in run.session.history():
            seen[f"{each.position} {each.occurrence}"] = (await run.session.scope_at(each))["n"]

    assert seen == {
        "before a": 0,
        "after a": 1,
        "before b": 1,
        "after b": 2,
        "before c": 2,
        "after c": 3,
        "before d": 3,
    }
    assert run.ran == ["a", "b", "c"]


async def test_any_two_points_can_be_compared() -> None:
    app = graph("a > l + r > z", l=lambda state: {"l": 1}, r=lambda state: {"r": {"deep": [1, 2]}})
    async with debugging(app, {"n": 0}, breaking("z")) as run:
        stop = await run.stop()

        async def changed(before: str, after: str) -> dict[str, tuple[str, Any]]:
            changes = await run.session.diff_points(point(run, before), point(run, after))
            return {each.path: (each.kind, each.after) for each in changes}

        assert await changed("before a", "after a") == {".a": ("added", "done")}
        assert await changed("after a", "after l") == {".l": ("added", 1)}
        assert await changed("after l", "after r") == {".l": ("removed", None), ".r": ("added", {"deep": [1, 2]})}
        assert await changed("after a", "before z") == {".l": ("added", 1), ".r": ("added", {"deep": [1, 2]})}
        assert await changed("before z", "before a") == {
            ".a": ("removed", None),
            ".l": ("removed", None),
            ".r": ("removed", None),
        }
        assert await changed("after r", "after r") == {}
        assert run.session.stops == [stop]


@pytest.mark.parametrize(
    "plan",
    [
        flow(leaf("a"), parallel("p", sequence("l", leaf("x"), leaf("y")), leaf("r")), leaf("z")),
        flow(matrix("m", {"n": [1, 2]}, leaf("x"), config={"parallel": True}), leaf("z")),
        flow(matrix("m", {"n": [1, 2]}, leaf("x")), repeat("r", leaf("y"), config={"times": 2}), leaf("z")),
        flow(call("c", leaf("x"), cleanup=(leaf("k"),)), leaf("z")),
        flow(leaf("x"), cleanup=[leaf("k"), leaf("z")]),
        flow(leaf("x", flaky(1), retry=retry(1)), sequence("s", leaf("y")), leaf("z")),
        flow(leaf("x", fails(), continue_on_error=True), leaf("y", condition=".no"), leaf("z")),
    ],
    ids=["parallel", "combinations", "turns", "call", "cleanup", "retry", "failed and skipped"],
)
@virtual_time
async def test_every_point_of_the_history_can_be_looked_at(plan: Any) -> None:
    async with debugging(plan, {}, breaking("z")) as run:
        await run.stop()
        for each in run.session.history():
            scope = await run.session.scope_at(each)
            assert "steps" in scope, each


@virtual_time
async def test_the_scope_of_a_step_that_was_cancelled_can_be_looked_at() -> None:
    plan = flow(
        parallel(
            "p",
            leaf("x", takes(60)),
            leaf("y", takes_then_fails(1)),
            config={"fail_fast": True},
            continue_on_error=True,
        ),
        leaf("z"),
    )
    async with debugging(plan, {"n": 1}, breaking("z")) as run:
        await run.stop()
        for each in run.session.history():
            assert (await run.session.scope_at(each))["n"] == 1, each


@virtual_time
async def test_the_scope_in_a_repeat_that_waits_can_be_looked_at() -> None:
    plan = flow(repeat("r", leaf("x"), config={"times": 5, "every_seconds": 100}), leaf("z"))
    async with debugging(plan, {"n": 1}, breaking("z")) as run:
        await run.stop()

        assert (await run.session.scope_at(point(run, "before r[4].x")))["repeat"] == {"index": 4}


async def test_the_last_look_is_a_point_like_any_other() -> None:
    async with debugging(graph("a"), {"n": 1}, Session(stop_at_end=True)) as run:
        stop = await run.stop()

        assert (await run.session.scope_at(stop.after_event)).as_dict() == {"n": 1, "a": "done"}


async def test_edits_are_seen_in_the_past_where_they_were_made() -> None:
    async with debugging(CHAIN, {"n": 0}, breaking("b", "d")) as run:
        stop = await run.stop()
        await run.session.set(stop, ".n", 100)
        await run.on(stop)

        assert (await run.session.scope_at(stop.after_event))["n"] == 1
        assert (await run.session.scope_at(point(run, "after b")))["n"] == 101
        assert (await run.session.scope_at(point(run, "before c")))["n"] == 101


async def test_looking_at_the_past_runs_nothing() -> None:
    calls: list[str] = []

    def node(name: str) -> Callable[[State], State]:
        def act(state: State) -> State:
            calls.append(name)
            return {name: 1}

        return act

    app = graph("a > l + r > z", a=node("a"), l=node("l"), r=node("r"), z=node("z"))
    async with debugging(app, {}, breaking("z")) as run:
        await run.stop()
        for each in run.session.history():
            await run.session.scope_at(each)

    assert calls == ["a", "l", "r"]


async def test_the_past_can_be_looked_at_when_the_run_has_ended() -> None:
    async with debugging(CHAIN, {"n": 0}, Session()) as run:
        await run.end()

        assert (await run.session.scope_at(point(run, "after b")))["n"] == 2
        (change,) = await run.session.diff_points(point(run, "before a"), point(run, "after d"))
        assert change == Change(".n", "changed", 0, 4)


async def test_what_changed_since_the_stop_before_is_told_at_every_stop() -> None:
    async with debugging(CHAIN, {"n": 0}, breaking("a")) as run:
        first = await run.stop()
        second = await run.over(first)
        third = await run.over(second)

        assert run.session.diff(third) == [Change(".n", "changed", 1, 2)]
        assert run.session.diff(third, since=first) == [Change(".n", "changed", 0, 2)]
        assert run.session.diff(second) == [Change(".n", "changed", 0, 1)]
        assert run.session.diff(first) == []  # this frame has not stopped before
        await run.session.set(third, ".n", 50)
        assert run.session.diff(third) == [Change(".n", "changed", 1, 50)]


async def test_an_edit_at_the_first_stop_of_a_frame_is_a_change_there() -> None:
    async with debugging(CHAIN, {"n": 0}, breaking("a")) as run:
        stop = await run.stop()
        await run.session.set(stop, ".n", 42)
        assert run.session.diff(stop) == [Change(".n", "changed", 0, 42)]
        await run.session.undo(stop)
        assert run.session.diff(stop) == []


async def test_a_point_that_never_was_is_refused() -> None:
    async with debugging(CHAIN, {"n": 0}, breaking("b")) as run:
        stop = await run.stop()
        for number in (0, -1, 10**9):
            with pytest.raises(UnknownPoint):
                await run.session.rewind(stop, number)
            with pytest.raises(UnknownPoint):
                await run.session.scope_at(number)
        assert run.session.stops == [stop]
        assert run.told(StepStarted)[-1].occurrence == "a"
