"""Undoing a step back: what it abandoned counts again, until a step has finished on the new path."""

from typing import Any

import pytest

from pitstop.debugger.session import Session
from pitstop.debugger.stops import HistoryPoint
from pitstop.errors import NoFuture
from pitstop.events.log import MemoryLog, events_from_json, events_to_json
from pitstop.events.outcome import Status
from pitstop.events.types import RewindUndone, Rewound, StepStarted
from pitstop.events.view import RunView, fold
from tests.debugger.bench import Debugged, at, debugging
from tests.engine.flows import flow, give, leaf, parallel, sequence, takes
from tests.engine.virtual_time import virtual_time

LINE = flow(give("a", {"n": 1}), sequence("g", leaf("b"), leaf("c")), leaf("d"), leaf("e"))
BRANCHES = flow(
    leaf("a"), parallel("p", sequence("x", leaf("x1"), leaf("x2")), sequence("y", leaf("y1"), leaf("y2"))), leaf("z")
)
SLOW = flow(
    leaf("a"),
    parallel("p", sequence("x", leaf("x1"), leaf("x2")), sequence("y", leaf("y1", takes(5)), leaf("y2", takes(5)))),
    leaf("z"),
)


def breaking(*steps: str, **options: Any) -> Session:
    session = Session(**{"stop_on_error": False, **options})
    for step in steps:
        session.add_breakpoint(step)
    return session


def folded(run: Debugged) -> RunView:
    return fold(run.log.read())


def killed(run: Debugged, keep: int | None = None) -> MemoryLog:
    """The log that the next process has when this one ends."""
    return MemoryLog(events_from_json(events_to_json(run.log.read()[:keep])))


def point_of(run: Debugged, step: str) -> HistoryPoint:
    return next(each for each in run.session.history() if each.step == step)


async def starts_of(run: Debugged, occurrence: str, count: int) -> None:
    """Wait until an occurrence has begun so many times."""
    async for event in run.log.follow():
        count -= isinstance(event, StepStarted) and event.occurrence == occurrence
        if not count:
            return


def steps_in(view: RunView) -> dict[str, str]:
    return {name: step.status for name, step in view.steps.items()}


# --- Where a step back leads -----------------------------------------------------------------------------------------


async def test_back_is_the_previous_step_however_long_ago_the_last_stop_was() -> None:
    async with debugging(LINE, {}, breaking("e", stop_at_entry=True)) as run:
        stop = await run.on(await run.stop())
        assert at(stop) == "before e"
        way = run.session.way_back(stop)
        assert way is not None
        assert (way.step, way.occurrence, way.position, way.steps, way.restores_files) == ("d", "d", "before", 1, False)
        stop = await run.back(stop)
        assert at(stop) == "before d"
        way = run.session.way_back(stop)
        assert way is not None
        assert (way.occurrence, way.steps) == ("g", 2)
        stop = await run.back(stop)
        assert at(stop) == "before g"
        stop = await run.back(stop)
        assert at(stop) == "before a"
        assert run.session.way_back(stop) is None
        assert "step_back" not in stop.allowed
        await run.session.detach()
        await run.end()

    assert run.does.ran == ["g.b", "g.c", "d", "g.b", "g.c", "d", "e"]


async def test_back_leads_to_the_last_stop_inside_the_previous_step() -> None:
    async with debugging(LINE, {}, breaking("c", "d")) as run:
        stop = await run.on(await run.stop())
        assert at(await run.back(stop)) == "before g.c"


async def test_back_from_the_end_of_a_step_leads_to_before_it() -> None:
    session = breaking()
    session.add_breakpoint("d", "after")
    async with debugging(LINE, {}, session) as run:
        assert at(await run.back(await run.stop())) == "before d"


async def test_back_over_branches_leads_to_before_them() -> None:
    async with debugging(BRANCHES, {}, breaking("z")) as run:
        stop = await run.stop()
        way = run.session.way_back(stop)
        assert way is not None
        assert (way.occurrence, way.steps) == ("p", 4)
        assert at(await run.back(stop)) == "before p"


# --- Forward ---------------------------------------------------------------------------------------------------------


async def test_the_future_that_was_abandoned_is_returned_to() -> None:
    async with debugging(LINE, {}, breaking("e", stop_at_entry=True)) as run:
        first = await run.stop()
        await run.session.set(first, ".vars", {"kept": True})
        stop = await run.on(first)
        before, scope = steps_in(folded(run)), stop.scope.as_dict()
        assert "forward" not in stop.allowed
        with pytest.raises(NoFuture):
            await run.session.forward(stop)

        stop = await run.back(await run.back(stop))
        assert "forward" in stop.allowed
        way = run.session.way_forward(stop)
        assert way is not None
        assert (at(stop), way.occurrence, way.steps) == ("before g", "d", 2)
        assert await run.session.forward(stop) == way
        stop = await run.stop()
        assert at(stop) == "before d"
        await run.session.forward(stop)
        stop = await run.stop()

        assert at(stop) == "before e"
        assert stop.scope.as_dict() == scope
        assert steps_in(folded(run)) == before
        assert run.session.way_forward(stop) is None
        assert [at(each) for each in run.session._past["main"]] == ["before a", "before e"]
        assert at(await run.back(stop)) == "before d", "it can go back again"
        await run.session.detach()
        assert (await run.end()).status is Status.PASSED

    assert run.does.ran == ["g.b", "g.c", "d", "d", "e"], "returning runs nothing"
    assert len(run.told(RewindUndone)) == 2


async def test_a_step_that_has_finished_on_the_new_path_ends_it() -> None:
    async with debugging(LINE, {}, breaking("e")) as run:
        stop = await run.back(await run.stop())
        stop = await run.over(stop)
        assert at(stop) == "before e"
        assert "forward" not in stop.allowed
        with pytest.raises(NoFuture):
            await run.session.forward(stop)
        await run.session.detach()
        await run.end()


async def test_what_was_changed_on_the_new_path_does_not_count() -> None:
    async with debugging(LINE, {}, breaking("e")) as run:
        stop = await run.back(await run.stop())
        await run.session.set(stop, ".vars", {"gone": True})
        await run.session.forward(stop)
        stop = await run.stop()
        assert "vars" not in stop.scope.as_dict()
        await run.session.continue_(stop)
        assert (await run.end()).status is Status.PASSED


async def test_what_was_changed_at_the_stop_is_changed_again() -> None:
    async with debugging(LINE, {}, breaking("e")) as run:
        stop = await run.stop()
        await run.session.set(stop, ".vars", {"word": "old"})
        await run.session.set(stop, ".vars.word", "set there")
        await run.session.set(stop, ".vars.gone", 1)
        await run.session.undo(stop)
        await run.session.override_config(stop, {"n": 2})
        scope = stop.scope.as_dict()
        for _ in range(2):
            stop = await run.back(stop)
            assert "vars" not in stop.scope.as_dict()
            await run.session.forward(stop)
            stop = await run.stop()
            assert (at(stop), stop.scope.as_dict(), stop.problems) == ("before e", scope, ())
            assert steps_in(folded(run))["d"] == "passed"
        assert run.session._held[stop.id].config == {"n": 2}
        await run.session.undo(stop)
        await run.session.undo(stop)
        assert stop.scope.as_dict()["vars"] == {"word": "old"}, "each change can be undone"
        log = killed(run)
    async with debugging(LINE, {}, Session(), log=log) as run:
        stop = await run.stop()
        assert (at(stop), stop.scope.as_dict()["vars"]) == ("before e", {"word": "old"})


async def test_a_restart_and_a_rewind_can_be_undone() -> None:
    async with debugging(LINE, {}, breaking("e")) as run:
        stop = await run.stop()
        point = next(each for each in run.session.history() if each.step == "g.c")
        for go in (run.session.restart_frame(stop), None):
            if go is None:
                await run.session.rewind(stop, point)
            else:
                await go
            stop = await run.stop()
            await run.session.forward(stop)
            stop = await run.stop()
            assert at(stop) == "before e"
            point = next(each for each in run.session.history() if each.step == "g.c")
        await run.session.continue_(stop)
        assert (await run.end()).status is Status.PASSED
    assert run.does.ran == ["g.b", "g.c", "d", "e"]


@virtual_time
async def test_branches_are_as_they_were() -> None:
    slow = flow(leaf("a"), parallel("p", sequence("x", leaf("x1"), leaf("x2")), leaf("y", takes(5))), leaf("z"))
    async with debugging(slow, {}, breaking("x2", "z")) as run:
        inside = await run.stop()
        point = next(each for each in run.session.history() if each.step == "a")
        await run.session.rewind(inside, point)
        stop = await run.stop()
        assert at(stop) == "before a"
        await run.session.forward(stop)
        stop = await run.stop()
        assert at(stop) == "before p.x.x2"
        await run.session.continue_(stop)
        stop = await run.stop()
        assert at(stop) == "before z"
        await run.session.rewind(stop, next(each for each in run.session.history() if each.step == "a"))
        await run.session.forward(await run.stop())
        stop = await run.stop()
        assert at(stop) == "before z"
        await run.session.continue_(stop)
        assert (await run.end()).status is Status.PASSED

    assert run.does.ran == ["a", "p.x.x1", "p.y", "p.y", "p.x.x2", "z"]


@virtual_time
async def test_what_is_cancelled_in_a_branch_of_the_new_path_counts_as_it_was() -> None:
    async with debugging(SLOW, {}, breaking("x1", "z")) as run:
        stop = await run.on(await run.stop())
        before = steps_in(folded(run))
        await run.session.rewind(stop, point_of(run, "p"))
        stop = await run.on(await run.stop())
        assert at(stop) == "before p.x.x1"
        await starts_of(run, "p.y.y1", 2)
        await run.session.forward(stop)
        stop = await run.stop()
        assert at(stop) == "before z"
        assert steps_in(folded(run)) == before
        assert stop.scope.as_dict()["steps"]["y1"]["status"] == "passed"
        await run.session.continue_(stop)
        assert (await run.end()).state["steps"]["y1"]["status"] == "passed"


@virtual_time
async def test_a_branch_that_another_one_sent_back_is_as_it_was() -> None:
    async with debugging(SLOW, {}, breaking("x2")) as run:
        stop = await run.stop()
        await starts_of(run, "p.y.y2", 1)
        before = steps_in(folded(run))
        await run.session.rewind(stop, point_of(run, "p.y.y1"))
        stops = await run.stops(2)
        await run.session.set(stops["before p.y.y1"], ".vars", {"gone": True})
        await run.session.continue_(stops["before p.y.y1"])
        await starts_of(run, "p.y.y1", 2)
        run.session.add_breakpoint("y2")
        await run.session.forward(stops["before p.x.x2"])
        stops = await run.stops(2)
        assert list(stops) == ["before p.x.x2", "before p.y.y2"]
        assert steps_in(folded(run)) == before | {"p": "paused", "p.y": "paused", "p.y.y2": "paused"}
        assert "vars" not in stops["before p.y.y2"].scope.as_dict()
        log = killed(run)
        await run.session.detach()
        assert (await run.end()).status is Status.PASSED
    assert run.does.ran == ["a", "p.x.x1", "p.y.y1", "p.y.y2", "p.y.y1", "p.x.x2", "p.y.y2", "z"]

    async with debugging(SLOW, {}, Session(), log=log) as run:
        stop = await run.back((await run.stops(2))["before p.y.y2"])
        assert at(await run.on(stop)) == "before p.y.y2"
    assert run.does.ran == ["p.y.y1"]


@virtual_time
async def test_a_step_that_began_on_the_new_path_alone_has_not_begun() -> None:
    async with debugging(SLOW, {}, breaking("x1", "y1")) as run:
        stops = await run.stops(2)
        before = steps_in(folded(run))
        await run.session.rewind(stops["before p.x.x1"], point_of(run, "p"))
        await run.session.continue_(await run.stop())
        stops = await run.stops(2)
        await run.session.continue_(stops["before p.y.y1"])
        await starts_of(run, "p.y.y1", 1)
        await run.session.forward(stops["before p.x.x1"])
        stops = await run.stops(2)
        assert list(stops) == ["before p.x.x1", "before p.y.y1"]
        assert steps_in(folded(run)) == before


async def test_the_next_process_can_return_and_be_returned() -> None:
    async with debugging(LINE, {}, breaking("e")) as run:
        await run.back(await run.stop())
        log = killed(run)
    async with debugging(LINE, {}, Session(), log=log) as run:
        stop = await run.stop()
        assert at(stop) == "before d"
        assert run.session.way_forward(stop) is not None
        await run.session.forward(stop)
        await run.event(RewindUndone)
        number = len(run.log.read())
        assert at(await run.stop()) == "before e"
    rewound = next(index for index, event in enumerate(run.log.read(), 1) if isinstance(event, RewindUndone))
    for keep in (rewound, number):
        async with debugging(LINE, {}, Session(), log=killed(run, keep)) as again:
            stop = await again.stop()
            assert at(stop) == "before e"
            await again.session.continue_(stop)
            assert (await again.end()).status is Status.PASSED
        assert again.does.ran == ["e"]
    assert len(run.told(Rewound)) == 2
