"""The log: followed by many, and written as JSON."""

import asyncio
import dataclasses
import json
import math
from datetime import datetime
from pathlib import PurePosixPath
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pitstop.errors import BadLog
from pitstop.events.log import MemoryLog, events_from_json, events_to_json
from pitstop.events.outcome import Outcome, Status, StepError
from pitstop.events.types import (
    AnyEvent,
    FrameEnded,
    FrameOpened,
    RunEnded,
    RunStarted,
    ScopeEdited,
    StepFinished,
    StepRouted,
    StepStarted,
    Stopped,
)
from pitstop.events.view import fold
from tests.engine.virtual_time import virtual_time


def started(number: int) -> AnyEvent:
    return StepStarted(float(number), "main", "a", f"a@{number}")


ENDED = RunEnded(9.0, Outcome(Status.PASSED))


# --- In memory -------------------------------------------------------------------------------------------------------


def test_events_are_numbered_from_one_in_the_order_they_came() -> None:
    log = MemoryLog([started(1)])
    log.append(started(2))
    log.append(started(3))

    assert len(log) == 3
    assert list(log.read(after=1)) == [started(2), started(3)]
    assert list(log.read(after=3)) == []


def test_what_was_read_does_not_grow() -> None:
    log = MemoryLog([started(1)])
    read = log.read()

    log.append(started(2))

    assert list(read) == [started(1)]


@virtual_time
async def test_several_followers_hear_all_there_was_and_all_that_comes_until_the_end() -> None:
    log = MemoryLog([started(1), started(2)])

    async def follow(after: int, pause: float) -> list[AnyEvent]:
        heard = []
        async for event in log.follow(after):
            heard.append(event)
            await asyncio.sleep(pause)
        return heard

    async with asyncio.TaskGroup() as group:
        quick = group.create_task(follow(0, 0))
        slow = group.create_task(follow(1, 10))
        late = group.create_task(follow(3, 0.1))
        for number in (3, 4, 5):
            await asyncio.sleep(1)
            log.append(started(number))
        log.append(ENDED)
        log.append(started(99))

    assert quick.result() == [*map(started, range(1, 6)), ENDED]
    assert slow.result() == [*map(started, range(2, 6)), ENDED]
    assert late.result() == [started(4), started(5), ENDED]


@virtual_time
async def test_a_follower_may_leave_while_others_stay() -> None:
    log = MemoryLog()

    async def leave_after_one() -> AnyEvent:
        events = log.follow()
        async for event in events:
            await events.aclose()  # type: ignore[attr-defined]
            return event
        raise AssertionError

    async def stay() -> int:
        return len([event async for event in log.follow()])

    async with asyncio.TaskGroup() as group:
        leaver, stayer = group.create_task(leave_after_one()), group.create_task(stay())
        await asyncio.sleep(1)
        log.append(started(1))
        await asyncio.sleep(1)
        log.append(ENDED)

    assert leaver.result() == started(1)
    assert stayer.result() == 2


# --- As JSON ---------------------------------------------------------------------------------------------------------


def through_json(events: list[AnyEvent]) -> list[AnyEvent]:
    text = json.dumps(events_to_json(events), allow_nan=False)
    return events_from_json(json.loads(text))


def test_every_field_comes_back() -> None:
    failed = Outcome(Status.TIMED_OUT, {"x": [1, None]}, StepError("Timeout", "too long", "a.b#2", "trace"), 1.5)
    events: list[AnyEvent] = [
        RunStarted(1.5, "flow", {"inputs": {"a": 1}}),
        FrameOpened(2.0, "main", "flow", None, ""),
        StepStarted(3.0, "main", "a.b", "a.b#2"),
        StepFinished(4.0, "main", "a.b", "a.b#2", failed),
        StepRouted(4.5, "main", "a", "a", ("b", "c")),
        Stopped(5.0, 1, "main", "a", "a", "before", ("step", "breakpoint"), (1, 2)),
        ScopeEdited(5.5, 1, "main", "a", "a", "before", "state", ("items", 0), {"y": 2}, True),
        FrameEnded(6.0, "main", "because"),
        RunEnded(7.0, failed),
    ]

    assert through_json(events) == events


@dataclasses.dataclass
class Point:
    x: int


CYCLE: dict[str, Any] = {}
CYCLE["self"] = CYCLE

ODD: list[Any] = [
    math.nan,
    math.inf,
    b"\xff\x00",
    {1: "number", "1": "text", None: 0, (1, 2): 3},
    {1, 2},
    (1, 2),
    datetime(2024, 1, 2, 3, 4, 5),  # noqa: DTZ001 - any date
    PurePosixPath("/x"),
    Point(1),
    object(),
    lambda: None,
    CYCLE,
    "\udc80 half a pair",
    "\x00\u2028",
    2**64,
    -(2**63) - 1,
    2**200,
    2**1100,
    1e308,
    {"kind": "step.started"},
]


@pytest.mark.parametrize("value", ODD, ids=lambda value: type(value).__name__)
def test_an_odd_value_never_makes_a_log_unreadable(value: Any) -> None:
    events: list[AnyEvent] = [
        RunStarted(1.0, "flow", {"odd": value}),
        StepFinished(2.0, "main", "a", "a", Outcome(Status.PASSED, {"odd": value})),
    ]

    again = through_json(events)

    assert [type(event) for event in again] == [RunStarted, StepFinished]
    assert through_json(again) == again, "and what was read is the same for good"
    assert fold(again).status == "running"


@pytest.mark.parametrize("number", [2**53 + 1, 2**63, 2**64, -(2**63) - 1, 2**200])
def test_a_whole_number_keeps_all_its_digits(number: int) -> None:
    (event,) = through_json([RunStarted(1.0, "flow", {"n": number})])

    assert isinstance(event, RunStarted)
    assert event.inputs == {"n": number}


json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=20,
)


@given(st.dictionaries(st.text(max_size=5), json_values, max_size=4))
def test_any_json_comes_back_as_it_was(values: dict[str, Any]) -> None:
    started_: AnyEvent = RunStarted(1.0, "flow", values)

    assert through_json([started_]) == [started_]


@pytest.mark.parametrize(
    "data",
    [
        None,
        7,
        "text",
        {},
        [7],
        [{}],
        [{"kind": "step.started"}],
        [{"kind": "step.started", "at": "noon", "frame": "main", "step": "a", "occurrence": "a"}],
        [{"kind": "run.ended", "at": 1.0, "outcome": {"status": "splendid"}}],
        [object()],
    ],
)
def test_what_is_no_log_is_refused(data: Any) -> None:
    with pytest.raises(BadLog, match="not an event log"):
        events_from_json(data)


def test_a_kind_of_event_that_is_not_known_is_passed_over_but_keeps_its_number() -> None:
    data: list[Any] = events_to_json([RunStarted(1.0, "flow", {}), started(2)])
    data.insert(1, {"kind": "from.the.future", "at": 1.5, "what": {"x": 1}})

    view = fold(events_from_json(data))

    assert view.last_event == 3
    assert list(view.steps) == ["a@2"]


def test_a_field_that_is_not_known_is_passed_over() -> None:
    (data,) = events_to_json([started(1)])

    assert events_from_json([{**data, "weather": "fine"}]) == [started(1)]
