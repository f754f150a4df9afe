"""A session as JSON: taken out, put back, and gone on with."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from pitstop.debugger.session import Session
from pitstop.errors import BadLog, PitstopError
from pitstop.events.log import MemoryLog
from pitstop.events.outcome import Status
from pitstop.events.types import RunStarted, Stopped
from pitstop.events.view import fold
from tests.debugger.bench import State, at, debugging, graph
from tests.engine.flows import flow, give, leaf, parallel

CHAIN = graph("a > b > c").compile()


def through_json(session: Session) -> dict[str, Any]:
    """What is left of an export that was written to a file and read again."""
    exported: dict[str, Any] = json.loads(json.dumps(session.export(), allow_nan=False))
    return exported


async def paused_session() -> Session:
    """A session whose run was killed while it was stopped before b, with an edit."""
    session = Session(stop_on_error=False)
    session.add_breakpoint("b", condition=".n == 1", group="mine")
    async with debugging(CHAIN, {"n": 1}, session) as run:
        stop = await run.stop()
        session.watch(".n + 1")
        await session.set(stop, ".n", 5)
        session.log = MemoryLog(run.log.read())
    return session


async def test_a_session_is_exported_as_json() -> None:
    exported = through_json(await paused_session())

    assert sorted(exported) == ["breakpoints", "events", "options", "version", "watches"]
    assert exported["events"][0]["kind"] == "run.started"


def test_a_session_can_be_exported_before_it_has_a_run() -> None:
    session = Session(stop_at_entry=True, stop_at_end=True, lease_seconds=60, on_lease_end="continue")
    again = Session.from_export(through_json(session))

    assert (again.stop_at_entry, again.stop_at_end, again.lease_seconds, again.on_lease_end) == (
        True,
        True,
        60,
        "continue",
    )
    assert [each.as_dict() for each in again.breakpoints] == [each.as_dict() for each in session.breakpoints]


async def test_breakpoints_watches_and_log_come_back() -> None:
    session = await paused_session()
    again = Session.from_export(through_json(session))

    (breakpoint,) = again.breakpoints
    assert (breakpoint.step, breakpoint.condition, breakpoint.group) == ("b", ".n == 1", "mine")
    assert breakpoint.hit_count == 0
    assert again.watches == (".n + 1",)
    assert fold(again.log.read()) == fold(session.log.read())


@pytest.mark.parametrize(
    "shape",
    [
        {"step": "b"},
        {"step": "b", "position": "after"},
        {"position": "error"},
        {"kind": "node", "enabled": False},
        {"file": "x.py", "line": 3},
        {"step": "b", "condition": ".n > 1", "hits": ">= 3", "once": True, "group": "g"},
        {"step": "b", "log": "it is ${{ .n }}"},
        {"state": ".n"},
        {"state": ".n", "equals": None},
        {"state": ".n", "equals": {"a": [1, None]}},
        {"step": ""},
        {"step": "b", "condition": ""},
    ],
    ids=str,
)
def test_a_breakpoint_of_any_shape_comes_back_as_it_was(shape: dict[str, Any]) -> None:
    session = Session(stop_on_error=False)
    session.add_breakpoint(**shape)

    assert Session.from_export(through_json(session)).breakpoints == session.breakpoints


def test_breakpoints_added_after_an_import_have_new_ids() -> None:
    session = Session(stop_on_error=False)
    session.add_breakpoint("a")
    session.add_breakpoint("b")
    session.remove_breakpoint(1)
    again = Session.from_export(through_json(session))

    assert again.add_breakpoint("c").id == 3


@pytest.mark.parametrize("equals", [float("nan"), {1, 2}, b"bytes", object()], ids=["nan", "set", "bytes", "object"])
def test_an_export_is_json_whatever_a_breakpoint_compares_with(equals: Any) -> None:
    session = Session(stop_on_error=False)
    session.add_breakpoint(state=".n", equals=equals)

    through_json(session)


def test_a_condition_that_is_a_function_is_not_taken_for_no_condition() -> None:
    """JSON cannot keep it: what comes back must not stop everywhere where the function said no."""
    session = Session(stop_on_error=False)
    session.add_breakpoint("a", condition=lambda scope: False)
    (again,) = Session.from_export(through_json(session)).breakpoints

    assert again.condition is not None or not again.enabled


# --- Going on from an export -----------------------------------------------------------------------------------------


async def test_a_run_goes_on_from_an_exported_log() -> None:
    again = Session.from_export(through_json(await paused_session()))
    again.add_breakpoint("c")
    log = MemoryLog(again.log.read())
    before = len(log)
    async with debugging(CHAIN, None, again, log=log) as run:
        stop = await run.stop()
        assert (at(stop), stop.scope.as_dict()) == ("before c", {"n": 5, "a": "done", "b": "done"})
        await again.continue_(stop)
        result = await run.end()

    assert (result.status, result.state["n"]) == (Status.PASSED, 5)
    assert [event for event in log.read(before) if isinstance(event, RunStarted)]
    assert run.ran == ["a", "b", "c"]
    assert len(result.intervened) == 1


async def test_a_stop_that_lasted_is_there_again_and_those_that_follow_have_new_ids() -> None:
    again = Session.from_export(through_json(await paused_session()))
    again.add_breakpoint("c")
    log = MemoryLog(again.log.read()[: _number_of_stop(again) + 1])  # killed while it was paused
    assert list(fold(log.read()).stops) == [1]
    async with debugging(CHAIN, None, again, log=log) as run:
        stop = await run.stop()
        assert (at(stop), stop.id) == ("before b", 1)
        assert list(fold(log.read()).stops) == [1]

        stop = await run.on(stop)
        assert (at(stop), stop.id) == ("before c", 2)
        assert list(fold(log.read()).stops) == [2]


def _number_of_stop(session: Session) -> int:
    return next(number for number, event in enumerate(session.log.read(), 1) if isinstance(event, Stopped))


async def test_a_run_of_branches_goes_on_where_each_of_them_was() -> None:
    plan = flow(parallel("p", give("x", 1), leaf("y")), leaf("z"))
    session = Session()
    session.add_breakpoint("y")
    async with debugging(plan, {}, session) as run:
        await run.stop()
        exported = through_json(session)

    again = Session.from_export(exported)
    async with debugging(plan, {}, again, log=MemoryLog(again.log.read())) as run:
        stop = await run.stop()
        assert at(stop) == "before p.y"
        await again.continue_(stop)
        result = await run.end()
    assert result.state["steps"]["x"]["outputs"] == 1
    assert run.ran.count("p.x") == 1


async def test_an_injected_function_that_had_run_is_not_needed_again() -> None:
    session = Session()
    session.add_breakpoint("b")
    session.add_breakpoint("c")
    async with debugging(CHAIN, {}, session) as run:
        stop = await run.stop()
        await session.inject(stop, lambda state: {"extra": 1})
        await run.on(stop)
        exported = through_json(session)

    result = await CHAIN.invoke(None, log=MemoryLog(Session.from_export(exported).log.read()))
    assert (result.status, result.state["extra"]) == (Status.PASSED, 1)


# --- Damaged exports -------------------------------------------------------------------------------------------------


def whole() -> dict[str, Any]:
    session = Session()
    session.watch(".n")
    return through_json(session)


DAMAGES: dict[str, Callable[[dict[str, Any]], Any]] = {
    "not an object": lambda good: [],
    "text": lambda good: "a session",
    "nothing": lambda good: None,
    "another version": lambda good: {**good, "version": 99},
    "no version": lambda good: {key: value for key, value in good.items() if key != "version"},
    "no options": lambda good: {key: value for key, value in good.items() if key != "options"},
    "no events": lambda good: {key: value for key, value in good.items() if key != "events"},
    "an unknown option": lambda good: {**good, "options": {**good["options"], "colour": "red"}},
    "an odd lease": lambda good: {**good, "options": {**good["options"], "lease_seconds": "long"}},
    "an odd policy": lambda good: {**good, "options": {**good["options"], "on_lease_end": "explode"}},
    "breakpoints that are none": lambda good: {**good, "breakpoints": [1, 2]},
    "a breakpoint without id": lambda good: {**good, "breakpoints": [{"step": "a"}]},
    "a breakpoint with an odd id": lambda good: {**good, "breakpoints": [{"id": "one"}]},
    "a breakpoint with odd hits": lambda good: {**good, "breakpoints": [{"id": 1, "hits": "often"}]},
    "watches that are none": lambda good: {**good, "watches": 7},
    "watches that are one text": lambda good: {**good, "watches": ".n"},
    "watches that are numbers": lambda good: {**good, "watches": [1, 2]},
    "events that are none": lambda good: {**good, "events": {"a": 1}},
    "an event without kind": lambda good: {**good, "events": [{"at": 1.0}]},
    "half an event": lambda good: {**good, "events": [{"kind": "step.started", "at": 1.0}]},
}


@pytest.mark.parametrize("damage", list(DAMAGES))
def test_a_damaged_export_is_refused_by_name(damage: str) -> None:
    with pytest.raises(PitstopError):
        Session.from_export(DAMAGES[damage](whole()))


async def test_a_log_of_another_plan_is_refused() -> None:
    session = await paused_session()
    other = graph("a > b")
    other.name = "another"

    with pytest.raises(BadLog, match="belongs to"):
        await other.compile().invoke(None, log=MemoryLog(session.log.read()))


# --- Odd values ------------------------------------------------------------------------------------------------------


async def test_odd_values_are_shown_in_an_export_as_json_can() -> None:
    cycle: list[Any] = []
    cycle.append(cycle)

    def odd(state: State) -> State:
        return {
            "nan": float("nan"),
            "bytes": b"\x00\xff",
            "cycle": cycle,
            "object": object(),
            "set": {2, 1},
            "surrogate": "\ud800",
            "big": 10**400,
            "function": odd,
        }

    session = Session()
    session.add_breakpoint("b")
    async with debugging(graph("a > b", a=odd), {"exception": ValueError("x")}, session) as run:
        stop = await run.stop()
        await session.set(stop, ".more", cycle)
        exported = through_json(session)
        await session.continue_(stop)
        assert (await run.end()).status is Status.PASSED

    finished = next(event for event in exported["events"] if event["kind"] == "step.finished")
    outputs = finished["outcome"]["outputs"]
    assert (outputs["nan"], outputs["set"], outputs["cycle"]) == ("NaN", [1, 2], ["<cycle>"])
    assert fold(Session.from_export(exported).log.read()).steps["a"].status == "passed"


async def test_breakpoints_and_watches_are_stored_for_another_session() -> None:
    session = Session()
    session.add_breakpoint("a", note="look", group="mine", enabled=False)
    session.add_breakpoint("b", once=True)
    session.add_breakpoint(state=".n", equals=None)
    session.watch(".n")

    again = Session()
    again.use_setup(json.loads(json.dumps(session.setup())))

    assert [(each.step, each.note, each.group, each.enabled) for each in again.breakpoints[1:]] == [
        ("a", "look", "mine", False),
        (None, None, None, True),
    ]
    assert (again.watches, again.setup()["watches"]) == ((".n",), [".n"])
    with pytest.raises(BadLog, match="not the setup of a session"):
        again.use_setup({"breakpoints": [{"stap": "a"}], "watches": []})
