"""A session survives its process: a new one that has only the log is where the old one was, in all that people see."""

import asyncio
from typing import Any

import pytest

from pitstop.debugger.session import Session
from pitstop.errors import NotAllowed, NothingToUndo, StaleStop, UnknownFrame, UnknownStep
from pitstop.events.log import MemoryLog, events_from_json, events_to_json
from pitstop.events.outcome import Status
from pitstop.events.types import (
    AllContinued,
    BreakpointSet,
    FrameCancelled,
    FrameEnded,
    FrameOpened,
    OutcomeForced,
    Resumed,
    Rewound,
    SessionOpened,
    StepInterrupted,
    StepStarted,
    StopEnded,
    Stopped,
)
from pitstop.events.view import fold
from pitstop.plan.plan import Plan
from tests.debugger.bench import Debugged, at, debugging, undebugged
from tests.engine.flows import background, call, fails, flow, give, leaf, parallel, sequence, takes
from tests.engine.virtual_time import virtual_time

THREE = flow(leaf("a"), leaf("b"), leaf("c"))
BRANCHES = flow(parallel("p", sequence("x", leaf("x1"), leaf("x2")), sequence("y", leaf("y1"), leaf("y2"))), leaf("z"))


def breaking(*steps: str, **options: Any) -> Session:
    session = Session(stop_on_error=options.pop("stop_on_error", False), **options)
    for step in steps:
        session.add_breakpoint(step)
    return session


def killed(run: Debugged, keep: int | None = None) -> MemoryLog:
    """The log as it is now, or was after so many events, when nobody comes to write another word into it."""
    return MemoryLog(events_from_json(events_to_json(run.log.read()[:keep])))


def number_of(log: MemoryLog, kind: type, place: int = 0) -> int:
    return [number for number, event in enumerate(log.read(), 1) if isinstance(event, kind)][place]


async def restarted(run: Debugged) -> None:
    """Wait until the run has begun again: its branches have not yet, for they are tasks of their own."""
    async for _ in run.log.follow(len(run.log)):
        return


# --- Stops -----------------------------------------------------------------------------------------------------------


async def test_a_stop_is_there_again_with_its_number_reasons_and_breakpoints() -> None:
    async with debugging(THREE, {}, breaking("b", stop_at_entry=True)) as run:
        first = await run.on(await run.stop())
        log = killed(run)
    async with debugging(THREE, {}, Session(), log=log) as run:
        stop = await run.stop()
        assert (stop.id, at(stop), stop.reasons, stop.breakpoints) == (first.id, "before b", ("breakpoint",), (1,))
        assert stop.scope.as_dict()["steps"] == first.scope.as_dict()["steps"]
        assert stop.after_event == first.after_event
        assert {*stop.allowed} == {*first.allowed}
        await run.session.continue_(stop.id)
        result = await run.end()

    assert result.status is Status.PASSED
    assert run.does.ran == ["b", "c"]
    assert [event.stop for event in run.told(Stopped)] == [1, 2], "it was not told a second time"


@pytest.mark.parametrize("position", ["after", "error"])
async def test_a_stop_at_the_end_of_a_step_is_there_again(position: str) -> None:
    plan = flow(leaf("a", fails("why") if position == "error" else None), leaf("b"))
    session = Session(stop_on_error=False)
    session.add_breakpoint("a", position)  # type: ignore[arg-type]
    async with debugging(plan, {}, session) as run:
        await run.stop()
        log = killed(run)
    async with debugging(plan, {}, Session(), log=log) as run:
        stop = await run.stop()
        assert (stop.id, at(stop)) == (1, f"{position} a")
        assert stop.outcome is not None
        await run.session.force(stop, "passed")
        result = await run.end()

    assert result.status is Status.PASSED
    assert run.does.ran == ["b"]


async def test_the_last_look_at_a_run_lasts_too() -> None:
    async with debugging(THREE, {}, Session(stop_at_end=True)) as run:
        await run.stop()
        log = killed(run)
    async with debugging(THREE, {}, Session(), log=log) as run:
        stop = await run.stop()
        assert (stop.id, stop.reasons) == (1, ("completed",))
        await run.session.continue_(stop)
        await run.end()

    assert run.does.ran == []


@pytest.mark.parametrize("keep", [0, 1, 2, 3, None])
async def test_a_branch_that_was_ended_by_hand_does_not_begin_again(keep: int | None) -> None:
    """Whatever is in the log of what came of it: only that somebody wanted it, or its end too."""
    tidy = call("c", leaf("x2"), leaf("x3"), cleanup=(leaf("tidy"),))
    inside = parallel("q", sequence("i", leaf("i1"), tidy), leaf("j"))
    plan = flow(parallel("p", sequence("x", leaf("x1"), inside), sequence("y", leaf("y1"), leaf("y2"))), leaf("z"))
    async with debugging(plan, {}, breaking("x3", "y2")) as run:
        assert list(await run.stops(2)) == ["before p.x.q.i.c.x3", "before p.y.y2"]
        await run.session.cancel_frame("p.x", "enough of it")
        await run.event(FrameEnded, frame="p.x", reason="enough of it")
        log = killed(run, None if keep is None else number_of(run.log, FrameCancelled) + keep)
    async with debugging(plan, {}, Session(), log=log) as run:
        stop = await run.stop()
        assert at(stop) == "before p.y.y2"
        await run.event(FrameEnded, frame="p.x", reason="enough of it")
        assert [each.step for each in run.session.stops] == ["p.y.y2"]
        await run.session.continue_(stop)
        result = await run.end()

    assert result.status is Status.FAILED
    assert result.error is not None
    assert result.error.message == "enough of it"
    assert "p.x.q.i.c.x3" not in run.ran
    assert run.ran.count("p.x.q.i.c.x2") == 1
    assert [event.reason for event in run.told(FrameEnded) if event.frame == "p.x"][-1] == "enough of it"
    assert "p.x.q.i.c.tidy" in run.ran


async def test_a_part_beside_can_be_ended_when_it_has_come_back() -> None:
    plan = flow(background("bg", sequence("s", leaf("s1"), leaf("s2")), leaf("a"), leaf("b")))
    async with debugging(plan, {}, breaking("s2", "b")) as run:
        await run.stops(2)
        log = killed(run)
    async with debugging(plan, {}, Session(), log=log) as run:
        async for event in run.log.follow(len(log)):
            if isinstance(event, FrameOpened) and event.frame == "bg.s":
                break
        with pytest.raises(UnknownFrame, match="still being rewound"):
            await run.session.cancel_frame("bg.s")
        stops = await run.stops(2)
        await run.session.cancel_frame("bg.s")
        await run.session.continue_(stops["before bg.b"])

        assert (await run.end()).status is Status.PASSED
    assert "bg.s.s2" not in run.ran


async def test_a_branch_that_was_ended_by_hand_and_gone_back_over_begins_again() -> None:
    async with debugging(BRANCHES, {}, breaking("p", "x2", "y2")) as run:
        await run.session.continue_(await run.stop())
        stops = await run.stops(2)
        await run.session.cancel_frame("p.x")
        await run.event(FrameEnded, frame="p.x")
        await run.session.rewind(stops["before p.y.y2"], run.session.history()[0].number)
        assert at(await run.stop()) == "before p"
        log = killed(run)
    async with debugging(BRANCHES, {}, Session(), log=log) as run:
        await run.stop()
        await run.session.detach()

        assert (await run.end()).status is Status.PASSED
    assert "p.x.x2" in run.ran


async def test_every_branch_is_stopped_where_it_was_and_goes_on_alone() -> None:
    async with debugging(BRANCHES, {}, breaking("x2", "y1")) as run:
        stops = await run.stops(2)
        log = killed(run)
        ids = {name: stop.id for name, stop in stops.items()}
    async with debugging(BRANCHES, {}, Session(), log=log) as run:
        again = await run.stops(2)
        assert {name: stop.id for name, stop in again.items()} == ids
        await run.session.continue_(again["before p.x.x2"])
        await run.event(StepStarted, occurrence="p.x.x2")
        assert [at(stop) for stop in run.session.stops] == ["before p.y.y1"]
        await run.session.continue_all()
        await run.end()

    assert sorted(run.does.ran) == ["p.x.x2", "p.y.y1", "p.y.y2", "z"]


async def test_commands_for_a_stop_that_is_not_there_yet_say_so() -> None:
    async with debugging(BRANCHES, {}, breaking("x2")) as run:
        await run.stop()
        log = killed(run)
    session = Session()
    async with debugging(BRANCHES, {}, session, log=log) as run:
        await restarted(run)
        with pytest.raises(NotAllowed, match="still being rewound"):
            await session.continue_(1)
        with pytest.raises(StaleStop):
            await session.continue_(7)
        await session.wait_restored()
        assert [stop.id for stop in session.stops] == [1]
        await session.continue_(1)
        await run.end()


async def test_the_frames_look_as_they_did() -> None:
    async with debugging(BRANCHES, {}, breaking("x2", "y1")) as run:
        await run.stops(2)
        states, log = run.frame_states, killed(run)
    async with debugging(BRANCHES, {}, Session(), log=log) as run:
        await run.session.wait_restored()
        assert run.frame_states == states
        assert {frame.id: frame.own_state for frame in fold(run.log.read()).frames.values()} == states
        assert sorted(fold(run.log.read()).stops) == [1, 2]


async def test_a_stop_whose_place_does_not_come_again_ends_and_says_so() -> None:
    async with debugging(THREE, {}, breaking("b")) as run:
        await run.stop()
        log = killed(run)
    shorter = flow(leaf("a"), leaf("b", condition="false"), leaf("c"))
    async with debugging(shorter, {}, Session(stop_on_error=False), log=log) as run:
        stop = await run.stop()  # a breakpoint names it, so it is a stop also when it will not run
        assert stop.will_run is False
        await run.session.continue_(stop)
        await run.end()
    plan = flow(leaf("a"), sequence("s", leaf("b"), condition=".go"), leaf("c"))
    async with debugging(plan, {"go": True}, breaking("b")) as run:
        await run.stop()
        before_s = number_of(run.log, StepStarted, 1) - 1
        log = MemoryLog([*run.log.read()[:before_s], *run.log.read()[before_s + 1 :]])
    async with debugging(plan, {"go": False}, Session(), log=log) as run:
        await run.end()
        (ended,) = run.told(StopEnded)
        assert (ended.stop, ended.reason) == (1, "the run did not reach its step again")


async def test_a_run_that_goes_on_without_a_debugger_ends_the_stops_it_finds() -> None:
    async with debugging(THREE, {}, breaking("b")) as run:
        await run.stop()
        log = killed(run)

    result = await undebugged(THREE, {}, log=log)

    assert result.status is Status.PASSED
    view = fold(log.read())
    assert view.stops == {}
    assert {frame.state for frame in view.frames.values()} == {"done"}


# --- What was changed there ------------------------------------------------------------------------------------------


async def test_edits_are_pending_and_can_be_undone() -> None:
    plan = flow(give("a", "${{ .vars.n }}"), give("b", "${{ .vars.n }}"))
    async with debugging(plan, {"vars": {"n": 1}}, breaking("b")) as run:
        stop = await run.stop()
        await run.session.set(stop, ".vars.n", 2)
        await run.session.set(stop, ".vars.n", 3)
        log = killed(run)
    async with debugging(plan, {"vars": {"n": 1}}, Session(), log=log) as run:
        stop = await run.stop()
        assert stop.scope["vars"] == {"n": 3}
        await run.session.undo(stop)
        assert stop.scope["vars"] == {"n": 2}
        log = killed(run)
    async with debugging(plan, {"vars": {"n": 1}}, Session(), log=log) as run:
        stop = await run.stop()
        assert stop.scope["vars"] == {"n": 2}
        await run.session.undo(stop)
        with pytest.raises(NothingToUndo):
            await run.session.undo(stop)
        await run.session.set(stop, ".vars.m", 7)
        await run.session.continue_(stop)
        result = await run.end()

    assert result.state["vars"] == {"n": 1, "m": 7}
    assert result.state["steps"]["b"]["outputs"] == 1
    assert len(run.session.interventions) == len(result.intervened) == 3


async def test_an_edit_at_the_end_of_a_step_is_pending_for_its_next_attempt() -> None:
    plan = flow(give("a", "${{ .vars.n }}"))
    session = Session(stop_on_error=False)
    session.add_breakpoint("a", "after")
    async with debugging(plan, {"vars": {"n": 1}}, session) as run:
        stop = await run.stop()
        await session.set(stop, ".vars.n", 2)
        log = killed(run)
    async with debugging(plan, {"vars": {"n": 1}}, Session(), log=log) as run:
        stop = await run.stop()
        await run.session.retry(stop)
        stop = await run.stop()
        assert (at(stop), stop.outcome and stop.outcome.outputs) == ("after a#2", 2)
        await run.session.continue_(stop)
        await run.end()


async def test_a_config_that_was_put_in_is_pending_and_can_be_taken_back() -> None:
    plan = flow(give("a", 1))
    async with debugging(plan, {}, breaking("a")) as run:
        stop = await run.stop()
        await run.session.override_config(stop, {"outputs": 2})
        await run.session.override_config(stop, {"outputs": 3})
        await run.session.undo(stop)
        log = killed(run)
    async with debugging(plan, {}, Session(), log=log) as run:
        stop = await run.stop()
        assert (await run.session.config(stop)).resolved == {"outputs": 2}
        two = killed(run)
        await run.session.continue_(stop)
        assert (await run.end()).state["steps"]["a"]["outputs"] == 2
    async with debugging(plan, {}, Session(), log=two) as run:
        stop = await run.stop()
        await run.session.undo(stop)
        await run.session.continue_(stop)
        assert (await run.end()).state["steps"]["a"]["outputs"] == 1


async def test_steps_that_were_put_in_run_when_the_frame_goes_on_and_not_before() -> None:
    async with debugging(THREE, {}, breaking("b")) as run:
        stop = await run.stop()
        await run.session.inject(stop, {"uses": "give", "with": {"outputs": 1}, "id": "first"}, "before")
        await run.session.inject(stop, {"uses": "give", "with": {"outputs": 2}, "id": "second"}, "after")
        removed = await run.session.inject(stop, {"uses": "give", "with": {"outputs": 0}, "id": "removed"}, "after")
        await run.session.uninject(stop, removed)
        log = killed(run)
    async with debugging(THREE, {}, Session(), log=log) as run:
        stop = await run.stop()
        assert run.ran == ["a"]
        assert "first" not in stop.scope["steps"]
        path = await run.session.inject(stop, {"uses": "give", "with": {"outputs": 3}, "id": "third"}, "before")
        assert path == "b+4"
        await run.session.continue_(stop)
        result = await run.end()

    assert run.ran == ["a", "b+1", "b+4", "b", "b+2", "c"]
    assert result.state["steps"]["second"]["outputs"] == 2


async def test_muted_breakpoints_are_muted_after_a_restart() -> None:
    async with debugging(THREE, {}, breaking("b")) as run:
        stop = await run.stop()
        run.session.mute()
        run.session.add_breakpoint("c", note="later")
        log = killed(run)
    async with debugging(THREE, {}, Session(), log=log) as run:
        stop = await run.stop()
        assert run.session.is_muted
        await run.session.continue_(stop)
        await run.end()

    assert [each.note for each in run.session.breakpoints if each.step == "c"] == ["later"]


async def test_a_step_that_is_put_in_after_a_restart_takes_the_name_of_no_other() -> None:
    given = {"uses": "give", "with": {"outputs": 1}}
    async with debugging(THREE, {}, breaking("b")) as run:
        stop = await run.stop()
        with pytest.raises(UnknownStep):
            await run.session.inject(stop, {"uses": "nothing"})
        first = await run.session.inject(stop, given)
        log = killed(run)
    async with debugging(THREE, {}, Session(), log=log) as run:
        second = await run.session.inject(await run.stop(), given)
        await run.session.continue_all()
        await run.end()

    assert run.ran == ["a", first, second, "b", "c"]
    assert first != second


async def test_what_was_decided_but_not_done_is_done() -> None:
    """Killed between the two events of one command: it counts as a whole."""
    async with debugging(THREE, {}, breaking("b")) as run:
        await run.session.skip(await run.stop(), {"x": 1})
        await run.end()
        log = killed(run, number_of(run.log, OutcomeForced))
    async with debugging(THREE, {}, Session(), log=log) as run:
        result = await run.end()
        assert [(event.stop, event.verb) for event in run.told(Resumed)] == [(1, "skip")]

    assert result.state["steps"]["b"]["status"] == "skipped"
    assert run.does.ran == ["c"]


async def test_a_stop_that_was_gone_on_from_is_not_one_again() -> None:
    async with debugging(THREE, {}, breaking("b", "c")) as run:
        await run.session.continue_(await run.stop())
        log = killed(run, number_of(run.log, Resumed))
    async with debugging(THREE, {}, Session(), log=log) as run:
        assert at(await run.stop()) == "before c"
        (known, _) = run.session.breakpoints
        assert known.hit_count == 1


# --- Breakpoints, pauses and steps on their way ----------------------------------------------------------------------


async def test_breakpoints_keep_their_numbers_hits_groups_and_switches() -> None:
    session = breaking("a")
    session.add_breakpoint("b", group="late", hits=">= 2")
    session.add_breakpoint("c", enabled=False)
    session.remove_breakpoint(session.add_breakpoint("z").id)
    async with debugging(THREE, {}, session) as run:
        await run.stop()
        session.enable_group("late", False)
        shown = [each.as_dict() for each in session.breakpoints]
        log = killed(run)
    again = Session(stop_on_error=False)
    async with debugging(THREE, {}, again, log=log) as run:
        await run.stop()
        assert [each.as_dict() for each in again.breakpoints] == shown
        assert again.breakpoints[0].hit_count == 1
        assert again.add_breakpoint("c").id == 4, "the numbers of those that are gone are not given again"


async def test_breakpoints_of_the_new_session_are_added_if_the_log_never_had_them() -> None:
    session = breaking("b", stop_on_error=True)
    async with debugging(THREE, {}, session) as run:
        await run.stop()
        session.remove_breakpoint(2)
        log = killed(run)
    again = breaking("b", "c", stop_on_error=True)  # made of the same request: its breakpoint at b was removed since
    async with debugging(THREE, {}, again, log=log) as run:
        stop = await run.stop()
        assert [(each.id, each.step) for each in again.breakpoints] == [(1, None), (3, "c")]
        assert at(await run.on(stop)) == "before c"
        added = [event.breakpoint["id"] for event in run.told(BreakpointSet)]
        assert added == [1, 2, 3]


async def test_a_condition_that_is_a_function_is_taken_from_the_new_session_or_switched_off() -> None:
    def never(scope: dict[str, Any]) -> bool:
        return False

    session = breaking("b")
    session.add_breakpoint("c", condition=never)
    async with debugging(THREE, {}, session) as run:
        await run.stop()
        log = killed(run)
    again = Session(stop_on_error=False)
    async with debugging(THREE, {}, again, log=MemoryLog(log.read())) as run:
        await run.stop()
        assert not again.breakpoints[1].enabled
    again = Session(stop_on_error=False)
    again.add_breakpoint("c", condition=never)
    async with debugging(THREE, {}, again, log=log) as run:
        await run.stop()
        assert (again.breakpoints[1].id, again.breakpoints[1].condition) == (2, never)


async def test_options_watches_and_interventions_are_those_of_the_log() -> None:
    session = breaking("b", stop_at_end=True, lease_seconds=100, on_lease_end="continue")
    async with debugging(THREE, {"n": 1}, session) as run:
        stop = await run.stop()
        session.watch(".n")
        await session.set(stop, ".n", 2)
        log = killed(run)
    again = Session()
    async with debugging(THREE, {"n": 1}, again, log=log) as run:
        await run.stop()
        assert (again.stop_at_end, again.lease_seconds, again.on_lease_end) == (True, 100, "continue")
        assert again.watches == (".n",)
        assert len(again.interventions) == 1
        assert len(run.told(SessionOpened)) == 1


async def test_a_pause_that_was_asked_for_is_still_to_come() -> None:
    async with debugging(flow(leaf("a", takes(60)), leaf("b")), {}, Session()) as run:
        await run.event(StepStarted)
        await run.session.pause()
        log = killed(run)
    async with debugging(THREE, {}, Session(), log=log) as run:
        stop = await run.stop()
        assert (at(stop), stop.reasons) == ("before a", ("pause",))


async def test_a_pause_that_was_taken_back_and_asked_for_again_is_for_branches_that_are_not_open_again_yet() -> None:
    before = background("g", leaf("beside"), leaf("within"))  # to go through it again takes its time
    plan = flow(before, parallel("p", leaf("x", takes(60)), leaf("y", takes(60))))
    async with debugging(plan, {}, Session()) as run:
        for branch in ("p.x", "p.y"):
            await run.event(StepStarted, occurrence=branch)
        await run.session.pause()
        log = killed(run)
    async with debugging(plan, {}, Session(), log=log) as run:
        await restarted(run)
        await run.session.continue_all()
        await run.session.pause()
        assert [*await run.stops(2)] == ["before p.x", "before p.y"]


@pytest.mark.parametrize(
    ("verb", "leads_to"), [("step_over", ["before c"]), ("step_into", ["before s.x"]), ("step_out", ["before c"])]
)
async def test_a_step_on_its_way_comes_to_its_end(verb: str, leads_to: list[str]) -> None:
    plan = flow(leaf("a"), sequence("s", leaf("x"), leaf("y")), leaf("c"))
    async with debugging(plan, {}, breaking("s" if verb != "step_out" else "x")) as run:
        await getattr(run.session, verb)(await run.stop())
        await run.stop()
        log = killed(run, number_of(run.log, Resumed))
    again = Session()
    async with debugging(plan, {}, again, log=log) as run:
        stop = await run.stop()
        assert ([at(stop)], stop.reasons) == (leads_to, ("step",))


@pytest.mark.parametrize("is_passed", [False, True])
async def test_a_step_on_its_way_past_a_stop_comes_to_its_end(is_passed: bool) -> None:
    plan = flow(sequence("s", leaf("x"), leaf("y")), leaf("c"))
    async with debugging(plan, {}, breaking("s", "y")) as run:
        await run.session.step_over(await run.stop())
        await run.session.continue_(await run.stop(), keeps_step=True)
        await run.stop()
        log = killed(run, number_of(run.log, Resumed, 1) - (not is_passed))
    async with debugging(plan, {}, Session(), log=log) as run:
        if not is_passed:
            await run.session.continue_(await run.stop(), keeps_step=True)
        stop = await run.stop()
        assert (at(stop), stop.reasons) == ("before c", ("step",))


async def test_a_run_to_on_its_way_comes_to_its_end() -> None:
    async with debugging(THREE, {}, breaking("a")) as run:
        await run.session.run_to(await run.stop(), "c")
        await run.stop()
        log = killed(run, number_of(run.log, Resumed))
    async with debugging(THREE, {}, Session(), log=log) as run:
        assert at(await run.stop()) == "before c"


async def test_killed_on_the_way_back_it_stops_where_it_was_or_where_it_went() -> None:
    async with debugging(THREE, {}, breaking("a", "c")) as run:
        stop = await run.on(await run.stop())
        await run.session.step_back(stop)
        await run.stop()
        not_yet, cut = killed(run, number_of(run.log, Rewound) - 1), killed(run, number_of(run.log, Rewound))
    async with debugging(THREE, {}, Session(), log=not_yet) as run:
        stop = await run.stop()
        assert (at(stop), stop.id, stop.reasons) == ("before c", 3, ("step",))
    async with debugging(THREE, {}, Session(), log=cut) as run:
        stop = await run.stop()
        assert (at(stop), stop.id) == ("before b", 3)
        await run.session.continue_(stop)
        assert at(await run.stop()) == "before c"
        assert run.does.ran == ["b"]


async def test_back_and_diff_know_the_stops_of_before() -> None:
    plan = flow(give("a", 1), give("b", 2), give("c", 3))
    async with debugging(plan, {}, breaking("b", "c")) as run:
        await run.on(await run.stop())
        log = killed(run)
    async with debugging(plan, {}, Session(), log=log) as run:
        stop = await run.stop()
        assert [change.path for change in run.session.diff(stop)] == [".steps.b"]
        assert "step_back" in stop.allowed
        assert at(await run.back(stop)) == "before b"


async def test_detached_it_stays_detached() -> None:
    plan = flow(leaf("a"), leaf("b", takes(60)), leaf("c"))
    async with debugging(plan, {}, breaking("a", "b", "c")) as run:
        await run.stop()
        await run.session.detach()
        await run.event(StepStarted, occurrence="b")
        log = killed(run)
    async with debugging(THREE, {}, Session(), log=log) as run:
        assert (await run.end()).status is Status.PASSED


async def test_all_that_was_let_go_goes_on_also_before_it_is_there_again() -> None:
    async with debugging(BRANCHES, {}, breaking("x2", "y1")) as run:
        await run.stops(2)
        log = killed(run)
    session = Session()
    async with debugging(BRANCHES, {}, session, log=log) as run:
        await restarted(run)
        await session.continue_all()
        result = await run.end()

    assert result.status is Status.PASSED
    assert sorted(event.stop for event in run.told(Resumed)) == [1, 2]


@virtual_time
async def test_an_aborted_run_ends_and_cleans_up_and_does_nothing_else() -> None:
    plan = flow(leaf("a"), leaf("b", takes(60)), leaf("c"), cleanup=[give("k", "${{ .steps.a.status }}"), leaf("l")])
    async with debugging(plan, {}, Session()) as run:
        await run.event(StepStarted, occurrence="b")
        await run.session.abort("enough")
        log = killed(run)
    async with debugging(plan, {}, Session(), log=log) as run:
        result = await run.end()

    assert result.status is Status.CANCELLED
    assert run.does.ran == ["l"]
    assert result.state["steps"]["k"]["outputs"] == "passed"


async def test_a_failure_that_was_asked_about_is_not_asked_about_again_in_the_steps_around_it() -> None:
    plan = flow(sequence("s", leaf("a", fails())), leaf("b"))
    async with debugging(plan, {}, Session()) as run:
        stop = await run.stop()
        await run.session.continue_(stop)
        log = killed(run, number_of(run.log, Resumed))
    async with debugging(plan, {}, Session(), log=log) as run:
        assert (await run.end()).status is Status.FAILED


async def test_a_failure_that_nobody_was_asked_about_yet_is_asked_about() -> None:
    plan = flow(sequence("s", leaf("a", fails())), leaf("b"))
    async with debugging(plan, {}, Session()) as run:
        await run.stop()
        stopped = number_of(run.log, Stopped)
        log = killed(run, stopped - 1)
    async with debugging(plan, {}, Session(), log=log) as run:
        stop = await run.stop()
        assert (at(stop), stop.reasons) == ("error s.a", ("failure",))
        assert run.session.breakpoints[0].hit_count == 1, "its hit was counted, and is counted once"


# --- Interrupted steps -----------------------------------------------------------------------------------------------


def with_interrupted_b(plan: Plan) -> Any:
    async def log() -> MemoryLog:
        async with debugging(plan, {}, Session()) as run:
            await run.event(StepStarted, occurrence="b")
            return killed(run)

    return log()


async def test_a_step_that_asks_for_it_is_paused_before() -> None:
    plan = flow(leaf("a"), leaf("b", takes(0.01), on_interrupt="pause"), leaf("c"))
    async with debugging(plan, {}, Session(), log=await with_interrupted_b(plan)) as run:
        stop = await run.stop()
        assert (at(stop), stop.reasons) == ("before b", ("interrupted",))
        log = killed(run)
    async with debugging(plan, {}, Session(), log=log) as run:
        stop = await run.stop()
        assert (stop.id, stop.reasons) == (1, ("interrupted",))
        assert len(run.told(StepInterrupted)) == 1
        decided = killed(run)
        await run.session.skip(stop)
        await run.end()
        assert run.does.ran == ["c"]
    async with debugging(plan, {}, Session(), log=decided) as run:
        await run.session.continue_(await run.stop())
        log = killed(run)
        await run.end()
        assert run.does.ran == ["b", "c"]
    async with debugging(plan, {}, Session(), log=log) as run:
        assert (await run.end()).status is Status.PASSED, "that it is to run was said already"


@pytest.mark.parametrize("verb", ["continue_", "step_over", "step_into", "step_out"])
async def test_a_step_that_is_repeated_is_not_stopped_at_again_where_it_was_resumed(verb: str) -> None:
    plan = flow(leaf("a"), leaf("b", takes(0.01)), leaf("c"), leaf("d"))
    session = breaking("b", "d")
    async with debugging(plan, {}, session) as run:
        await getattr(run.session, verb)(await run.stop())
        await run.event(StepStarted, occurrence="b")
        log = killed(run)
    for _ in range(2):  # it is killed in the same step again
        async with debugging(plan, {}, Session(), log=log) as run:
            await run.event(StepStarted, occurrence="b")
            log = killed(run)
    async with debugging(plan, {}, Session(), log=log) as run:
        stop = await run.stop()
        expected = ("before c", ("step",)) if verb in ("step_over", "step_into") else ("before d", ("breakpoint",))
        assert (at(stop), stop.reasons) == expected
        assert run.session.breakpoints[0].hit_count == 1
        await run.session.detach()
        await run.end()

    assert run.does.ran == ["b", "c", "d"]


async def test_a_step_that_asks_for_it_is_paused_before_though_it_was_resumed_from_a_breakpoint() -> None:
    plan = flow(leaf("b", takes(0.01), on_interrupt="pause"))
    async with debugging(plan, {}, breaking("b")) as run:
        await run.session.continue_(await run.stop())
        await run.event(StepStarted, occurrence="b")
        log = killed(run)
    async with debugging(plan, {}, Session(), log=log) as run:
        assert (await run.stop()).reasons == ("interrupted",)


async def test_a_breakpoint_stops_again_after_going_back_to_before_a_repeated_step() -> None:
    plan = flow(leaf("a"), leaf("b", takes(0.01)), leaf("c"))
    async with debugging(plan, {}, breaking("b", "c")) as run:
        await run.session.continue_(await run.stop())
        await run.event(StepStarted, occurrence="b")
        log = killed(run)
    async with debugging(plan, {}, Session(), log=log) as run:
        stop = await run.stop()
        assert at(stop) == "before c"
        await run.session.restart_frame(stop)
        first = await run.stop()
        assert at(first) == "before a"
        assert at(await run.on(first)) == "before b"


async def test_detached_nobody_is_asked_and_it_fails() -> None:
    plan = flow(leaf("a"), leaf("b", takes(60), on_interrupt="pause"))
    async with debugging(plan, {}, Session(stop_on_error=False)) as run:
        await run.event(StepStarted, occurrence="b")
        await run.session.detach()
        log = killed(run)
    async with debugging(plan, {}, Session(), log=log) as run:
        result = await run.end()

    assert result.error is not None
    assert result.error.type == "Interrupted"


# --- Leases ----------------------------------------------------------------------------------------------------------


@virtual_time
async def test_a_stop_goes_on_with_what_is_left_of_its_lease() -> None:
    async with debugging(THREE, {}, breaking("b", lease_seconds=2000)) as run:
        first = await run.stop()
        began = run.told(Stopped)[0].at
        assert first.lease_ends_at == began + 2000
        await asyncio.sleep(500)
        await run.session.extend(3000)
        assert first.lease_ends_at == began + 3500
        log = killed(run)
        await asyncio.sleep(1000)
        await run.session.detach()
        await run.end()
    async with debugging(THREE, {}, Session(), log=log) as run:
        stop = await run.stop()
        assert stop.lease_ends_at == first.lease_ends_at


@virtual_time
async def test_whoever_was_away_for_longer_than_the_lease_has_time_to_find_the_stop() -> None:
    async with debugging(THREE, {}, breaking("b", lease_seconds=100)) as run:
        await run.stop()
        log = killed(run)
        await run.session.detach()
        await run.end()
    await asyncio.sleep(50_000)
    async with debugging(THREE, {}, Session(), log=log) as run:
        stop = await run.stop()
        await asyncio.sleep(200)
        assert not stop.is_over
        result = await run.end()

    assert (result.status, result.error and result.error.message) == (
        Status.CANCELLED,
        "stop 1 timed out",
    )


# --- Another session -------------------------------------------------------------------------------------------------


async def test_the_session_of_another_run_has_nothing_to_do_with_this_one() -> None:
    class CarriedOver(MemoryLog):
        carried_over = 0

    async with debugging(THREE, {}, breaking("b")) as run:
        await run.stop()
        log = CarriedOver(killed(run).read())
        log.carried_over = len(log)
    session = breaking("c")
    async with debugging(THREE, {}, session, log=log) as run:
        stop = await run.stop()
        assert (at(stop), stop.id) == ("before c", 2)
        assert [each.step for each in session.breakpoints] == ["c"]
        view = fold(log.read())
        assert list(view.stops) == [2]
        assert [each["step"] for each in view.breakpoints.values()] == ["c"]
        assert not run.told(AllContinued)


async def test_a_run_that_has_ended_has_no_session_to_come_back() -> None:
    async with debugging(THREE, {}, breaking("b")) as run:
        await run.stop()
        await run.session.detach()
        await run.end()
        log = killed(run)
    session = breaking("c", stop_at_end=True)
    async with debugging(THREE, {}, session, log=log) as run:
        assert (await run.stop()).reasons == ("completed",)
