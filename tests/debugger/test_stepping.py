"""Where each step command comes to rest: every row of the table, wherever a step can be."""

import operator
from dataclasses import dataclass

import pytest

from pitstop import GraphApp
from pitstop.debugger.session import Session
from pitstop.debugger.stepping import Goal, StepVerb, after_frame, at_fork, goal_of, is_ended_by, is_under, rests_at
from pitstop.debugger.stops import Stop
from pitstop.definition.graph import END
from pitstop.engine.verdict import Position
from pitstop.events.outcome import Status
from pitstop.plan.plan import Plan
from tests.debugger.bench import Debugged, State, at, counts, debugging, graph, loop
from tests.engine.flows import (
    background,
    call,
    conditional,
    fails,
    flaky,
    flow,
    leaf,
    matrix,
    parallel,
    repeat,
    retry,
    sequence,
    takes,
)
from tests.engine.virtual_time import virtual_time

# --- Flows and graphs to step through: the last step is always z ------------------------------------------------------

PLAIN = flow(leaf("a"), leaf("b"), leaf("z"))
NESTED = flow(leaf("a"), sequence("s", leaf("x"), leaf("y")), leaf("z"))
DEEP = flow(sequence("s", sequence("t", leaf("x")), leaf("y")), leaf("z"))
BRANCHES = flow(parallel("p", sequence("l", leaf("x"), leaf("y")), leaf("r")), leaf("z"))
SLOW_SIBLING = flow(parallel("p", leaf("x"), leaf("r", takes(5))), leaf("z"))
NO_MORE = flow(parallel("p", leaf("x"), leaf("r")))
TURNS = flow(matrix("m", {"n": [1, 2]}, leaf("x"), leaf("y")), leaf("z"))
SIDE_BY_SIDE = flow(matrix("m", {"n": [1, 2]}, leaf("x"), leaf("y"), config={"parallel": True}), leaf("z"))
BESIDE = flow(background("g", sequence("u", leaf("v", takes(60)), leaf("w")), leaf("x"), leaf("y")), leaf("z"))
REPEATED = flow(repeat("r", leaf("x"), leaf("y"), config={"times": 2}), leaf("z"))
CALLED = flow(leaf("a"), call("c", leaf("x"), leaf("y"), cleanup=(leaf("k"),)), leaf("z"))
CALLED_TWICE = flow(call("c", leaf("x"), call("d", leaf("y"))), leaf("z"))
CLEANED = flow(leaf("a"), leaf("b"), cleanup=[leaf("k"), sequence("s", leaf("x"), leaf("y")), leaf("z")])
FAILING = flow(leaf("a", fails()), leaf("b"), cleanup=[leaf("z")])
FLAKY = flow(leaf("a", flaky(1), retry=retry(1)), leaf("z"))
FLAKY_PART = flow(sequence("s", leaf("x", flaky(9)), retry=retry(1), continue_on_error=True), leaf("z"))
FLAKY_BRANCH = flow(parallel("p", leaf("x", flaky(1), retry=retry(2)), leaf("r")), leaf("z"))
CHOSEN = flow(conditional("c", leaf("n", condition=".no"), leaf("x")), leaf("z"))
SKIPPED = flow(leaf("a"), leaf("b", condition=".no"), leaf("z"))


@dataclass(frozen=True)
class Row:
    """From a step, by these verbs, to a place; None is the end of the run."""

    what: str
    plan: Plan | GraphApp
    start: str
    verbs: str
    rests: str | None


def named(row: Row) -> str:
    return f"{row.verbs}, {row.what}"


FLOW_ROWS = [
    Row("plain", PLAIN, "a", "into", "before b"),
    Row("a part", NESTED, "s", "into", "before s.x"),
    Row("a part in a part", DEEP, "s", "into into", "before s.t.x"),
    Row("the last step", PLAIN, "z", "into", None),
    Row("at the end of a branch", BRANCHES, "y", "into", "before z"),
    Row("across a join that waits", SLOW_SIBLING, "x", "into", "before z"),
    Row("a sub-flow", CALLED, "c", "into", "before c.x"),
    Row("the end of a sub-flow", CALLED, "y", "into", "before c.k"),
    Row("in cleanup", CLEANED, "s", "into", "before s.x"),
    Row("to cleanup", CLEANED, "b", "into", "before k"),
    Row("in a retry", FLAKY, "a", "into", "before a#2"),
    Row("after a retry", FLAKY, "a", "into into", "before z"),
    Row("a part that is tried again", FLAKY_PART, "x", "into", "before s#2"),
    Row("turns", TURNS, "m", "into", "before m[0].x"),
    Row("repeated", REPEATED, "r", "into", "before r[0].x"),
    Row("chosen", CHOSEN, "c", "into", "before c.x"),
    Row("a step that will be skipped", SKIPPED, "a", "into", "before z"),
    Row("plain", PLAIN, "a", "over", "before b"),
    Row("a part", NESTED, "s", "over", "before z"),
    Row("the last of a part", NESTED, "y", "over", "before z"),
    Row("the last of a part in a part", DEEP, "x", "over", "before s.y"),
    Row("the last step", PLAIN, "z", "over", None),
    Row("in a branch", BRANCHES, "x", "over", "before p.l.y"),
    Row("at the end of a branch", BRANCHES, "y", "over", "before z"),
    Row("all branches", BRANCHES, "p", "over", "before z"),
    Row("across a join that waits", SLOW_SIBLING, "x", "over", "before z"),
    Row("across a join with nothing after it", NO_MORE, "x", "over", None),
    Row("a sub-flow", CALLED, "c", "over", "before z"),
    Row("in a sub-flow", CALLED, "x", "over", "before c.y"),
    Row("the cleanup of a sub-flow", CALLED, "k", "over", "before z"),
    Row("the last of a sub-flow in a sub-flow", CALLED_TWICE, "y", "over", "before z"),
    Row("in cleanup", CLEANED, "k", "over over", "before z"),
    Row("the last of cleanup", CLEANED, "z", "over", None),
    Row("to cleanup", CLEANED, "b", "over", "before k"),
    Row("to cleanup, past what a failure skips", FAILING, "a", "over", "before z"),
    Row("in a retry", FLAKY, "a", "over", "before z"),
    Row("in a retry in a branch", FLAKY_BRANCH, "x", "over", "before z"),
    Row("a part that is tried again", FLAKY_PART, "s", "over", "before z"),
    Row("the last of a part that is tried again", FLAKY_PART, "x", "over", "before s#2"),
    Row("a turn", TURNS, "y", "over", "before m[1].x"),
    Row("the last turn", TURNS, "y", "over over over", "before z"),
    Row("the end of a combination", SIDE_BY_SIDE, "y", "over", "before z"),
    Row("repeated", REPEATED, "y", "over", "before r[1].x"),
    Row("beside", BESIDE, "x", "over", "before g.y"),
    Row("the last beside", BESIDE, "y", "over", "before z"),
    Row("a part with another beside it", BESIDE, "g", "over", "before z"),
    Row("chosen", CHOSEN, "x", "over", "before z"),
    Row("plain", PLAIN, "a", "out", None),
    Row("of a part", NESTED, "x", "out", "before z"),
    Row("of a part in a part", DEEP, "x", "out", "before s.y"),
    Row("in a branch", BRANCHES, "x", "out", "before z"),
    Row("at the end of a branch", BRANCHES, "y", "out", "before z"),
    Row("across a join that waits", SLOW_SIBLING, "x", "out", "before z"),
    Row("across a join with nothing after it", NO_MORE, "x", "out", None),
    Row("of a sub-flow", CALLED, "x", "out", "before z"),
    Row("of a sub-flow in a sub-flow", CALLED_TWICE, "y", "out", "before z"),
    Row("in cleanup", CLEANED, "x", "out", "before z"),
    Row("of the cleanup", CLEANED, "k", "out", None),
    Row("in a retry", FLAKY, "a", "out", None),
    Row("of a part that is tried again", FLAKY_PART, "x", "out", "before z"),
    Row("of all turns", TURNS, "x", "out", "before z"),
    Row("of all repeated", REPEATED, "x", "out", "before z"),
    Row("of a combination", SIDE_BY_SIDE, "x", "out", "before z"),
    Row("of what has a part beside it", BESIDE, "x", "out", "before z"),
    Row("plain", PLAIN, "a", "to:z", "before z"),
    Row("where it is", PLAIN, "a", "to:a", None),
    Row("a step that does not come", PLAIN, "z", "to:a", None),
    Row("into a branch", BRANCHES, "p", "to:y", "before p.l.y"),
    Row("at the end of a branch", BRANCHES, "y", "to:z", "before z"),
    Row("across a join that waits", SLOW_SIBLING, "x", "to:z", "before z"),
    Row("a step of another branch", SLOW_SIBLING, "p", "to:r", "before p.r"),
    Row("in a sub-flow", CALLED, "a", "to:c.y", "before c.y"),
    Row("in cleanup", CLEANED, "a", "to:y", "before s.y"),
    Row("past a retry", FLAKY, "a", "to:z", "before z"),
    Row("the same step in a retry", FLAKY, "a", "to:a", "before a#2"),
    Row("the next turn", REPEATED, "x", "to:x", "before r[1].x"),
    Row("plain", PLAIN, "a", "over back", "before a"),
    Row("at the end of a branch", BRANCHES, "x", "over back", "before p.l.x"),
    Row("across a join", BRANCHES, "p", "over back", "before p"),
    Row("in a sub-flow", CALLED, "x", "over back", "before c.x"),
    Row("into a sub-flow that has ended", CALLED, "y", "out back", "before c.y"),
    Row("in cleanup", CLEANED, "k", "over back", "before k"),
    Row("out of cleanup", CLEANED, "b", "over back", "before b"),
    Row("in a retry", FLAKY, "a", "into back", "before a"),
    Row("over a retry", FLAKY, "a", "over back", "before a"),
    Row("a turn", REPEATED, "y", "over back", "before r[0].y"),
    Row("twice", PLAIN, "a", "over over back back", "before a"),
    Row("and on again", PLAIN, "a", "over back over over", "before z"),
    Row("beside", BESIDE, "x", "over back", "before g.x"),
]


@pytest.mark.parametrize("row", FLOW_ROWS, ids=named)
def test_a_step_command_rests_where_the_table_says(row: Row) -> None:
    virtual_time(check)(row)


async def check(row: Row) -> None:
    session = Session(stop_on_error=False)
    session.add_breakpoint(row.start, once=True)
    async with debugging(row.plan, {}, session) as run:
        stop = await run.stop()
        *first, last = row.verbs.split()
        for verb in first:
            stop = await move(run, stop, verb)
        if row.rests is None:
            await command(run, stop, last)
            await run.end()
        else:
            stop = await move(run, stop, last)
            assert (at(stop), stop.reasons) == (row.rests, ("step",))
            await session.continue_(stop)
            await run.end()  # and it stops nowhere for no reason


async def command(run: Debugged, stop: Stop, verb: str) -> None:
    match verb.split(":"):
        case ["to", target]:
            await run.session.run_to(stop, target)
        case _:
            await getattr(run.session, f"step_{verb}")(stop)


async def move(run: Debugged, stop: Stop, verb: str) -> Stop:
    await command(run, stop, verb)
    return await run.stop()


@pytest.mark.parametrize("verb", ["into", "over"])
@pytest.mark.parametrize("position", ["after", "error"])
async def test_a_step_from_the_end_of_a_step_goes_to_what_follows(verb: str, position: Position) -> None:
    do = fails() if position == "error" else None
    plan = flow(sequence("s", leaf("x", do, continue_on_error=True), leaf("y")), leaf("z"))
    session = Session(stop_on_error=False)
    session.add_breakpoint("x", position)
    async with debugging(plan, {}, session) as run:
        stop = await move(run, await run.stop(), verb)

        assert at(stop) == "before s.y"


async def test_stepping_out_from_the_end_of_a_step_goes_to_what_follows_its_parent() -> None:
    session = Session(stop_on_error=False)
    session.add_breakpoint("x", "after")
    async with debugging(NESTED, {}, session) as run:
        assert at(await run.out(await run.stop())) == "before z"


async def test_a_breakpoint_is_hit_while_stepping_over_it_and_ends_the_step() -> None:
    async with debugging(NESTED, {}, breaking("s", "y")) as run:
        stop = await run.over(await run.stop())

        assert (at(stop), stop.reasons) == ("before s.y", ("breakpoint",))
        await run.session.continue_(stop)
        await run.end()


async def test_a_step_that_a_stop_has_ended_goes_on_when_that_is_passed_by() -> None:
    async with debugging(NESTED, {}, breaking("s", "x", "y")) as run:
        stop = await run.over(await run.stop())
        for place in ("before s.x", "before s.y"):
            assert (at(stop), stop.reasons) == (place, ("breakpoint",))
            await run.session.continue_(stop, keeps_step=True)
            stop = await run.stop()

        assert (at(stop), stop.reasons) == ("before z", ("step",))


@pytest.mark.parametrize("verb", ["skip", "force"])
async def test_a_frame_whose_step_is_decided_stops_right_after_it_if_that_is_wanted(verb: str) -> None:
    async with debugging(PLAIN, {}, breaking("a")) as run:
        stop = await run.stop()
        if verb == "skip":
            await run.session.skip(stop, pauses=True)
        else:
            await run.session.force(stop, "passed", pauses=True)
        stop = await run.stop()

        assert (at(stop), stop.reasons) == ("after a", ("pause",))
        await run.session.force(stop, "passed", pauses=True)
        stop = await run.stop()
        assert (at(stop), stop.reasons) == ("before b", ("pause",))
        assert run.does.ran == []


# --- Frames that a step opens ----------------------------------------------------------------------------------------


async def test_stepping_into_branches_stops_each_at_its_first_step() -> None:
    async with debugging(BRANCHES, {}, breaking("p")) as run:
        await run.session.step_into(await run.stop())
        stops = await run.stops(2)

        assert list(stops) == ["before p.l", "before p.r"]
        assert [stop.reasons for stop in stops.values()] == [("step",), ("step",)]
        await run.session.continue_all()
        await run.end()


async def test_stepping_into_combinations_stops_each_at_its_first_step() -> None:
    async with debugging(SIDE_BY_SIDE, {}, breaking("m")) as run:
        await run.session.step_into(await run.stop())

        assert list(await run.stops(2)) == ["before m[0].x", "before m[1].x"]


async def test_stepping_into_a_part_with_another_beside_it_stops_both() -> None:
    async with debugging(BESIDE, {}, breaking("g")) as run:
        await run.session.step_into(await run.stop())

        assert list(await run.stops(2)) == ["before g.u", "before g.x"]


@virtual_time
async def test_stepping_over_the_last_step_of_a_part_beside_goes_on_where_the_others_are() -> None:
    plan = flow(background("g", leaf("u"), leaf("x", takes(5)), leaf("y")), leaf("z"))
    async with debugging(plan, {}, breaking("u")) as run:
        stop = await run.over(await run.stop())

        assert (at(stop), stop.frame) == ("before g.y", "main")


@virtual_time
async def test_a_step_in_a_part_that_is_ended_with_the_steps_beside_it_goes_on_after_them() -> None:
    plan = flow(background("g", leaf("v", takes(60)), leaf("x", takes(5))), leaf("z"))
    async with debugging(plan, {}, breaking("v")) as run:
        stop = await run.over(await run.stop())

        assert (at(stop), stop.frame) == ("before z", "main")


# --- Two frames stopped at once --------------------------------------------------------------------------------------

TWO = flow(parallel("p", sequence("l", leaf("a"), leaf("b")), sequence("r", leaf("c"), leaf("d"))), leaf("z"))


@pytest.mark.parametrize("verb", ["into", "over", "to:b"])
async def test_a_step_moves_its_own_frame_and_the_other_stays_stopped(verb: str) -> None:
    async with debugging(TWO, {}, breaking("a", "c")) as run:
        stops = await run.stops(2)
        right = stops["before p.r.c"]
        left = await move(run, stops["before p.l.a"], verb)

        assert at(left) == "before p.l.b"
        assert run.session.stops == [right, left]
        await run.session.continue_all()
        assert (await run.end()).status is Status.PASSED


async def test_stepping_out_of_a_branch_waits_for_the_branch_that_stays_stopped() -> None:
    async with debugging(TWO, {}, breaking("a", "c")) as run:
        stops = await run.stops(2)
        await run.session.step_out(stops["before p.l.a"])
        await run.session.continue_(stops["before p.r.c"])
        stop = await run.stop()

        assert (at(stop), stop.frame) == ("before z", "main")
        assert run.ran == ["p", "p.l", "p.r", "p.l.a", "p.l.b", "p.r.c", "p.r.d"]


async def test_two_steps_on_their_way_each_come_to_rest() -> None:
    async with debugging(TWO, {}, breaking("a", "c")) as run:
        stops = await run.stops(2)
        await run.session.step_over(stops["before p.l.a"])
        await run.session.step_over(stops["before p.r.c"])

        assert list(await run.stops(2)) == ["before p.l.b", "before p.r.d"]


async def test_two_steps_over_the_ends_of_branches_rest_in_one_stop() -> None:
    async with debugging(TWO, {}, breaking("b", "d")) as run:
        stops = await run.stops(2)
        await run.session.step_over(stops["before p.l.b"])
        await run.session.step_over(stops["before p.r.d"])
        stop = await run.stop()

        assert at(stop) == "before z"
        await run.session.continue_(stop)
        await run.end()


async def test_two_frames_can_step_back_at_once() -> None:
    async with debugging(TWO, {}, breaking("a", "c")) as run:
        stops = await run.stops(2)
        left, right = await run.over(stops["before p.l.a"]), await run.over(stops["before p.r.c"])
        await run.session.step_back(left)
        await run.session.step_back(right)

        assert list(await run.stops(2)) == ["before p.l.a", "before p.r.c"]


async def test_stepping_back_in_one_frame_leaves_the_other_stopped() -> None:
    async with debugging(TWO, {}, breaking("a", "c")) as run:
        stops = await run.stops(2)
        left = await run.back(await run.over(stops["before p.l.a"]))

        assert at(left) == "before p.l.a"
        assert not stops["before p.r.c"].is_over


async def test_stepping_back_in_one_frame_does_not_forget_the_stops_of_another() -> None:
    async with debugging(TWO, {}, breaking("a", "c")) as run:
        stops = await run.stops(2)
        right = await run.over(stops["before p.r.c"])
        left = await run.back(await run.over(stops["before p.l.a"]))
        assert at(left) == "before p.l.a"

        assert at(await run.back(right)) == "before p.r.c"


@pytest.mark.parametrize("is_first", [True, False])
async def test_running_to_a_step_that_several_frames_come_to_stops_once(is_first: bool) -> None:
    async with debugging(SIDE_BY_SIDE, {}, both_at("x")) as run:
        one, other = (await run.stops(2)).values()
        if is_first:
            await run.session.run_to(one, "y")
        await run.session.continue_(other)
        if not is_first:
            await run.session.run_to(one, "y")

        assert len(await run.trail("continue_")) == 1


def both_at(step: str) -> Session:
    session = Session(stop_on_error=False)
    session.add_breakpoint(step)
    return session


async def test_a_breakpoint_in_another_frame_does_not_end_a_step() -> None:
    async with debugging(TWO, {}, breaking("a", "d")) as run:
        stops = await run.stops(2)
        await run.session.step_out(stops["before p.l.a"])
        await run.session.continue_(stops["before p.r.d"])

        assert at(await run.stop()) == "before z"


# --- Graphs ----------------------------------------------------------------------------------------------------------

CHAIN = graph("a > b > z").compile()
DIAMOND = graph("a > x + r > z").compile()
LONG_ARMS = graph("a > x > y > z; a > r > z").compile()
LOOP = graph("n ; z", n=counts(), routers={"n": loop("n", 3, "z")}).compile()
INNER = graph("x > y")
OUTER = graph("a > g > z", g=INNER).compile()
INNER_FAN = graph("a > g > z", g=graph("x > l + r > y")).compile()
INNER_LOOP = graph("a > g > z", g=graph("n ; y", n=counts(), routers={"n": loop("n", 2, "y")})).compile()
IN_A_BRANCH = graph("a > g + r > z", g=INNER).compile()


GRAPH_ROWS = [
    Row("plain", CHAIN, "a", "into", "before b"),
    Row("a graph", OUTER, "g", "into", "before g.x"),
    Row("the last of a graph", OUTER, "g.y", "into", "before z"),
    Row("at the end of a branch", DIAMOND, "x", "into", "before z"),
    Row("a loop", LOOP, "n", "into into", "before n@3"),
    Row("plain", CHAIN, "a", "over", "before b"),
    Row("the last node", CHAIN, "z", "over", None),
    Row("in a branch", LONG_ARMS, "x", "over", "before y"),
    Row("at the end of a branch", LONG_ARMS, "y", "over", "before z"),
    Row("a graph", OUTER, "g", "over", "before z"),
    Row("in a graph", OUTER, "g.x", "over", "before g.y"),
    Row("the last of a graph", OUTER, "g.y", "over", "before z"),
    Row("a graph with branches", INNER_FAN, "g", "over", "before z"),
    Row("the last of a branch in a graph", INNER_FAN, "g.l", "over", "before g.y"),
    Row("the last of a graph in a branch", IN_A_BRANCH, "g.y", "over", "before z"),
    Row("a loop", LOOP, "n", "over", "before n@2"),
    Row("out of a loop", LOOP, "n", "over over over", "before z"),
    Row("plain", CHAIN, "a", "out", None),
    Row("of a branch", LONG_ARMS, "x", "out", "before z"),
    Row("of a graph", OUTER, "g.x", "out", "before z"),
    Row("of a branch in a graph", INNER_FAN, "g.l", "out", "before g.y"),
    Row("of a graph with branches to come", INNER_FAN, "g.x", "out", "before z"),
    Row("of a loop in a graph", INNER_LOOP, "g.n", "out", "before z"),
    Row("of a graph in a branch", IN_A_BRANCH, "g.x", "out", "before z"),
    Row("plain", CHAIN, "a", "to:z", "before z"),
    Row("into a graph", OUTER, "a", "to:g.y", "before g.y"),
    Row("into a branch", LONG_ARMS, "a", "to:y", "before y"),
    Row("across a join", LONG_ARMS, "x", "to:z", "before z"),
    Row("the next turn", LOOP, "n", "to:n", "before n@2"),
    Row("plain", CHAIN, "a", "over back", "before a"),
    Row("in a branch", LONG_ARMS, "x", "over back", "before x"),
    Row("in a graph", OUTER, "g.x", "over back", "before g.x"),
    Row("into a graph that has ended", OUTER, "g.y", "over back", "before g.y"),
    Row("a loop", LOOP, "n", "over over back", "before n@2"),
    Row("a loop, to its beginning", LOOP, "n", "over over back back", "before n"),
]


@pytest.mark.parametrize("row", GRAPH_ROWS, ids=named)
def test_a_step_command_in_a_graph_rests_where_the_table_says(row: Row) -> None:
    virtual_time(check)(row)


@pytest.mark.parametrize("verb", ["into", "over"])
async def test_what_follows_a_node_before_a_fan_out_is_every_branch(verb: str) -> None:
    async with debugging(LONG_ARMS, {}, breaking("a")) as run:
        await command(run, await run.stop(), verb)

        assert list(await run.stops(2)) == ["before r", "before x"]


async def test_a_fan_out_in_a_loop_is_stepped_through_turn_by_turn() -> None:
    app = graph(
        "a > l + r > j ; z",
        a=counts(),
        routers={"j": (lambda state: "a" if state["n"] < 2 else END, ["a", "END"])},
        reducers={"l": lambda old, new: new},
    )
    app.nodes.pop("z")
    app.edges.pop("z")
    async with debugging(app, {}, Session(stop_at_entry=True)) as run:
        assert sorted(await run.trail("step_over")) == [
            "before a",
            "before a@2",
            "before j",
            "before j@2",
            "before l",
            "before l@2",
            "before r",
            "before r@2",
        ]


async def test_stepping_into_everything_sees_every_node_once() -> None:
    async with debugging(INNER_FAN, {}, Session(stop_at_entry=True)) as run:
        trail = await run.trail("step_into")

    assert sorted(trail) == ["before a", "before g", "before g.l", "before g.r", "before g.x", "before g.y", "before z"]


async def test_a_step_without_edits_changes_nothing_of_the_outcome() -> None:
    async def left(state: State) -> State:
        return {"sum": 1}

    app = graph("a > l + r > z", l=left, r=left, reducers={"sum": operator.add}).compile()
    plain = await app.invoke({"sum": 0})
    async with debugging(app, {"sum": 0}, Session(stop_at_entry=True)) as run:
        await run.trail("step_over")
        stepped = await run.end()

    assert stepped.state == plain.state == {"sum": 2, "a": "done", "z": "done"}
    assert stepped.intervened == ()


def breaking(*steps: str) -> Session:
    session = Session(stop_on_error=False)
    for step in steps:
        session.add_breakpoint(step, once=True)
    return session


# --- The rules alone -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("address", "boundary", "expected"),
    [
        ("a", "a", True),
        ("a.b", "a", True),
        ("a#2", "a", True),
        ("a#2.b", "a", True),
        ("a[0].b", "a", True),
        ("a.b[1]#3", "a.b", True),
        ("ab", "a", False),
        ("a@2", "a", False),
        ("a+1", "a", False),
        ("b", "a", False),
        ("a", "a.b", False),
        ("a[1].b", "a[0].b", False),
        ("a[10]", "a[1]", False),
        ("anything", "", True),
        ("anything", None, False),
    ],
)
def test_what_is_under_a_step(address: str, boundary: str | None, expected: bool) -> None:
    assert is_under(address, boundary) is expected


INTO, OVER, OUT = (goal_of(verb, "main", "s.x", "s") for verb in ("into", "over", "out"))
TO = goal_of("to", "main", "s.x", "s", ("z",))
TOP_OUT = goal_of("out", "main", "x", None)


@pytest.mark.parametrize(
    ("goal", "frame", "address", "path", "expected"),
    [
        (INTO, "main", "s.x.y", "s.x.y", True),
        (INTO, "main", "s.y", "s.y", True),
        (INTO, "s.x.l", "s.x.l", "s.x.l", False),
        (Goal("into", "s.x.l", None, None, is_arm=True), "s.x.l", "s.x.l", "s.x.l", True),
        (INTO, "other", "q", "q", False),
        (OVER, "main", "s.x.y", "s.x.y", False),
        (OVER, "main", "s.x#2", "s.x", False),
        (OVER, "main", "s.y", "s.y", True),
        (OVER, "s.x.l", "s.x.l", "s.x.l", False),
        (OUT, "main", "s.y", "s.y", False),
        (OUT, "main", "s#2.x", "s.x", False),
        (OUT, "main", "t", "t", True),
        (TOP_OUT, "main", "y", "y", False),
        (TO, "main", "y", "y", False),
        (TO, "main", "z", "z", True),
        (TO, "anywhere", "z[3]", "z", True),
    ],
)
def test_where_a_command_rests(goal: Goal, frame: str, address: str, path: str, expected: bool) -> None:
    assert rests_at(goal, frame, address, (path,)) is expected


@pytest.mark.parametrize(
    ("goal", "lineage", "address", "expected"),
    [
        (OVER, ["main"], "anything", True),
        (OVER, ["s.x.l", "main"], "s.x.l", True),
        (OVER, ["q", "main"], "q", False),
        (OUT, ["s.y.l", "main"], "s.y.l", True),
        (TO, ["q", "main"], "q", True),
        (TO, ["other"], "q", False),
    ],
)
def test_which_stops_end_a_command(goal: Goal, lineage: list[str], address: str, expected: bool) -> None:
    assert is_ended_by(goal, lineage[0], lineage, address, ("elsewhere",)) is expected


def test_a_command_outlives_its_frame_in_the_parent() -> None:
    assert after_frame(OVER, "other", "main") is OVER
    assert after_frame(OVER, "main", None) is None
    assert after_frame(goal_of("over", "p.l", "p.l.x", "p.l"), "p.l", "main") == Goal("over", "main", None, None)
    assert after_frame(goal_of("to", "p.l", "p.l.x", "p.l", ("z",)), "p.l", "main") == Goal(
        "to", "main", "", None, ("z",)
    )
    assert after_frame(Goal("into", "p.l", None, None, is_arm=True), "p.l", "main") is None


@pytest.mark.parametrize(
    ("goal", "opener", "expected"),
    [
        (INTO, "s.x", ["main", "l", "r"]),
        (OVER, "s.x", ["main"]),
        (OVER, "t", ["l", "r"]),
        (OUT, "s.y", ["main"]),
        (TO, "s.x", ["main"]),
        (goal_of("over", "elsewhere", "s.x", "s"), "s.x", ["elsewhere"]),
    ],
)
def test_where_a_command_goes_at_a_fork(goal: Goal, opener: str, expected: list[str]) -> None:
    assert [each.frame for each in at_fork(goal, "main", opener, ["l", "r"])] == expected


@pytest.mark.parametrize(
    ("verb", "expected"),
    [
        ("into", Goal("into", "f", "s.x", None)),
        ("over", Goal("over", "f", "s.x", "s.x")),
        ("out", Goal("out", "f", "s", "s")),
        ("to", Goal("to", "f", "", None, ("z",))),
    ],
)
def test_the_goal_of_a_command(verb: StepVerb, expected: Goal) -> None:
    assert goal_of(verb, "f", "s.x", "s", ("z",) if verb == "to" else ()) == expected
