"""Breakpoints: where, when and how often they stop, and what they do when they cannot tell."""

import asyncio
import inspect
from typing import Any

import pytest

from pitstop.debugger.breakpoints import Breakpoint
from pitstop.debugger.session import Session
from pitstop.engine.verdict import Position
from pitstop.errors import BadBreakpoint, NotAllowed, UnknownBreakpoint, UnknownOccurrence, UnknownStep
from pitstop.events.outcome import Status
from pitstop.events.types import BreakpointHit, BreakpointRemoved, Logged
from pitstop.events.view import fold
from pitstop.plan.plan import Plan, Source, Step
from tests.debugger.bench import State, at, counts, debugging, graph, loop, raises
from tests.engine.flows import (
    call,
    fails,
    flaky,
    flow,
    give,
    leaf,
    matrix,
    parallel,
    passes,
    repeat,
    retry,
    sequence,
    takes,
)

NESTED = flow(leaf("a"), sequence("s", leaf("x"), leaf("y")), leaf("z"))
LOOP = graph("n ; z", n=counts(), routers={"n": loop("n", 6, "z")}).compile()


def session_with(*args: Any, stop_on_error: bool = False, **parts: Any) -> Session:
    session = Session(stop_on_error=stop_on_error)
    session.add_breakpoint(*args, **parts)
    return session


async def trail(what: Any, session: Session, **values: Any) -> list[str]:
    """Every place the run stops at, going on each time."""
    async with debugging(what, values, session) as run:
        found = await run.trail("continue_")
        await run.end()
        return found


# --- Where: one occurrence -------------------------------------------------------------------------------------------

TURNS = flow(
    matrix("m", {"os": ["a", "b", "c"]}, leaf("x")),
    repeat("r", leaf("y"), config={"times": 2}),
    leaf("z", flaky(1), retry=retry(2)),
)


@pytest.mark.parametrize(
    ("step", "stops"),
    [
        ("m[1].x", ["before m[1].x"]),
        ("r[0].y#1", ["before r[0].y"]),
        ("z#2", ["before z#2"]),
        ("z#1", ["before z"]),
        ("z", ["before z", "before z#2"]),
        ("z#3", []),
    ],
)
async def test_a_breakpoint_at_an_occurrence_stops_at_no_other(step: str, stops: list[str]) -> None:
    assert await trail(TURNS, session_with(step)) == stops


async def test_a_breakpoint_at_a_visit_of_a_node_stops_at_no_other() -> None:
    assert await trail(LOOP, session_with("n@3"), n=0) == ["before n@3"]


WRONG_ADDRESSES = [
    ("m[3].x", UnknownOccurrence, r"it has 3 iterations: m\[0\] to m\[2\]"),
    ("m.x#2", UnknownOccurrence, r"several times; it has 3 iterations: m\[0\]"),
    ("m[1]", UnknownOccurrence, r"names an iteration, not a step; steps in it: m\[1\]\.x"),
    ("z[0].a", UnknownOccurrence, "z is not a matrix or a repeat"),
    ("r[0].y[1].q", UnknownOccurrence, "r.y is not a matrix or a repeat"),
    ("z@2", UnknownOccurrence, "no visits"),
    ("z#0", UnknownOccurrence, "count from 1"),
    ("z#x", UnknownOccurrence, "has a form like"),
    ("m[1].nope", UnknownStep, "m.nope"),
]


@pytest.mark.parametrize(("step", "error", "message"), WRONG_ADDRESSES)
async def test_an_address_that_no_occurrence_can_have_is_refused(
    step: str, error: type[Exception], message: str
) -> None:
    async with debugging(TURNS, {}, session_with("m[0].x")) as run:
        stop = await run.stop()
        known = run.session.breakpoints
        with pytest.raises(error, match=message):
            run.session.add_breakpoint(step)
        with pytest.raises(error, match=message):
            await run.session.run_to(stop, step)
        with pytest.raises(error, match=message):
            run.session.change_breakpoint(known[0], step=step)

        assert run.session.breakpoints == known
        await run.session.continue_(stop)
        await run.end()


async def test_one_runs_to_an_occurrence_and_goes_to_one_of_the_same_turn() -> None:
    plan = flow(repeat("r", leaf("x"), leaf("y"), config={"times": 3}))
    async with debugging(plan, {}, session_with("r[0].x")) as run:
        stop = await run.to(await run.stop(), "r[1].y")
        assert at(stop) == "before r[1].y"
        with pytest.raises(NotAllowed, match=r"another iteration or attempt; use r\[1\]\.x"):
            await run.session.goto(stop, "r[0].x")
        await run.session.goto(stop, "r[1].x")
        assert at(await run.stop()) == "before r[1].x"
        await run.session.continue_all()
        await run.end()


# --- Where -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("place", "stops"),
    [
        ({}, ["before a", "before s", "before s.x", "before s.y", "before z"]),
        ({"step": "s.x"}, ["before s.x"]),
        ({"step": "x"}, ["before s.x"]),
        ({"kind": "sequence"}, ["before s"]),
        ({"kind": "do"}, ["before a", "before s.x", "before s.y", "before z"]),
        ({"kind": "no-such-kind"}, []),
        ({"step": "nowhere"}, []),
    ],
    ids=str,
)
async def test_a_breakpoint_stops_at_its_place(place: dict[str, Any], stops: list[str]) -> None:
    assert await trail(NESTED, session_with(**place)) == stops


@pytest.mark.parametrize(
    ("line", "stops"), [(3, ["before s"]), (4, ["before s.x"]), (5, ["before s.x"]), (6, ["before s.y"]), (9, [])]
)
async def test_a_breakpoint_at_a_line_stops_at_the_innermost_step_there(line: int, stops: list[str]) -> None:
    def written(step: Step, first: int, last: int) -> Step:
        return Step(
            step.path, step.kind, step.config, step.children, id=step.id, source=Source("ci.yaml", first, 1, last)
        )

    steps = (written(Step("s.x", "do", {"do": passes()}), 4, 5), written(Step("s.y", "do", {"do": passes()}), 6, 6))
    plan = Plan(Step("", "sequence", {}, (written(Step("s", "sequence", {}, steps), 3, 6),)), "ci")

    assert await trail(plan, session_with(file="ci.yaml", line=line)) == stops
    assert await trail(plan, session_with(file="other.yaml", line=line)) == []


def analyze(state: State) -> State:
    found = len(state["text"])
    return {"found": found}


async def test_a_breakpoint_at_a_line_of_python_stops_at_its_node() -> None:
    _, first = inspect.getsourcelines(analyze)
    session = session_with(file=__file__, line=first + 1)
    async with debugging(graph("a > b", b=analyze), {"text": "x"}, session) as run:
        stop = await run.stop()

        assert at(stop) == "before b"
        assert stop.source is not None
        assert (stop.source.file, stop.source.line) == (__file__, first)


async def test_an_id_that_two_sub_flows_share_stops_in_both() -> None:
    plan = flow(call("c", leaf("x")), call("d", leaf("x")))

    assert await trail(plan, session_with("x")) == ["before c.x", "before d.x"]
    assert await trail(plan, session_with("d.x")) == ["before d.x"]


async def test_a_step_is_named_by_its_path_whatever_turn_it_is_in() -> None:
    plan = flow(repeat("r", leaf("x"), config={"times": 3}))

    assert await trail(plan, session_with("r.x")) == ["before r[0].x", "before r[1].x", "before r[2].x"]


async def test_every_combination_and_branch_stops() -> None:
    plan = flow(matrix("m", {"n": [1, 2]}, leaf("x"), config={"parallel": True}))
    async with debugging(plan, {}, session_with("x")) as run:
        assert list(await run.stops(2)) == ["before m[0].x", "before m[1].x"]


async def test_a_breakpoint_for_a_step_that_is_not_there_is_kept_until_it_is() -> None:
    session = session_with("later")
    (kept,) = session.breakpoints
    assert not kept.is_found

    async with debugging(graph("a > later"), {}, session) as run:
        assert at(await run.stop()) == "before later"
        assert kept.is_found


# --- Position --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("position", "stops"),
    [("before", ["before a", "before b"]), ("after", ["after a", "error b"]), ("error", ["error b"])],
)
async def test_a_breakpoint_stops_before_after_or_at_the_error(position: Position, stops: list[str]) -> None:
    plan = flow(leaf("a"), leaf("b", fails(), continue_on_error=True))

    assert await trail(plan, session_with(kind="do", position=position)) == stops


async def test_after_a_step_its_outcome_is_known_and_seen() -> None:
    async with debugging(graph("a > b", a=lambda state: {"n": 7}), {"n": 1}, session_with("a", "after")) as run:
        stop = await run.stop()

        assert stop.outcome is not None
        assert (stop.outcome.status, stop.outcome.outputs, stop.scope["n"]) == (Status.PASSED, {"n": 7}, 7)


async def test_before_a_step_nothing_of_it_has_happened() -> None:
    async with debugging(graph("a > b", a=lambda state: {"n": 7}), {"n": 1}, session_with("a")) as run:
        stop = await run.stop()

        assert (stop.outcome, stop.scope["n"], run.ran) == (None, 1, [])


async def test_each_attempt_is_a_stop_of_its_own() -> None:
    plan = flow(leaf("a", flaky(2), retry=retry(2)))

    assert await trail(plan, session_with("a")) == ["before a", "before a#2", "before a#3"]
    assert await trail(plan, session_with("a", "error")) == ["error a", "error a#2"]


async def test_a_breakpoint_in_cleanup_stops_there() -> None:
    async with debugging(flow(leaf("a"), cleanup=[leaf("k")]), {}, session_with("k")) as run:
        stop = await run.stop()

        assert (at(stop), stop.is_cleanup) == ("before k", True)


# --- Conditions ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("condition", "is_true"),
    [
        (".n > 5", True),
        (".n > 50", False),
        (".missing", False),
        (".zero", True),
        (".empty", True),
        (".nothing", False),
        (".no", False),
        ('.word == "yes" and .n == 6', True),
        ("${{ .n == 6 }}", True),
        ("[.list[] | select(. > 2)] | length == 1", True),
    ],
)
async def test_only_false_and_null_are_false(condition: str, is_true: bool) -> None:
    values = {"n": 6, "zero": 0, "empty": "", "nothing": None, "no": False, "word": "yes", "list": [1, 2, 3]}

    assert await trail(graph("a"), session_with("a", condition=condition), **values) == ["before a"] * is_true


@pytest.mark.parametrize(("answer", "is_true"), [(True, True), (0, True), ("", True), (None, False), (False, False)])
async def test_a_condition_can_be_a_function_of_the_scope(answer: object, is_true: bool) -> None:
    session = session_with("a", condition=lambda scope: answer if scope["n"] == 1 else "wrong scope")

    assert await trail(graph("a"), session, n=1) == ["before a"] * is_true


@pytest.mark.parametrize(
    ("condition", "why"),
    [
        (".n >", "syntax"),
        (".n | error", "1"),
        ('.n + {"a": 1}', "cannot be added"),
        ("empty", "no values"),
        (".n, .n", "2 values"),
        ("[limit(infinite; repeat(1))] | length", "0.1 s"),
        (lambda scope: scope["missing"], "KeyError"),
        ("${{ .n }} is it", "text outside"),
    ],
    ids=["syntax error", "error", "wrong types", "no value", "two values", "endless", "raises", "half a template"],
)
async def test_a_condition_that_cannot_be_told_stops_and_says_why(condition: Any, why: str) -> None:
    async with debugging(graph("a > b"), {"n": 1}, session_with("a", condition=condition)) as run:
        stop = await run.stop()

        assert (at(stop), stop.reasons) == ("before a", ("breakpoint",))
        (problem,) = stop.problems
        assert why in problem
        await run.session.continue_(stop)
        assert (await run.end()).status is Status.PASSED


async def test_a_bad_condition_holds_nobody_up_but_its_own_frame() -> None:
    """An endless jq in one branch; the other runs on meanwhile, and the run ends as ever."""
    session = session_with("x", condition="[limit(infinite; repeat(1))] | length")
    plan = flow(parallel("p", leaf("x"), leaf("y")))
    async with debugging(plan, {}, session) as run:
        stop = await run.stop()

        assert run.ran == ["p", "p.y"]
        await run.session.continue_(stop)
        assert (await run.end()).status is Status.PASSED


# --- Hits ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("hits", "turns"),
    [
        (None, [1, 2, 3, 4, 5, 6]),
        (">= 5", [5, 6]),
        ("> 5", [6]),
        ("== 3", [3]),
        ("3", [3]),
        ("<= 2", [1, 2]),
        ("<3", [1, 2]),
        ("% 2", [2, 4, 6]),
        (" %  4 ", [4]),
        ("== 99", []),
    ],
)
async def test_hits_say_which_times_to_stop(hits: str | None, turns: list[int]) -> None:
    session = session_with("n", hits=hits)

    assert await trail(LOOP, session) == ["before n" if turn == 1 else f"before n@{turn}" for turn in turns]
    assert session.breakpoints[0].hit_count == 6


async def test_a_hit_is_counted_where_place_position_and_condition_match() -> None:
    session = session_with("n", condition=".n >= 2", hits="== 2")

    assert await trail(LOOP, session, n=0) == ["before n@4"]
    assert session.breakpoints[0].hit_count == 4


async def test_every_breakpoint_that_matches_is_counted_and_named() -> None:
    session = Session(stop_on_error=False)
    first, second = session.add_breakpoint("n", hits=">= 2"), session.add_breakpoint("n", condition=".n > 0")
    third, other = session.add_breakpoint(kind="node", hits="== 2"), session.add_breakpoint("z")
    async with debugging(LOOP, {"n": 0}, session) as run:
        stop = await run.stop()

        assert (at(stop), stop.breakpoints) == ("before n@2", (first.id, second.id, third.id))
        assert [each.hit_count for each in (first, second, third, other)] == [2, 1, 2, 0]
        assert [hit.breakpoint for hit in run.told(BreakpointHit)] == [first.id, third.id, *stop.breakpoints]


# --- Log points, once, enabled, groups -------------------------------------------------------------------------------


async def test_a_log_point_writes_and_never_pauses() -> None:
    session = session_with("n", log="turn ${{ .n }} of ${{ .n + 10 }}", hits="<= 2")
    async with debugging(LOOP, {"n": 0}, session) as run:
        await run.end()

        assert [event.message for event in run.told(Logged)] == ["turn 0 of 10", "turn 1 of 11"]
        assert [event.occurrence for event in run.told(Logged)] == ["n", "n@2"]


async def test_a_log_point_whose_text_cannot_be_made_says_so_and_does_not_pause() -> None:
    async with debugging(graph("a"), {"n": 1}, session_with("a", log="it is ${{ .n | error }}")) as run:
        await run.end()

        (logged,) = run.told(Logged)
        assert "error" in logged.message


async def test_a_log_point_beside_a_breakpoint_leaves_the_stop_to_it() -> None:
    session = session_with("a", log="here")
    plain = session.add_breakpoint("a")
    async with debugging(graph("a"), {}, session) as run:
        stop = await run.stop()

        assert stop.breakpoints == (plain.id,)
        assert [event.message for event in run.told(Logged)] == ["here"]


async def test_a_breakpoint_for_once_is_gone_after_its_stop() -> None:
    session = session_with("n", once=True, hits=">= 2")

    assert await trail(LOOP, session) == ["before n@2"]
    assert session.breakpoints == []


@pytest.mark.parametrize("condition", [".yes", ".yes == true"], ids=["a plain path", "real jq"])
async def test_a_breakpoint_for_once_stops_one_of_two_branches_that_come_to_it_together(condition: str) -> None:
    session = session_with("x", once=True, condition=condition)
    plan = flow(matrix("m", {"n": [1, 2]}, leaf("x"), config={"parallel": True}))
    async with debugging(plan, {"yes": True}, session) as run:
        stop = await run.stop()
        await run.session.continue_(stop)

        assert (await run.end()).status is Status.PASSED
        assert [event.breakpoint for event in run.told(BreakpointRemoved)] == [1]


async def test_a_breakpoint_that_is_removed_while_its_condition_is_worked_out_does_not_stop() -> None:
    session = session_with("b", condition='[limit(100000; repeat("x"))] | length == 100000')

    async def remove(state: State) -> None:
        for _ in range(5):
            await asyncio.sleep(0)
        session.remove_breakpoint(1)

    async with debugging(graph("a > b + c > d", c=remove), {}, session) as run:
        assert (await run.end()).status is Status.PASSED
        assert fold(run.log.read()).breakpoints == {}


async def test_a_breakpoint_can_be_switched_off_and_on() -> None:
    session = session_with("n", enabled=False)
    assert await trail(LOOP, session) == []

    session = session_with("n")
    async with debugging(LOOP, {}, session) as run:
        stop = await run.stop()
        session.enable_breakpoint(1, False)
        await session.continue_(stop)
        await run.end()


async def test_the_log_tells_every_breakpoint_as_it_is() -> None:
    session = Session()
    session.add_breakpoint("n", condition=lambda scope: True, group="mine")
    session.add_breakpoint("z", enabled=False)
    async with debugging(LOOP, {}, session) as run:
        stop = await run.stop()
        session.enable_breakpoint(3)
        session.remove_breakpoint(1)

        told = fold(run.log.read()).breakpoints
        assert {number: (each["enabled"], each["hit_count"]) for number, each in told.items()} == {
            2: (True, 1),
            3: (True, 0),
        }
        await session.detach()
        await run.end()
        assert stop.breakpoints == (2,)


async def test_a_group_is_switched_together() -> None:
    session = session_with("a", group="early")
    session.add_breakpoint("b", group="early")
    session.add_breakpoint("c", group="late")
    session.enable_group("early", False)
    assert await trail(graph("a > b > c"), session) == ["before c"]

    with pytest.raises(BadBreakpoint, match="there is no breakpoint group"):
        session.enable_group("no such group")


async def test_a_breakpoint_that_is_removed_does_not_stop() -> None:
    session = session_with("a")
    kept = session.add_breakpoint("b")
    session.remove_breakpoint(1)

    assert [each.id for each in session.breakpoints] == [kept.id]
    assert await trail(graph("a > b"), session) == ["before b"]
    with pytest.raises(UnknownBreakpoint):
        session.remove_breakpoint(1)


# --- Breakpoints and the run meanwhile -------------------------------------------------------------------------------


@pytest.mark.parametrize("position", ["after", "error"])
async def test_a_breakpoint_added_while_a_node_runs_stops_after_it(position: Position) -> None:
    session = Session(stop_on_error=False)

    async def a(state: State) -> None:
        session.add_breakpoint("a", position)
        if position == "error":
            raise ValueError("no")

    assert await trail(graph("a > b", a=a), session) == [f"{position} a"]


async def test_a_breakpoint_added_at_a_stop_is_hit_later() -> None:
    async with debugging(graph("a > b > c"), {}, session_with("a")) as run:
        stop = await run.stop()
        run.session.add_breakpoint("c")

        assert at(await run.on(stop)) == "before c"


async def test_a_breakpoint_added_at_its_own_step_is_not_hit_by_going_on() -> None:
    async with debugging(graph("a > b"), {}, session_with("a")) as run:
        stop = await run.stop()
        run.session.add_breakpoint("a")
        await run.session.continue_(stop)
        await run.end()


async def test_a_step_that_its_if_skips_is_no_stop_unless_it_is_named() -> None:
    plan = flow(leaf("a"), leaf("b", condition=".no"), leaf("z"))

    assert await trail(plan, session_with()) == ["before a", "before z"]
    assert await trail(plan, session_with(position="after")) == ["after a", "after z"]
    async with debugging(plan, {}, session_with("b")) as run:
        stop = await run.stop()
        assert (at(stop), stop.will_run) == ("before b", False)
        await run.session.continue_(stop)
        result = await run.end()
    assert result.steps["b"].status is Status.SKIPPED


async def test_a_pause_passes_by_a_step_that_its_if_skips() -> None:
    session = session_with("a", "after")
    async with debugging(flow(leaf("a"), leaf("b", condition=".no"), leaf("z")), {}, session) as run:
        stop = await run.stop()
        await session.continue_(stop)
        await session.pause()

        assert at(await run.stop()) == "before z"


# --- State -----------------------------------------------------------------------------------------------------------

SETS: dict[str, Any] = {
    "a": lambda state: {"n": 1, "deep": {"er": [1, 2]}},
    "b": lambda state: {"n": 1},
    "c": lambda state: {"n": 3, "deep": {"er": [1, 9]}},
    "d": lambda state: {"other": 1},
}


@pytest.mark.parametrize(
    ("watch", "stops"),
    [
        ({"state": ".n"}, ["after a", "after c"]),
        ({"state": ".deep.er[1]"}, ["after a", "after c"]),
        ({"state": "[.n, .other] | max"}, ["after a", "after c"]),
        ({"state": ".n", "equals": 3}, ["after c"]),
        ({"state": ".n", "equals": 1}, ["after a"]),
        ({"state": ".n", "equals": 0}, ["before a"]),
        ({"state": ".n", "equals": None}, []),
        ({"state": ".missing"}, []),
        ({"state": ".n", "step": "c"}, ["after c"]),
        ({"state": ".n", "hits": "== 2"}, ["after c"]),
        ({"state": ".n", "condition": ".n < 3"}, ["after a"]),
        ({"state": ".n", "once": True}, ["after a"]),
    ],
    ids=str,
)
async def test_a_state_breakpoint_stops_when_the_value_changes(watch: dict[str, Any], stops: list[str]) -> None:
    assert await trail(graph("a > b > c > d", **SETS), session_with(**watch), n=0) == stops


async def test_a_state_breakpoint_sees_what_the_step_at_a_stop_changes() -> None:
    session = session_with(state=".n")
    session.add_breakpoint("c")

    assert await trail(graph("a > b > c > d", **SETS), session, n=0) == ["after a", "before c", "after c"]


async def test_a_state_breakpoint_watches_each_branch() -> None:
    app = graph("a > l + r > z", l=lambda state: {"n": 1}, r=lambda state: {"m": 1})
    async with debugging(app, {"n": 0, "m": 0}, session_with(state=".n")) as run:
        stop = await run.stop()

        assert (at(stop), stop.frame) == ("after l", "l")


async def test_a_state_breakpoint_sees_what_a_join_brings() -> None:
    plan = flow(parallel("p", give("x", {"v": 1}), leaf("y")), leaf("z"))
    async with debugging(plan, {}, session_with(state=".steps.x.outputs.v", step="z")) as run:
        await run.end()

    session = session_with(state=".steps.x.outputs.v")
    async with debugging(plan, {}, session) as run:
        first = await run.stop()
        second = await run.on(first)

        assert (at(first), first.frame) == ("after p.x", "p.x")
        assert second.frame == "main"
        assert second.scope["steps"]["x"]["outputs"]["v"] == 1


async def test_an_edit_by_hand_is_no_change_to_a_state_breakpoint() -> None:
    session = session_with(state=".n")
    session.add_breakpoint("b")
    async with debugging(graph("a > b > c"), {"n": 0}, session) as run:
        stop = await run.stop()
        await session.set(stop, ".n", 5)
        await session.continue_(stop)
        await run.end()


async def test_a_state_breakpoint_stops_again_only_when_the_value_becomes_equal_again() -> None:
    app = graph("a > b > c > d", a=lambda s: {"n": 1}, b=lambda s: {"m": 1}, c=lambda s: {"n": 0}, d=lambda s: {"n": 1})

    assert await trail(app, session_with(state=".n", equals=1), n=0) == ["after a", "after d"]


# --- Errors ----------------------------------------------------------------------------------------------------------


async def test_any_failure_stops_unless_the_session_says_no() -> None:
    app = graph("a > b", b=raises("broken"))

    assert await trail(app, Session(stop_on_error=False)) == []
    async with debugging(app, {}, Session()) as run:
        stop = await run.stop()

        assert (at(stop), stop.reasons) == ("error b", ("failure",))
        assert stop.outcome is not None
        assert str(stop.outcome.error) == "ValueError: broken"


async def test_the_error_breakpoint_is_one_of_the_group_default() -> None:
    session = Session()
    session.enable_group("default", False)

    assert await trail(graph("a", a=raises()), session) == []


async def test_a_timeout_is_a_failure_to_stop_at() -> None:
    plan = flow(leaf("a", takes(60), timeout_seconds=0.01))

    async with debugging(plan, {}, Session()) as run:
        stop = await run.stop()
        assert at(stop) == "error a"
        assert stop.outcome is not None
        assert stop.outcome.status is Status.TIMED_OUT


@pytest.mark.parametrize(
    "plan",
    [
        flow(sequence("s", sequence("t", leaf("x", fails()))), leaf("z")),
        flow(parallel("s", sequence("t", leaf("x", fails())), leaf("y"))),
        flow(call("s", call("t", leaf("x", fails())))),
        flow(repeat("s", sequence("t", leaf("x", fails())), config={"times": 3})),
    ],
    ids=["sequence", "parallel", "call", "repeat"],
)
async def test_a_failure_that_passes_through_the_steps_around_it_stops_once(plan: Plan) -> None:
    (place,) = await trail(plan, Session())

    assert place.endswith("t.x")


async def test_a_failure_in_a_graph_in_a_graph_stops_once() -> None:
    inner = graph("x > y", y=raises())

    assert await trail(graph("a > g", g=graph("h", h=inner)), Session()) == ["error g.h.y"]


async def test_a_step_around_a_failure_stops_when_it_is_named() -> None:
    plan = flow(sequence("s", leaf("x", fails())))

    assert await trail(plan, session_with("s", "error", stop_on_error=True)) == ["error s.x", "error s"]


async def test_a_failure_of_the_join_is_one_to_stop_at() -> None:
    inner = graph("a > l + r > z", l=lambda state: {"n": 1}, r=lambda state: {"n": 2})

    assert await trail(graph("g", g=inner), Session()) == ["error g"]


@pytest.mark.parametrize("is_nested", [False, True])
async def test_a_router_that_raises_is_a_failure_to_stop_at(is_nested: bool) -> None:
    def choose(state: State) -> str:
        raise ValueError("which way?")

    app = graph("a ; b", routers={"a": (choose, ["b"])})
    async with debugging(graph("g", g=app) if is_nested else app, {}, Session()) as run:
        stop = await run.stop()

        assert stop.reasons == ("failure",)
        assert stop.outcome is not None
        assert str(stop.outcome.error) == "ValueError: which way?"


# --- What is refused -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("parts", "why"),
    [
        ({"step": "a", "kind": "do"}, "exactly one location"),
        ({"position": "sideways"}, "sideways"),
        ({"line": 3}, "needs a file"),
        ({"hits": "sometimes"}, "invalid hit count"),
        ({"hits": "-1"}, "invalid hit count"),
        ({"log": "${{ .n"}, "invalid log message"),
        ({"equals": 1}, "equals needs state"),
    ],
    ids=lambda value: str(value),
)
def test_what_makes_no_breakpoint_is_refused_and_not_kept(parts: dict[str, Any], why: str) -> None:
    session = Session(stop_on_error=False)

    with pytest.raises(BadBreakpoint, match=why):
        session.add_breakpoint(**parts)
    assert session.breakpoints == []


def test_a_breakpoint_keeps_its_shape_as_json() -> None:
    shape = Breakpoint(
        3, step="a", position="after", condition=".n > 1", hits="% 2", once=True, group="g", state=".n", equals=None
    )

    again = Breakpoint.from_dict(shape.as_dict())

    assert again == shape


# --- Changing one ----------------------------------------------------------------------------------------------------


async def test_a_breakpoint_can_be_changed_under_its_number_and_its_hits_are_counted_on() -> None:
    session = session_with("n", hits=">= 2")
    async with debugging(LOOP, {}, session) as run:
        stop = await run.stop()
        assert at(stop) == "before n@2"
        changed = session.change_breakpoint(1, step="n", hits="== 4")
        assert (changed.id, changed.hit_count, changed.hits) == (1, 2, "== 4")
        assert session.breakpoints == [changed]
        assert fold(run.log.read()).breakpoints[1]["hits"] == "== 4"
        assert fold(run.log.read()).breakpoints[1]["hit_count"] == 2
        assert at(await run.on(stop)) == "before n@4"


async def test_a_change_that_makes_no_breakpoint_changes_nothing() -> None:
    session = session_with("n")
    before = session.breakpoints[0].as_dict()

    with pytest.raises(BadBreakpoint):
        session.change_breakpoint(1, step="n", hits="sometimes")
    with pytest.raises(BadBreakpoint):
        session.change_breakpoint(1, colour="red")
    with pytest.raises(UnknownBreakpoint):
        session.change_breakpoint(7, step="n")

    assert [each.as_dict() for each in session.breakpoints] == [before]


# --- Notes, muting and clearing --------------------------------------------------------------------------------------


async def test_a_stop_has_the_notes_of_its_breakpoints() -> None:
    session = session_with("a", note="look here")
    session.add_breakpoint("a", once=True, note="only once")
    async with debugging(NESTED, {}, session) as run:
        stop = await run.stop()
        assert stop.notes == ("look here", "only once")
        assert fold(run.session.log.read()).breakpoints[1]["note"] == "look here"
        await run.session.continue_(stop)
        await run.end()


async def test_muted_breakpoints_neither_stop_nor_log_until_they_are_unmuted() -> None:
    plan = flow(leaf("a"), leaf("b"), leaf("c", fails()), kind="sequence")
    session = session_with("b", log="here", stop_on_error=True)
    session.add_breakpoint()
    async with debugging(plan, {}, session) as run:
        stop = await run.stop()
        session.mute()
        assert (session.is_muted, fold(session.log.read()).is_muted) == (True, True)
        stop = await run.over(stop)  # stepping goes on as ever
        session.mute(False)
        stop = await run.on(stop)
        assert (at(stop), stop.reasons) == ("before c", ("breakpoint",))
        session.mute()
        await session.continue_(stop)
        assert (await run.end()).status is Status.FAILED

    assert run.told(Logged) == []
    assert [each.hit_count for each in session.breakpoints] == [0, 0, 2]


async def test_breakpoints_are_muted_before_the_run_and_all_are_cleared() -> None:
    session = session_with()
    session.mute()
    assert await trail(NESTED, session) == []
    session = session_with(stop_on_error=True)
    session.clear_breakpoints()
    assert session.breakpoints == []


async def test_two_names_of_one_step_are_hit_in_the_order_they_were_added() -> None:
    session = Session(stop_on_error=False)
    added = [session.add_breakpoint(name) for name in ("s.x", "x", "elsewhere", "s.x", "x")]

    async with debugging(NESTED, {}, session) as run:
        stop = await run.stop()
        assert stop.breakpoints == tuple(each.id for each in added if each.step != "elsewhere")
        await run.session.continue_(stop)
        await run.end()


async def test_the_log_shows_a_breakpoint_as_it_is_when_the_run_starts() -> None:
    session = session_with("s.x")
    (breakpoint,) = session.breakpoints
    breakpoint.enabled = False
    await trail(NESTED, session)

    assert [each["enabled"] for each in fold(session.log.read()).breakpoints.values()] == [False]
