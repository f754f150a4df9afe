import math
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pitstop.errors import BadLog
from pitstop.events.outcome import Outcome, Status
from pitstop.events.types import AnyEvent, RunStarted, ScopeEdited, StepFinished, Unknown
from pitstop.store.sql.columns import LONGEST_NAME, from_column, name_to_column, to_column
from pitstop.store.sql.event_codec import blobs_of, kind_of, pack_event, unpack_event, without_large_values
from pitstop.store.sql.packing import encoder, pack, unpack

texts = st.text(st.characters(categories=None))
scalars = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.binary() | texts
keys = st.integers() | texts | st.binary(max_size=4) | st.tuples(st.integers(), texts)
values = st.recursive(scalars, lambda inner: st.lists(inner) | st.dictionaries(keys, inner), max_leaves=30)


def finished(outputs: Any) -> StepFinished:
    return StepFinished(1.0, "main", "build", "build#1", Outcome(Status.PASSED, outputs))


@given(values)
def test_any_value_comes_back_as_it_was(value: Any) -> None:
    assert unpack(pack(value)) == value


@given(values)
def test_any_value_in_an_event_comes_back_as_it_was(value: Any) -> None:
    event = finished({"value": value})
    assert unpack_event(pack_event(event)) == event


@given(texts)
def test_any_text_can_stand_in_a_column(text: str) -> None:
    column = to_column(text)
    assert from_column(column) == text
    assert "\x00" not in column
    column.encode()


@given(texts, st.integers(0, 300), st.integers(0, 300))
def test_names_of_any_length_stay_apart(text: str, first: int, second: int) -> None:
    names = [name_to_column((text or "x") * repeated) for repeated in (10 * first, 10 * second)]
    assert (names[0] == names[1]) == (first == second)
    assert max(map(len, names)) <= LONGEST_NAME + 40


def test_numbers_that_json_does_not_know_come_back() -> None:
    event = unpack_event(pack_event(finished([math.nan, math.inf, -math.inf, 2**200, -(2**64), -0.0])))

    assert isinstance(event, StepFinished)
    nan, *others = event.outcome.outputs
    assert math.isnan(nan)
    assert others == [math.inf, -math.inf, 2**200, -(2**64), 0.0]


@pytest.mark.parametrize("depth", [100, 900, 50_000])
def test_a_value_of_any_depth_comes_back(depth: int) -> None:
    value: Any = "bottom"
    for level in range(depth):
        value = {"in": value} if level % 2 else [value]
    event = unpack_event(pack_event(ScopeEdited(1.0, 1, "main", "build", "build#1", "before", "vars", ("x", 1), value)))

    assert isinstance(event, ScopeEdited)
    found = event.value
    for level in reversed(range(depth)):
        found = found["in"] if level % 2 else found[0]
    assert found == "bottom"
    assert event.path == ("x", 1)


def test_a_value_inside_itself_comes_back_inside_itself() -> None:
    value: dict[str, Any] = {"name": "own"}
    value["self"] = value
    event = unpack_event(pack_event(RunStarted(1.0, "plan", value)))

    assert isinstance(event, RunStarted)
    assert event.inputs["self"]["self"]["name"] == "own"


@dataclass
class Point:
    x: int
    y: object


class Odd:
    def __repr__(self) -> str:
        return "<odd>"


def test_what_has_no_form_of_its_own_is_shown() -> None:
    event = unpack_event(pack_event(finished({"odd": Odd(), "point": Point(1, Odd()), "big": 2**70, "set": {1}})))

    assert isinstance(event, StepFinished)
    assert event.outcome.outputs == {"odd": "<odd>", "point": {"x": 1, "y": "<odd>"}, "big": 2**70, "set": [1]}


def test_an_event_of_a_later_version_keeps_its_place_and_its_name() -> None:
    later = encoder.encode({"kind": "step.teleported", "at": 3.5, "where": "elsewhere"})
    event = unpack_event(later)

    assert event == Unknown(3.5, "step.teleported")
    assert kind_of(event) == "step.teleported"
    assert unpack_event(pack_event(event)) == event


@pytest.mark.parametrize("body", [b"", b"\xc1", b"\x81\xa4kind", encoder.encode({"kind": "run.started", "at": "x"})])
def test_a_damaged_event_is_told(body: bytes) -> None:
    with pytest.raises(BadLog):
        unpack_event(body)


def test_large_values_leave_the_event_and_the_same_value_is_the_same_blob() -> None:
    large = {"text": "x" * 50_000, "deep": {"bytes": bytes(40_000), "n": 1}, "small": [1, 2]}
    first: AnyEvent = finished(large)
    second: AnyEvent = finished({"again": large["text"]})
    body, blobs = without_large_values(pack_event(first))
    other_body, other_blobs = without_large_values(pack_event(second))

    assert len(body) < 1000
    assert blobs_of(body) <= blobs.keys()
    assert other_blobs.items() <= blobs.items()
    assert unpack_event(body, blobs) == first
    assert unpack_event(other_body, blobs) == second
    with pytest.raises(LookupError):
        unpack_event(body)


def test_a_large_value_that_had_to_be_made_flat_comes_back() -> None:
    event = finished({"text": "x" * 50_000, "n": 2**80, "half": "\ud800"})
    body, blobs = without_large_values(pack_event(event))

    assert len(body) < 1000
    assert unpack_event(body, blobs) == event
