"""Stops: who is told what, which commands they take, and how a run goes on, ends or waits."""

import asyncio
from typing import Any

import pytest

from pitstop.debugger.session import Session
from pitstop.engine.frame import Activation
from pitstop.errors import NotAllowed, SessionInUse, StaleStop
from pitstop.events.outcome import Status
from pitstop.events.types import (
    Aborted,
    AllContinued,
    AllStopped,
    FrameEnded,
    LeaseEnded,
    Resumed,
    StepFinished,
    StepStarted,
    StopEnded,
    Stopped,
)
from pitstop.events.view import fold
from pitstop.plan.plan import Step
from tests.debugger.bench import State, at, debugging, graph, raises, undebugged
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
    stubborn,
    takes,
    takes_then_fails,
)
from tests.engine.virtual_time import now, virtual_time

TWO = flow(parallel("p", sequence("l", leaf("a"), leaf("b")), sequence("r", leaf("c"), leaf("d"))), leaf("z"))


def breaking(*steps: str, **options: Any) -> Session:
    session = Session(**{"stop_on_error": False, **options})
    for step in steps:
        session.add_breakpoint(step)
    return session


# --- What a stop tells -----------------------------------------------------------------------------------------------


async def test_a_stop_tells_where_it_is_and_what_may_be_done() -> None:
    async with debugging(graph("a > b"), {"n": 1}, breaking("b")) as run:
        stop = await run.stop()

        assert (stop.id, stop.frame, stop.step, stop.occurrence, stop.position) == (1, "main", "b", "b", "before")
        assert (stop.reasons, stop.breakpoints, stop.problems) == (("breakpoint",), (1,), ())
        assert stop.scope.as_dict() == {"n": 1, "a": "done"}
        assert {"continue", "step_into", "step_over", "step_out", "run_to", "skip", "set", "rewind"} <= {*stop.allowed}


MOVING = {"continue", "step_into", "step_over", "step_out", "run_to"}
LOOKING = {"evaluate", "set", "unset", "undo"}


async def test_each_position_has_its_own_verbs() -> None:
    session = Session(stop_at_end=True)
    session.add_breakpoint("a")
    session.add_breakpoint("b", "after")
    async with debugging(graph("a > b > c", c=raises()), {}, session) as run:
        before = await run.stop()
        after = await run.on(before)
        error = await run.on(after)
        completed = await run.on(error)

        assert {*before.allowed} == MOVING | LOOKING | {"skip", "force", "config", "inject", "rewind", "goto"}
        assert (
            {*after.allowed}
            == {*error.allowed}
            == MOVING
            | LOOKING
            | {
                "retry",
                "force",
                "config",
                "inject",
                "rewind",
                "goto",
                "step_back",
            }
        )
        assert {*completed.allowed} == {"continue", "rewind", "evaluate", "step_back"}


async def test_a_stop_gives_every_reason_it_has_in_order() -> None:
    session = Session(stop_at_entry=True)
    first, second = session.add_breakpoint("a"), session.add_breakpoint(kind="node", once=True)
    async with debugging(graph("a > b"), {}, session) as run:
        stop = await run.stop()
        assert (stop.reasons, stop.breakpoints) == (("entry", "breakpoint"), (first.id, second.id))

        session.add_breakpoint("b")
        await session.step_over(stop)
        await session.pause()
        stop = await run.stop()
        assert (at(stop), stop.reasons) == ("after a", ("pause",))
        await session.step_over(stop)
        stop = await run.stop()
        assert (at(stop), stop.reasons) == ("before b", ("breakpoint", "step"))


async def test_a_failing_step_that_is_also_named_gives_both_reasons() -> None:
    session = Session()
    named = session.add_breakpoint("a", "after")
    async with debugging(graph("a", a=raises()), {}, session) as run:
        stop = await run.stop()

        assert (stop.reasons, stop.breakpoints) == (("breakpoint", "failure"), (named.id, 1))


async def test_ids_of_stops_increase_in_the_session() -> None:
    async with debugging(TWO, {}, breaking("a", "b", "c", "d", "z")) as run:
        ids = []
        while (stop := await run.session.next_stop()) is not None:
            ids.append(stop.id)
            await run.session.continue_(stop)

    assert ids == [1, 2, 3, 4, 5]


async def test_a_stop_is_told_before_it_is_resumed() -> None:
    async with debugging(graph("a > b"), {}, breaking("a", "b")) as run:
        await run.trail("continue_")
        told = [event for event in run.log.read() if isinstance(event, Stopped | Resumed)]

    assert [(type(event).__name__, event.stop) for event in told] == [
        ("Stopped", 1),
        ("Resumed", 1),
        ("Stopped", 2),
        ("Resumed", 2),
    ]


# --- Frames and all-stopped ------------------------------------------------------------------------------------------


async def test_frames_are_known_in_order_before_any_of_them_runs() -> None:
    async with debugging(TWO, {}, breaking("a", "c")) as run:
        await run.stop()

        assert [(frame.id, frame.name, frame.parent) for frame in run.session.frames] == [
            ("main", "flow", None),
            ("p.l", "l", "main"),
            ("p.r", "r", "main"),
        ]


async def test_a_frame_is_running_pausing_paused_or_done() -> None:
    gate = asyncio.Event()

    async def wait(activation: Activation) -> None:
        await gate.wait()

    plan = flow(parallel("p", leaf("x"), leaf("y", wait), leaf("w")), leaf("z"))
    async with debugging(plan, {}, breaking("x")) as run:
        stop = await run.stop()
        await run.event(FrameEnded)
        assert run.frame_states == {"main": "running", "p.x": "paused", "p.y": "running", "p.w": "done"}

        await run.session.pause()
        assert run.frame_states == {"main": "pausing", "p.x": "paused", "p.y": "pausing", "p.w": "done"}
        gate.set()
        await run.stop()
        assert run.frame_states["p.y"] == "paused"
        await run.session.continue_all()
        assert run.frame_states == {"main": "running", "p.x": "running", "p.y": "running", "p.w": "done"}
        await run.end()
        assert {*run.frame_states.values()} == {"done"}
        assert stop.is_over


async def test_all_stopped_is_told_when_the_last_running_frame_stops() -> None:
    async with debugging(TWO, {}, breaking("a", "d")) as run:
        await run.stops(2)

        assert [event.stops for event in run.told(AllStopped)] == [(1, 2)]


@virtual_time
async def test_all_stopped_is_told_when_the_last_running_frame_ends() -> None:
    plan = flow(parallel("p", leaf("x"), leaf("y", takes(1))), leaf("z"))
    async with debugging(plan, {}, breaking("x")) as run:
        await run.stop()
        assert run.told(AllStopped) == []

        assert (await run.event(AllStopped)).stops == (1,)


@virtual_time
async def test_all_stopped_is_told_also_where_a_part_beside_has_ended() -> None:
    plan = flow(background("g", leaf("u"), parallel("p", leaf("x", takes(1)), sequence("s", leaf("y"), leaf("w")))))
    async with debugging(plan, {}, breaking("y")) as run:
        stop = await run.stop()
        assert run.frame_states == {"main": "running", "g.u": "done", "g.p.x": "running", "g.p.s": "paused"}

        assert (await run.event(AllStopped)).stops == (stop.id,)


# --- Commands that come late or twice --------------------------------------------------------------------------------


async def test_a_double_click_steps_once() -> None:
    async with debugging(graph("a > b > c > d"), {}, breaking("a")) as run:
        stop = await run.stop()
        await run.session.step_over(stop)
        with pytest.raises(StaleStop, match="stop 1 has already ended"):
            await run.session.step_over(stop)
        stop = await run.stop()
        assert at(stop) == "before b"

        with pytest.raises(StaleStop):
            await run.session.step_over(1)
        assert run.session.stops == [stop]
        await run.session.continue_(stop)
        await run.end()


async def test_of_two_clients_that_race_one_is_refused() -> None:
    async with debugging(graph("a > b > c"), {}, breaking("a")) as run:
        stop = await run.stop()
        answers = await asyncio.gather(
            run.session.step_over(stop), run.session.continue_(stop.id), run.session.skip(stop), return_exceptions=True
        )

        assert [type(answer) for answer in answers] == [type(None), StaleStop, StaleStop]
        assert at(await run.stop()) == "before b"
        assert [event.verb for event in run.told(Resumed)] == ["step_over"]


async def test_a_stop_can_be_named_by_its_number() -> None:
    async with debugging(graph("a > b"), {}, breaking("a")) as run:
        stop = await run.stop()
        await run.session.continue_(stop.id)
        await run.end()


async def test_a_verb_that_a_stop_does_not_allow_is_refused_with_those_it_does() -> None:
    async with debugging(graph("a > b"), {}, breaking("a")) as run:
        stop = await run.stop()
        with pytest.raises(NotAllowed, match=r"retry is not possible at stop 1: before a allows continue, step_into"):
            await run.session.retry(stop)
        assert run.session.stops == [stop]


async def test_a_session_has_one_run() -> None:
    app = graph("a").compile()
    session = Session()
    await app.invoke({}, debug=session)

    with pytest.raises(SessionInUse):
        await app.invoke({}, debug=session)


# --- Next stop -------------------------------------------------------------------------------------------------------


async def test_next_stop_gives_none_when_the_run_has_ended_and_ever_after() -> None:
    async with debugging(graph("a > b"), {}, Session()) as run:
        assert await run.session.next_stop() is None
        assert await run.session.next_stop() is None
        assert run.session.is_ended


async def test_next_stop_can_be_waited_for_before_the_run_starts() -> None:
    session = breaking("a")
    async with asyncio.TaskGroup() as group:
        waiting = group.create_task(session.next_stop())
        await asyncio.sleep(0)
        running = group.create_task(graph("a").compile().invoke({}, debug=session))
        stop = await waiting
        assert stop is not None
        assert at(stop) == "before a"
        await session.continue_(stop)
        assert (await running).status is Status.PASSED


async def test_everybody_who_waits_for_a_stop_is_told_of_the_end() -> None:
    session = Session()
    async with asyncio.TaskGroup() as group:
        waiting = [group.create_task(session.next_stop()) for _ in range(3)]
        await asyncio.sleep(0)
        await graph("a").compile().invoke({}, debug=session)

    assert [each.result() for each in waiting] == [None, None, None]


@virtual_time
async def test_a_stop_that_ended_meanwhile_is_not_given() -> None:
    plan = flow(parallel("p", leaf("x"), leaf("y", takes_then_fails(1)), config={"fail_fast": True}))
    async with debugging(plan, {}, breaking("x")) as run:
        await run.event(StopEnded)

        assert (await run.end()).status is Status.FAILED


# --- Entry and end ---------------------------------------------------------------------------------------------------


async def test_a_run_can_be_stopped_at_its_entry() -> None:
    async with debugging(graph("a > b"), {}, Session(stop_at_entry=True)) as run:
        stop = await run.stop()
        assert (at(stop), stop.reasons) == ("before a", ("entry",))
        await run.session.continue_(stop)
        await run.end()


async def test_the_entry_is_the_first_step_that_runs() -> None:
    plan = flow(leaf("a", condition=".no"), leaf("b"))
    async with debugging(plan, {}, Session(stop_at_entry=True)) as run:
        assert at(await run.stop()) == "before b"


async def test_the_entry_of_branches_is_one_stop() -> None:
    async with debugging(graph("l + r > z"), {}, Session(stop_at_entry=True)) as run:
        stop = await run.stop()
        assert stop.reasons == ("entry",)
        await run.session.continue_(stop)
        await run.end()


@pytest.mark.parametrize("does", [None, raises()], ids=["passed", "failed"])
async def test_a_completed_run_gives_a_last_look(does: Any) -> None:
    app = graph("a", a=does) if does else graph("a")
    async with debugging(app, {"n": 1}, Session(stop_at_end=True, stop_on_error=False)) as run:
        stop = await run.stop()

        assert (stop.reasons, stop.position, stop.step, stop.scope["n"]) == (("completed",), "after", "", 1)
        assert await run.session.evaluate(stop, ".n + 1") == 2
        assert not run.task.done()
        await run.session.continue_(stop)
        assert (await run.end()).status is (Status.FAILED if does else Status.PASSED)


async def test_a_completed_run_can_be_rewound() -> None:
    async with debugging(graph("a > b > c"), {}, Session(stop_at_end=True)) as run:
        stop = await run.stop()
        before_b = next(point for point in run.session.history() if point.step == "b")
        await run.session.rewind(stop, before_b)
        stop = await run.stop()
        assert at(stop) == "before b"
        await run.session.set(stop, ".a", "edited")
        completed = await run.on(stop)
        assert completed.reasons == ("completed",)
        await run.session.continue_(completed)
        result = await run.end()

    assert result.state == {"a": "edited", "b": "done", "c": "done"}
    assert run.ran == ["a", "b", "c", "b", "c"]


async def test_the_last_look_comes_after_cleanup() -> None:
    plan = flow(leaf("a"), cleanup=[give("k", {"v": 1})])
    async with debugging(plan, {}, Session(stop_at_end=True)) as run:
        stop = await run.stop()

        assert stop.scope["steps"]["k"]["outputs"] == {"v": 1}


# --- Pause and continue ----------------------------------------------------------------------------------------------


async def test_a_pause_stops_a_frame_at_its_next_point_and_leaves_the_others() -> None:
    gate = asyncio.Event()

    async def wait(activation: Activation) -> None:
        await gate.wait()

    plan = flow(parallel("p", leaf("x", wait), leaf("y", wait)), leaf("z"))
    async with debugging(plan, {}, breaking("p")) as run:
        await run.session.continue_(await run.stop())
        await run.event(StepStarted, occurrence="p.y")
        await run.session.pause("p.x")
        gate.set()
        stop = await run.stop()

        assert (at(stop), stop.reasons) == ("after p.x", ("pause",))
        await run.session.continue_(stop)
        await run.end()


async def test_pause_all_stops_every_frame_also_those_that_open_later() -> None:
    async with debugging(TWO, {}, breaking("p")) as run:
        stop = await run.stop()
        await run.session.continue_(stop)
        await run.session.pause()
        stops = await run.stops(2)

        assert list(stops) == ["before p.l", "before p.r"]
        assert [stop.reasons for stop in stops.values()] == [("pause",), ("pause",)]


async def test_pause_all_and_continue_all_change_nothing() -> None:
    plain = await undebugged(TWO)
    async with debugging(TWO, {}, breaking("p")) as run:
        await run.session.continue_(await run.stop())
        await run.session.pause()
        await run.stops(2)
        await run.session.continue_all()
        result = await run.end()

    assert (result.status, result.state, result.intervened) == (plain.status, plain.state, ())
    assert len(run.told(AllContinued)) == 1


async def test_continue_all_takes_back_pauses_and_steps_that_are_on_their_way() -> None:
    async with debugging(TWO, {}, breaking("a", "c")) as run:
        stops = await run.stops(2)
        await run.session.step_over(stops["before p.l.a"])
        await run.session.pause()
        await run.session.continue_all()
        await run.end()


async def test_continue_moves_one_frame_only() -> None:
    async with debugging(TWO, {}, breaking("a", "c")) as run:
        stops = await run.stops(2)
        await run.session.continue_(stops["before p.l.a"])
        await run.event(FrameEnded)

        assert run.frame_states == {"main": "running", "p.l": "done", "p.r": "paused"}
        assert run.session.stops == [stops["before p.r.c"]]


async def test_pausing_a_frame_that_is_stopped_or_done_changes_nothing() -> None:
    async with debugging(flow(parallel("p", leaf("x"), leaf("y")), leaf("z")), {}, breaking("x")) as run:
        stop = await run.stop()
        await run.event(FrameEnded)
        await run.session.pause("p.x")
        await run.session.pause("p.y")
        await run.session.continue_(stop)

        assert (await run.end()).status is Status.PASSED


# --- Detach ----------------------------------------------------------------------------------------------------------


async def test_after_detach_all_go_on_and_nothing_stops_again() -> None:
    async with debugging(TWO, {}, breaking("a", "b", "c", "d", "z", stop_at_end=True)) as run:
        await run.stops(2)
        await run.session.detach()
        run.session.add_breakpoint("z")
        result = await run.end()

    assert (result.status, result.intervened) == (Status.PASSED, ())
    assert fold(run.log.read()).is_detached


async def test_after_detach_a_failure_does_not_stop() -> None:
    async with debugging(graph("a > b", b=raises()), {}, Session(stop_at_entry=True)) as run:
        await run.stop()
        await run.session.detach()

        assert (await run.end()).status is Status.FAILED


async def test_edits_made_before_a_detach_count() -> None:
    async with debugging(graph("a > b"), {"n": 1}, breaking("b")) as run:
        stop = await run.stop()
        await run.session.set(stop, ".n", 2)
        await run.session.detach()
        result = await run.end()

    assert result.state["n"] == 2
    assert len(result.intervened) == 1


# --- Abort -----------------------------------------------------------------------------------------------------------


async def test_an_abort_ends_every_frame_as_cancelled_and_cleans_up() -> None:
    plan = flow(
        parallel("p", leaf("a"), leaf("b"), continue_on_error=True),
        leaf("z"),
        cleanup=[leaf("k")],
    )
    async with debugging(plan, {}, breaking("a", "b")) as run:
        await run.stops(2)
        await run.session.abort("enough")
        result = await run.end()

    assert (result.status, str(result.error)) == (Status.CANCELLED, "Aborted: enough")
    assert run.ran == ["p", "k"]
    assert [event.reason for event in run.told(StopEnded)] == ["enough", "enough"]
    assert [event.reason for event in run.told(Aborted)] == ["enough"]


@pytest.mark.parametrize(
    ("does", "running"),
    [
        (leaf("x", takes(60), continue_on_error=True), "x"),
        (leaf("x", takes(60), retry=retry(5)), "x"),
        (leaf("x", stubborn(60), continue_on_error=True), "x"),
        (repeat("x", leaf("y", takes(60), continue_on_error=True), config={"times": 9}), "x[0].y"),
        (
            parallel(
                "x", leaf("y", takes(60)), leaf("w", takes(60)), config={"succeed": "any"}, continue_on_error=True
            ),
            "x.y",
        ),
        (call("x", leaf("y", takes(60)), continue_on_error=True), "x.y"),
        (background("x", leaf("y", takes(60)), leaf("w", takes(60)), continue_on_error=True), "x.w"),
        (matrix("x", {"n": [1, 2]}, leaf("y", takes(60)), config={"parallel": True}, continue_on_error=True), "x[0].y"),
    ],
    ids=["continue_on_error", "retry", "swallows", "repeat", "parallel", "call", "background", "matrix"],
)
async def test_an_abort_is_the_end_whatever_the_flow_says(does: Step, running: str) -> None:
    async with debugging(flow(does, leaf("z"), cleanup=[leaf("k")]), {}, Session(stop_at_entry=True)) as run:
        await run.session.continue_(await run.stop())
        await run.event(StepStarted, occurrence=running)
        await run.session.abort()
        result = await run.end()

    assert result.status is Status.CANCELLED
    assert "z" not in run.ran
    assert run.ran[-1] == "k"


async def test_no_node_starts_after_one_that_swallowed_the_abort() -> None:
    ran: list[str] = []
    started = asyncio.Event()

    async def stubborn_node(state: State) -> None:
        started.set()
        try:
            await asyncio.get_running_loop().create_future()
        except asyncio.CancelledError:
            ran.append("a swallowed it")

    async def following(state: State) -> None:
        ran.append("b ran")

    async with debugging(graph("a > b", a=stubborn_node, b=following), {}, Session()) as run:
        await started.wait()
        await run.session.abort()
        result = await run.end()

    assert (result.status, ran) == (Status.CANCELLED, ["a swallowed it"])


async def test_an_abort_while_cleanup_is_paused_ends_the_cleanup_too() -> None:
    plan = flow(leaf("a"), cleanup=[leaf("k"), leaf("l")])
    async with debugging(plan, {}, breaking("a", "k")) as run:
        await run.stop()
        await run.session.abort("first")
        stop = await run.stop()
        assert (at(stop), stop.is_cleanup) == ("before k", True)
        await run.session.abort("second")
        result = await run.end()

    assert result.status is Status.CANCELLED
    assert run.ran == []


async def test_aborting_twice_ends_all_at_once_without_cleaning_up() -> None:
    async with debugging(flow(leaf("a"), cleanup=[leaf("k")]), {}, breaking("a")) as run:
        await run.stop()
        await run.session.abort("first")
        await run.session.abort("second")
        result = await run.end()

    assert result.status is Status.CANCELLED
    assert run.ran == []


async def test_an_abort_leaves_nobody_waiting_also_with_a_last_look_asked_for() -> None:
    async with debugging(graph("a > b"), {}, breaking("a", stop_at_end=True)) as run:
        await run.stop()
        await run.session.abort()

        assert (await run.end()).status is Status.CANCELLED


async def test_an_abort_on_the_heels_of_a_step_back_ends_the_run() -> None:
    async with debugging(graph("a > b"), {}, breaking("a", "b")) as run:
        stop = await run.on(await run.stop())
        await run.session.step_back(stop)
        await run.session.abort()

        assert (await run.end()).status is Status.CANCELLED


@pytest.mark.parametrize("verb", ["continue_", "step_over", "skip"])
async def test_an_abort_on_the_heels_of_any_command_ends_the_run(verb: str) -> None:
    async with debugging(graph("a > b"), {}, breaking("a", "b")) as run:
        stop = await run.stop()
        await getattr(run.session, verb)(stop)
        await run.session.abort()

        assert (await run.end()).status is Status.CANCELLED


async def test_an_abort_while_everything_runs_ends_it() -> None:
    async with debugging(flow(leaf("a", takes(60))), {}, Session()) as run:
        await run.event(StepStarted)
        await run.session.abort()
        result = await run.end()

    assert result.status is Status.CANCELLED
    (finished,) = run.told(StepFinished)
    assert finished.outcome.status is Status.CANCELLED


# --- Branches that are cancelled while they are paused ---------------------------------------------------------------


@virtual_time
async def test_a_branch_that_is_cancelled_while_paused_says_why() -> None:
    plan = flow(parallel("p", leaf("x"), leaf("y", takes_then_fails(5)), config={"fail_fast": True}))
    async with debugging(plan, {}, breaking("x")) as run:
        stop = await run.stop()
        ended = await run.event(StopEnded)

        assert (ended.stop, ended.frame, ended.reason) == (stop.id, "p.x", "fail fast: branch y failed")
        assert stop.is_over
        with pytest.raises(StaleStop):
            await run.session.continue_(stop)
        await run.end()


@virtual_time
async def test_a_branch_that_is_ended_by_hand_while_it_waits_for_its_turn_is_over_at_once() -> None:
    plan = flow(parallel("p", leaf("a"), leaf("b"), config={"max_parallel": 1}))
    async with debugging(plan, {}, breaking("a")) as run:
        stop = await run.stop()
        await run.session.cancel_frame("p.b")
        assert (await run.event(FrameEnded, frame="p.b")).reason == "cancelled by the user"
        assert at(stop) in [at(each) for each in run.session.stops], "the other one stands where it stood"
        await run.session.continue_(stop)
        result = await run.end()

    assert result.status is Status.FAILED
    assert run.ran == ["p", "p.a"]
    assert len(run.told(FrameEnded)) == 3


@virtual_time
async def test_a_branch_that_is_ended_by_hand_before_it_has_begun_counts_as_one_that_was() -> None:
    async def end_the_other(activation: Activation) -> None:
        await run.session.cancel_frame("p.b")

    plan = flow(parallel("p", leaf("a", end_the_other), leaf("b")))
    async with debugging(plan, {}, breaking()) as run:
        result = await run.end()

    assert result.status is Status.FAILED
    assert run.ran == ["p", "p.a"]
    assert [event.reason for event in run.told(FrameEnded) if event.frame == "p.b"] == ["cancelled by the user"]


@virtual_time
async def test_a_frame_in_a_branch_that_is_cancelled_says_why_too() -> None:
    inner = parallel("q", leaf("x"), leaf("w"))
    plan = flow(parallel("p", inner, leaf("y", takes_then_fails(5)), config={"fail_fast": True}))
    async with debugging(plan, {}, breaking("x")) as run:
        await run.stop()

        assert (await run.event(StopEnded)).reason == "fail fast: branch y failed"


@virtual_time
async def test_a_part_beside_that_is_ended_while_paused_says_why() -> None:
    plan = flow(background("g", leaf("u"), leaf("x", takes(5))), leaf("z"))
    async with debugging(plan, {}, breaking("u")) as run:
        await run.stop()

        assert (await run.event(StopEnded)).reason == "the foreground steps have ended"
        assert (await run.end()).status is Status.PASSED


@virtual_time
async def test_a_run_that_is_cancelled_from_outside_ends_its_stops() -> None:
    async with debugging(flow(leaf("a"), cleanup=[leaf("k")]), {}, breaking("a")) as run:
        await run.stop()
        run.task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await run.task

        assert [event.reason for event in run.told(StopEnded)] == ["the run was cancelled"]
        assert run.session.stops == []
        assert await run.session.next_stop() is None
        assert run.ran == ["k"]


async def test_a_stop_that_was_cancelled_a_moment_ago_takes_no_command() -> None:
    async with debugging(flow(leaf("a")), {}, breaking("a")) as run:
        stop = await run.stop()
        run.task.cancel()
        with pytest.raises(StaleStop):
            await run.session.continue_(stop)
        await run.session.continue_all()
        with pytest.raises(asyncio.CancelledError):
            await run.task
        assert [event.reason for event in run.told(StopEnded)] == ["the run was cancelled"]


# --- The lease -------------------------------------------------------------------------------------------------------


@virtual_time
async def test_a_stop_that_nobody_attends_to_ends_the_run_after_an_hour() -> None:
    async with debugging(flow(leaf("a"), leaf("z"), cleanup=[leaf("k")]), {}, breaking("a")) as run:
        stop = await run.stop()
        result = await run.end()

        assert (now(), result.status) == (3600, Status.CANCELLED)
        assert str(result.error) == "Aborted: stop 1 timed out"
        assert [(event.stop, event.policy) for event in run.told(LeaseEnded)] == [(stop.id, "abort")]
        assert run.ran == ["k"]


@virtual_time
async def test_a_run_that_nobody_attends_to_gets_no_last_look_either() -> None:
    async with debugging(flow(leaf("a")), {}, breaking("a", stop_at_end=True)) as run:
        result = await run.task

        assert (now(), result.status) == (3600, Status.CANCELLED)


@virtual_time
async def test_a_stop_that_nobody_attends_to_can_also_go_on() -> None:
    session = breaking("a", "z", lease_seconds=60, on_lease_end="continue")
    async with debugging(flow(leaf("a"), leaf("z")), {}, session) as run:
        result = await run.task

        assert (now(), result.status, result.intervened) == (120, Status.PASSED, ())
        assert [event.policy for event in run.told(LeaseEnded)] == ["continue", "continue"]


@virtual_time
async def test_a_lease_can_be_extended_up_to_four_hours_in_all() -> None:
    async with debugging(flow(leaf("a")), {}, breaking("a")) as run:
        await run.stop()
        await asyncio.sleep(3500)
        await run.session.extend(3600)
        await asyncio.sleep(3500)
        assert run.session.stops
        await run.session.extend(100 * 3600)
        await run.end()

        assert now() == 4 * 3600


@virtual_time
async def test_a_lease_is_never_longer_than_four_hours() -> None:
    async with debugging(flow(leaf("a")), {}, breaking("a", lease_seconds=10 * 3600)) as run:
        await run.stop()
        await run.end()

        assert now() == 4 * 3600


@virtual_time
async def test_each_stop_has_its_own_lease() -> None:
    async with debugging(flow(leaf("a"), leaf("b"), leaf("c")), {}, breaking("a", "b", "c")) as run:
        for _ in range(3):
            stop = await run.stop()
            await asyncio.sleep(3000)
            await run.session.continue_(stop)

        assert (await run.end()).status is Status.PASSED


# --- Time ------------------------------------------------------------------------------------------------------------


@virtual_time
async def test_paused_time_is_charged_to_nobody() -> None:
    plan = flow(
        sequence(
            "s", leaf("a", takes(2), timeout_seconds=3), leaf("b", takes(2), timeout_seconds=3), timeout_seconds=5
        ),
        timeout=6,
    )
    session = breaking("a", "b")
    session.add_breakpoint("a", "after")
    async with debugging(plan, {}, session) as run:
        for _ in range(3):
            stop = await run.stop()
            await asyncio.sleep(100)
            await session.continue_(stop)

        assert (await run.end()).status is Status.PASSED
        assert now() == 304


@virtual_time
async def test_the_clock_goes_on_where_it_stood_when_the_pause_is_over() -> None:
    plan = flow(sequence("s", leaf("a", takes(2)), leaf("b", takes(2)), timeout_seconds=3))
    async with debugging(plan, {}, breaking("b")) as run:
        stop = await run.stop()
        await asyncio.sleep(100)
        await run.session.continue_(stop)
        result = await run.end()

        assert (now(), result.status) == (103, Status.TIMED_OUT)


@virtual_time
async def test_the_clock_of_a_part_stands_while_any_frame_in_it_is_paused_but_a_sibling_is_charged() -> None:
    plan = flow(parallel("p", leaf("x", takes(1)), leaf("y", takes(60), timeout_seconds=5), timeout_seconds=4))
    async with debugging(plan, {}, breaking("x")) as run:
        stop = await run.stop()
        await asyncio.sleep(100)
        await run.session.continue_(stop)
        result = await run.end()

        finished = {event.occurrence: event.outcome.status for event in run.told(StepFinished)}
        assert finished["p.y"] is Status.TIMED_OUT
        assert finished["p.x"] is Status.PASSED
        assert (now(), result.status) == (101, Status.TIMED_OUT)


@virtual_time
async def test_a_paused_run_does_not_die_of_its_own_timeout() -> None:
    async with debugging(flow(leaf("a", takes(1)), timeout=2), {}, breaking("a")) as run:
        stop = await run.stop()
        await asyncio.sleep(1000)
        await run.session.continue_(stop)

        assert (await run.end()).status is Status.PASSED


@virtual_time
async def test_a_node_s_timeout_does_not_count_the_pause_in_a_graph_under_it() -> None:
    app = graph("a > g > z", g=graph("x > y"), options={"g": {"timeout": 2}})
    async with debugging(app, {}, breaking("g.y")) as run:
        stop = await run.stop()
        await asyncio.sleep(1000)
        await run.session.continue_(stop)

        assert (await run.end()).status is Status.PASSED


@virtual_time
async def test_running_and_paused_time_are_told_apart() -> None:
    async with debugging(flow(sequence("s", leaf("a", takes(2)), leaf("b", takes(2)))), {}, breaking("b")) as run:
        stop = await run.stop()
        await asyncio.sleep(100)
        await run.session.continue_(stop)
        await run.end()

        view = fold(run.log.read()).steps["s"]
        assert view.outcome is not None
        assert view.started_at is not None
        assert view.ended_at is not None
        assert (view.ended_at - view.started_at, view.outcome.paused_seconds) == (104, 100)


# --- Intervened ------------------------------------------------------------------------------------------------------


async def test_a_run_that_was_only_looked_at_is_clean() -> None:
    session = breaking("a", "b", stop_at_entry=True, stop_at_end=True)
    session.add_breakpoint("a", "after")
    async with debugging(graph("a > b > c"), {"n": 1}, session) as run:
        session.watch(".n")
        while (stop := await session.next_stop()) is not None:
            await session.evaluate(stop, ".n")
            await session.watch_values(stop)
            session.variables(stop)
            await session.config(stop)
            session.diff(stop)
            session.history()
            await (session.continue_(stop) if "completed" in stop.reasons else session.step_over(stop))
        result = await run.end()

    assert result.intervened == ()


@pytest.mark.parametrize("what", ["set", "unset", "skip", "force", "inject", "config", "back", "rewind", "retry"])
async def test_whatever_was_done_by_hand_marks_the_run_for_good(what: str) -> None:
    session = breaking("a")
    session.add_breakpoint("b", "after", once=True)
    async with debugging(graph("a > b > c"), {"n": 1}, session) as run:
        first = await run.stop()
        second = await run.on(first) if what in ("retry", "back", "rewind") else first
        match what:
            case "set":
                await session.set(first, ".n", 2)
            case "unset":
                await session.unset(first, ".n")
            case "skip":
                await session.skip(first)
            case "force":
                await session.force(first, "passed")
            case "inject":
                await session.inject(first, lambda state: {"extra": 1})
            case "config":
                await session.override_config(first, {"thread": False})
            case "back":
                await session.step_back(second)
            case "rewind":
                await session.rewind(second, session.history()[0])
            case "retry":
                await session.retry(second)
        if what in ("back", "rewind"):
            assert at(await run.stop()) == ("before b" if what == "back" else "before a")
        await session.detach()
        result = await run.end()

    assert result.status is Status.PASSED
    assert len(result.intervened) == 1
    assert fold(run.log.read()).intervened


async def test_an_edit_that_was_undone_leaves_its_mark() -> None:
    async with debugging(graph("a"), {"n": 1}, breaking("a")) as run:
        stop = await run.stop()
        await run.session.set(stop, ".n", 2)
        await run.session.undo(stop)
        await run.session.continue_(stop)
        result = await run.end()

    assert result.state["n"] == 1
    assert len(result.intervened) == 1


async def test_automatic_retries_are_no_intervention() -> None:
    async with debugging(flow(leaf("a", flaky(2), retry=retry(2))), {}, breaking("a")) as run:
        await run.trail("continue_")

        assert (await run.end()).intervened == ()
        assert run.ran == ["a", "a#2", "a#3"]


async def test_a_run_gone_on_with_from_its_log_keeps_its_mark() -> None:
    app = graph("a > b").compile()
    async with debugging(app, {"n": 1}, breaking("b")) as run:
        stop = await run.stop()
        await run.session.set(stop, ".n", 2)
        log = run.log

    result = await app.invoke(None, log=log)
    assert (result.state["n"], len(result.intervened)) == (2, 1)


async def test_failing_by_itself_is_no_intervention() -> None:
    async with debugging(flow(leaf("a", fails())), {}, Session()) as run:
        await run.session.continue_(await run.stop())

        assert (await run.end()).intervened == ()
