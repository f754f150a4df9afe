"""jq paths as values, with jq itself as the judge."""

import json
from collections.abc import Callable
from typing import Any

import jq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pitstop.errors import BadExpression
from pitstop.plan.paths import Parts, format_path, parse_path, plain_path, read_path, with_value, without

keys = st.sampled_from(["a", "b", "odd key", "é", "", '"', "\\", "1", "\n"])
parts_lists = st.lists(keys | st.integers(-3, 4), max_size=4).map(tuple)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.sampled_from(["", "text"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(keys, inner, max_size=3),
    max_leaves=12,
)


def ask_jq(program: str, value: object, **arguments: object) -> Any:
    """What jq gives, with each error as its message."""
    try:
        return {"value": jq.compile(program, args=arguments).input_text(json.dumps(value)).first()}
    except ValueError as error:
        return {"error": str(error)}


def ask_us(function: Callable[..., object], *arguments: object) -> Any:
    try:
        return {"value": function(*arguments)}
    except BadExpression as error:
        return {"error": error.reason}


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        (".", ()),
        (" .a ", ("a",)),
        (".a.b_1", ("a", "b_1")),
        (".a[0]", ("a", 0)),
        (".[-1]", (-1,)),
        (".[ 0 ][2]", (0, 2)),
        ('."odd key"', ("odd key",)),
        ('.a."odd key"["x"].y', ("a", "odd key", "x", "y")),
        ('.["a"]', ("a",)),
        ('.a.["b"].[0]', ("a", "b", 0)),
        (r'."tab\t \"quoted\" \u00e9 \ud83d\ude00"', ('tab\t "quoted" é 😀',)),
        (".and.if", ("and", "if")),
    ],
)
def test_a_plain_path_has_parts(text: str, parts: Parts) -> None:
    assert parse_path(text) == plain_path(text) == parts
    assert ask_jq(f"path({text})", None) == {"value": list(parts)}


@pytest.mark.parametrize(
    ("text", "column"),
    [
        ("a", 1),
        ("..", 1),
        (".a.", 3),
        (".a | .b", 3),
        ("  .a b", 5),
        (".a?", 3),
        (".a[]", 3),
        (".a[1:2]", 3),
        (".a[1.5]", 3),
        (".a[9999999999]", 3),
        (".a['b']", 3),
        ('.a"b"', 3),
        ('."a', 1),
        (r'.a."\(.b)"', 3),
        (r'.a."\ud800"', 3),
        (".é", 1),
        (".٣", 1),
        ("[0]", 1),
    ],
)
def test_anything_else_is_refused_with_its_column(text: str, column: int) -> None:
    assert plain_path(text) is None
    with pytest.raises(BadExpression, match=f"column {column}:"):
        parse_path(text)


@pytest.mark.parametrize("text", ["", "  "])
def test_no_path_is_refused(text: str) -> None:
    with pytest.raises(BadExpression, match="empty"):
        parse_path(text)


@given(st.lists(st.text() | st.integers(-(10**9) + 1, 10**9 - 1)).map(tuple))
def test_a_path_that_was_written_reads_the_same(parts: Parts) -> None:
    assert parse_path(format_path(parts)) == parts


def test_paths_are_written_as_people_do() -> None:
    assert format_path(()) == "."
    assert format_path(("items", 0, "name")) == ".items[0].name"
    assert format_path((0, "odd key")) == '.[0]["odd key"]'


@given(json_values, parts_lists)
def test_reading_is_what_jq_does(value: object, parts: Parts) -> None:
    assert ask_us(read_path, value, parts) == ask_jq(format_path(parts), value)


@given(json_values, parts_lists, json_values)
def test_setting_is_what_jq_does(value: object, parts: Parts, new: object) -> None:
    assert ask_us(with_value, value, parts, new) == ask_jq("setpath($parts; $new)", value, parts=parts, new=new)


@given(json_values, parts_lists)
def test_removing_is_what_jq_does(value: object, parts: Parts) -> None:
    ours = ask_us(without, value, parts)

    assert ours == ask_jq(f"del({format_path(parts)})", value)


@given(json_values, parts_lists, json_values)
def test_an_edit_changes_nothing_in_place(value: object, parts: Parts, new: object) -> None:
    before = json.dumps(value)

    ask_us(with_value, value, parts, new)
    ask_us(without, value, parts)

    assert json.dumps(value) == before


def test_an_edit_shares_everything_beside_its_path() -> None:
    value = {"a": {"b": [{"c": 1}, {"d": 2}]}, "big": {"x": 1}}

    for changed in (with_value(value, ("a", "b", 0, "c"), 5), without(value, ("a", "b", 0, "c"))):
        assert changed["big"] is value["big"]
        assert changed["a"]["b"][1] is value["a"]["b"][1]  # type: ignore[index]
        assert changed["a"] is not value["a"]


def test_removing_nothing_returns_the_same_object() -> None:
    value = {"a": [1]}

    assert without(value, ("x", "y")) is value
    assert without(value, ("a", 7)) is value


def test_a_place_that_cannot_be_is_named_in_jqs_words() -> None:
    with pytest.raises(BadExpression) as refusal:
        with_value({"a": {"b": 3}}, ("a", "b", "c"), 1)

    assert refusal.value.expression == ".a.b.c"
    assert refusal.value.reason == ask_jq(".a.b.c", {"a": {"b": 3}})["error"] == 'Cannot index number with string ("c")'


def test_a_long_key_is_cut_in_a_message_as_jq_does() -> None:
    assert ask_us(read_path, 1, ("k" * 40,)) == ask_jq(f".{'k' * 40}", 1)


def test_a_list_is_not_padded_without_end() -> None:
    with pytest.raises(BadExpression, match="too large"):
        with_value({}, ("a", 999_999_999), 1)
