"""What is shown of any Python value, and of the difference between two."""

import json
import math
from collections import ChainMap, OrderedDict, deque, namedtuple
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from enum import Enum, IntEnum, StrEnum
from pathlib import PurePosixPath
from types import MappingProxyType
from typing import Any
from uuid import UUID

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pitstop.plan.paths import parse_path, read_path, with_value, without
from pitstop.plan.values import Change, as_json, diff

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=20,
)
odd_scalars = (
    st.floats()
    | st.binary()
    | st.text(st.characters())
    | st.complex_numbers()
    | st.datetimes()
    | st.decimals(allow_nan=False)
    | st.integers(min_value=2**1030)
    | st.sampled_from([object, len, ..., range(3), ValueError("no"), object()])
)
python_values = st.recursive(
    odd_scalars,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.tuples(inner, inner)
        | st.dictionaries(odd_scalars, inner, max_size=4)
        | st.frozensets(st.text() | st.integers(), max_size=4)
    ),
    max_leaves=20,
)


class Color(Enum):
    RED = "red"


class Level(IntEnum):
    HIGH = 3


class Word(StrEnum):
    HELLO = "hello"


@dataclass
class Point:
    x: int
    y: object


class Struct(msgspec.Struct):
    name: str
    tags: set[str]


class Model:
    def model_dump(self) -> dict[str, Any]:
        return {"id": 7}


class Rude:
    def __repr__(self) -> str:
        raise RuntimeError("no")


class RudeModel(Rude):
    def model_dump(self) -> dict[str, Any]:
        raise RuntimeError("no")


Pair = namedtuple("Pair", "left right")


@given(json_values)
def test_plain_json_is_returned_as_it_is(value: object) -> None:
    assert as_json(value) is value


@given(python_values)
def test_whatever_is_given_the_answer_can_be_encoded(value: object) -> None:
    shown = as_json(value)

    assert msgspec.json.decode(msgspec.json.encode(shown)) == shown
    assert as_json(shown) is shown
    json.dumps(shown, allow_nan=False)


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (math.nan, "NaN"),
        ([math.inf, -math.inf], ["Infinity", "-Infinity"]),
        ((1, 2), [1, 2]),
        ({3, 1, 2}, [1, 2, 3]),
        (deque([1]), [1]),
        (b"\x00\xff", {"$bytes": "AP8=", "size": 2}),
        (bytearray(b"a"), {"$bytes": "YQ==", "size": 1}),
        (Color.RED, "red"),
        (Level.HIGH, 3),
        (Word.HELLO, "hello"),
        (Point(1, Point(2, None)), {"x": 1, "y": {"x": 2, "y": None}}),
        (Struct("a", {"b"}), {"name": "a", "tags": ["b"]}),
        (Model(), {"id": 7}),
        (Pair(1, "r"), {"left": 1, "right": "r"}),
        (OrderedDict(a=1), {"a": 1}),
        (ChainMap({"a": 1}, {"b": 2}), {"a": 1, "b": 2}),
        (MappingProxyType({"a": {1}}), {"a": [1]}),
        (datetime(2026, 3, 1, 12, tzinfo=UTC), "2026-03-01T12:00:00+00:00"),
        (date(2026, 3, 1), "2026-03-01"),
        (timedelta(minutes=1), "0:01:00"),
        (Decimal("1.10"), "1.10"),
        (UUID(int=1), "00000000-0000-0000-0000-000000000001"),
        (PurePosixPath("a/b"), "a/b"),
        (2**1023, 2**1023),
        ("\udc80é", "\\udc80é"),
        ({"\ud800": 1}, {"\\ud800": 1}),
        (
            {2: "a", None: "b", True: "c", (1, 2): "d", Color.RED: "e", 1.5: "f"},
            {"2": "a", "null": "b", "true": "c", "(1, 2)": "d", "red": "e", "1.5": "f"},
        ),
        ({1: "a", "1": "b"}, {"1": "a", "1'": "b"}),
        (ValueError("no"), "ValueError('no')"),
        (Model, "<class '" + Model.__module__ + ".Model'>"),
    ],
)
def test_python_values_are_shown_sensibly(value: object, shown: object) -> None:
    assert as_json(value) == shown
    assert as_json([value]) == [shown]


def test_a_long_description_is_cut() -> None:
    shown = as_json(range(10**250))

    assert isinstance(shown, str)
    assert len(shown) == 200
    assert shown.endswith("…")


def test_an_int_that_no_reader_could_hold_is_shown_in_part() -> None:
    assert str(as_json(10**5000)).startswith("0x")


def test_a_large_bytes_value_is_shown_in_part_with_its_size() -> None:
    shown = as_json(bytes(10**6))

    assert isinstance(shown, dict)
    assert shown["size"] == 10**6
    assert len(str(shown["$bytes"])) == 2048


@pytest.mark.parametrize("kind", [Rude, RudeModel])
def test_an_object_that_refuses_to_be_described_is_survived(kind: type) -> None:
    shown = as_json({"before": 1, "it": kind(), "after": 2})

    assert isinstance(shown, dict)
    assert kind.__name__ in str(shown["it"])
    assert (shown["before"], shown["after"]) == (1, 2)


def test_a_class_that_cannot_be_hashed_is_survived() -> None:
    class Meta(type):
        __hash__ = None  # type: ignore[assignment]

        def __eq__(cls, other: object) -> bool:
            raise RuntimeError("no")

    class Odd(metaclass=Meta):
        pass

    assert "Odd" in str(as_json(Odd()))
    assert "Odd" in str(as_json({"a": [Odd()]}))
    assert len(diff({"a": Odd()}, {"a": 1})) == 1


def test_a_cycle_is_shown_where_it_closes() -> None:
    loop: dict[str, Any] = {"name": "loop", "points": [Point(1, None)]}
    loop["self"] = loop
    loop["points"][0].y = loop["points"]

    assert as_json(loop) == {"name": "loop", "points": [{"x": 1, "y": "<cycle>"}], "self": "<cycle>"}


def test_a_cycle_that_branches_ends_too() -> None:
    loop: list[Any] = []
    loop += [loop] * 10

    assert as_json(loop) == ["<cycle>"] * 10


def test_a_value_that_appears_twice_is_no_cycle() -> None:
    shared = {"a": (1,)}

    assert as_json([shared, shared]) == [{"a": [1]}, {"a": [1]}]


def test_what_is_too_deep_is_left_out() -> None:
    assert as_json([[[[1]]]], max_depth=2) == [["<deeper>"]]
    assert as_json([[1]], max_depth=2) == [[1]]

    endless: list[Any] = []
    for _ in range(100_000):
        endless = [endless]
    assert "<deeper>" in json.dumps(as_json(endless))


def test_only_so_many_values_are_shown_in_all() -> None:
    assert as_json([1, 2, 3, 4], max_items=3) == [1, 2, 3, "<1 more>"]
    assert as_json({"a": 1, "b": 2}, max_items=1) == {"a": 1, "<more>": "<1 more>"}
    assert as_json([[1, 2], [3, 4]], max_items=4) == [[1, 2], ["<2 more>"]]


def test_shared_parts_cannot_multiply_without_end() -> None:
    bomb: list[Any] = [1]
    for _ in range(60):
        bomb = [bomb, bomb]

    assert len(json.dumps(as_json(bomb, max_items=1000))) < 100_000


def test_the_plain_parts_of_a_value_are_not_copied() -> None:
    plain = {"rows": [{"id": i} for i in range(100)]}
    value = {"deep": {"deeper": {"plain": plain, "odd": {1}}}}

    shown: Any = as_json(value)

    assert shown["deep"]["deeper"]["plain"] is plain
    assert shown["deep"]["deeper"]["odd"] == [1]
    assert value["deep"]["deeper"]["odd"] == {1}


@given(json_values)
def test_a_value_does_not_differ_from_its_copy(value: object) -> None:
    assert diff(value, msgspec.json.decode(msgspec.json.encode(value))) == []


@given(json_values, json_values)
def test_applying_the_changes_in_order_gives_the_new_value(before: object, after: object) -> None:
    made = before
    for change in reversed(diff(before, after)):  # from the end, so that removing from a list moves nothing
        parts = parse_path(change.path)
        if change.kind == "removed":
            assert read_path(made, parts) == change.before
            made = without(made, parts)
        elif change.kind == "changed":
            made = with_value(made, parts, change.after)
    for change in diff(before, after):
        if change.kind == "added":
            made = with_value(made, parse_path(change.path), change.after)

    assert made == after


def test_each_change_names_its_place() -> None:
    before = {"name": "a", "items": [{"n": 1}, {"n": 2}, {"n": 3}], "old": None, "same": [1]}
    after = {"name": "a", "items": [{"n": 1}, {"n": 5}], "odd key": True, "same": [1]}

    assert diff(before, after) == [
        Change(".items[1].n", "changed", 2, 5),
        Change(".items[2]", "removed", {"n": 3}, None),
        Change(".old", "removed", None, None),
        Change('.["odd key"]', "added", None, True),
    ]


def test_values_differ_as_json_does() -> None:
    assert diff({"a": 1}, {"a": 1.0}) == []
    assert diff({"a": 1}, {"a": True}) == [Change(".a", "changed", 1, True)]
    assert diff({"a": math.nan}, {"a": math.nan}) == []
    assert diff((1, 2), [1, 2]) == []
    assert diff(Point(1, 2), Point(1, 3)) == [Change(".y", "changed", 2, 3)]
    assert diff({1: "a"}, {1: "b"}) == [Change('.["1"]', "changed", "a", "b")]
    assert diff([1], {"a": 1}) == [Change(".", "changed", [1], {"a": 1})]


def test_what_both_share_is_not_looked_into() -> None:
    class Untouchable(dict[str, object]):
        def __getitem__(self, key: str) -> object:
            raise AssertionError("it was looked into")

        items = values = keys = __iter__ = __getitem__  # type: ignore[assignment]

    shared = Untouchable()

    assert diff({"a": shared, "b": 1}, {"a": shared, "b": 2}) == [Change(".b", "changed", 1, 2)]


def test_the_difference_of_cycles_ends() -> None:
    def loop(name: str) -> dict[str, Any]:
        made: dict[str, Any] = {"name": name}
        made["self"] = [made]
        return made

    assert diff(loop("a"), loop("a")) == []
    assert diff(loop("a"), loop("b")) == [Change(".name", "changed", "a", "b")]
