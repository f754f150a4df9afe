"""Conditions that are answered without jq, with jq itself as the judge."""

import json
from datetime import date
from typing import Any

import jq
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from pitstop.plan.plain_conditions import NeedsJq, plain_condition
from tests.amounts import amount

VALUES: dict[str, Any] = {
    "turn": 3,
    "ratio": 0.5,
    "name": "web",
    "ok": True,
    "no": False,
    "nothing": None,
    "tags": ["a", "b"],
    "deep": {"odd key": {"x": [1, 2]}},
}
AFTER_JQ = "<only jq knows>"


def answer(text: str, values: dict[str, Any]) -> Any:
    condition = plain_condition(text)
    assert condition is not None
    try:
        return condition(values)
    except NeedsJq:
        return AFTER_JQ


def answer_of_jq(text: str, values: dict[str, Any]) -> Any:
    (result,) = jq.compile(text).input_text(json.dumps(values)).all()
    return result


@pytest.mark.parametrize(
    "text",
    [
        ".turn == 3",
        ".turn == 3.0",
        ".turn==-1",
        "-1 < .turn",
        '.name == "web"',
        '.name >= "we\\u0062"',
        ".ok == true and .turn > 2 or .nothing",
        ".no or .nothing and .missing.deeper.still",
        ".no and .turn.wrong",
        "(.turn > 1) == (.ratio < 1)",
        ".nothing < .no and .no < .ok and .ok < .turn and .turn < .name and .name < .tags and .tags < .deep",
        ".ok | not",
        ".nothing | not",
        "(.no | not) and (.name | length == 3)",
        ".tags | length > 1 and length < 3",
        "(.ratio | length) == 0.5",
        '.deep | has("odd key")',
        '.deep."odd key"["x"][-1] == 2',
        '.deep["odd key"] | .x[0] == 1 and (.x[5] == null)',
        "true",
        "null == false",
        "1 == 1.0",
        ".turn != null",
        ".turn | . == 3",
    ],
)
def test_an_answer_is_that_of_jq(text: str) -> None:
    assert answer(text, VALUES) is answer_of_jq(text, VALUES)


@pytest.mark.parametrize(
    "text",
    [
        *("", ".", ".a", "1", "null", '"a"', ". == 1", "length > 1", "not", 'has("a")', ".a | length", ".a | .b"),
        *(".a == 1 == 2", ".a ==", "== 1", ".a = 1", ".a |= 1", ".a == 1 #", "# .a", ".a == 1 # comment"),
        *(".a[] == 1", ".a? == 1", ".a .b == 1", ".. == 1", ".a == .5", ".a == 1e3", ".a == -.b", ".a == - -1"),
        *(".a == $x", '.a | test("x")', ".a | has(0)", ".a | length(1)", ".a == 1, .b == 2", ".a // 1 == 1"),
        *(".a + 1 == 2", ".a == [1]", ".a == {}", '.a == "\\(.b)"', '.a == "\\ud800"', ".a == @text", "(.a == 1"),
        *(".a == 1)", "if .a then true else false end", ".a == 0.10000000000000001", ".a == 9007199254740993"),
    ],
)
def test_what_is_not_plain_is_left_to_jq(text: str) -> None:
    assert plain_condition(text) is None


@pytest.mark.parametrize(
    ("text", "values"),
    [
        (".a.b == 1", {"a": 1}),
        (".a | .b == 1", {"a": "x"}),
        (".a == .b", {"a": [1], "b": [1]}),
        (".a < .b", {"a": {}, "b": {}}),
        (".a == .b", {"a": 2**53 + 1, "b": 2.0**53}),
        (".a | length == 1", {"a": True}),
        ('.a | has("b")', {"a": ["b"]}),
    ],
)
def test_what_only_jq_can_compare_or_refuse_is_left_to_it(text: str, values: dict[str, Any]) -> None:
    assert answer(text, values) is AFTER_JQ


def test_values_that_are_not_json_are_compared_as_json() -> None:
    assert answer('.day == "2024-05-06"', {"day": date(2024, 5, 6)}) is True
    assert answer('.x == "NaN" and (.y | length == 2)', {"x": float("nan"), "y": (1, 2)}) is True


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from("abc"), inner, max_size=2),
    max_leaves=4,
)
PATHS = st.sampled_from([".a", ".b", ".c", ".a.b", ".c[0]", '.["b"]', ".b[-1]"])
LITERALS = (
    st.integers(-(10**15) + 1, 10**15 - 1).map(str)
    | st.sampled_from(["true", "false", "null", "0.1", "-2.50", "0"])
    | st.text(max_size=2).map(lambda text: json.dumps(text, ensure_ascii=False))
)
INPUTS = st.sampled_from([".", "length", "not", 'has("a")', ".a"])
SIGNS = st.sampled_from(["==", "!=", "<", "<=", ">", ">="])


def combined(terms: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return (
        st.builds("{} {} {}".format, terms, st.sampled_from(["and", "or", "|"]), terms | INPUTS)
        | st.builds("({}) {} ({} | {})".format, terms, SIGNS, terms, INPUTS)
        | st.builds("({})".format, terms)
        | st.builds("{} | {}".format, PATHS, terms)
    )


OPERANDS = PATHS | LITERALS
CONDITIONS = st.recursive(st.builds("{} {} {}".format, OPERANDS, SIGNS, OPERANDS) | OPERANDS, combined, max_leaves=5)


@given(CONDITIONS, st.dictionaries(st.sampled_from("abc"), JSON, max_size=3))
@example(".a == .b", {"a": True, "b": 1})
@example(".a == .b", {"a": 0.1, "b": 0.30000000000000004})
@example(".a < .b", {"a": "\uffff", "b": "\U00010000"})
@settings(max_examples=amount(300, soak=20_000), deadline=None)
@pytest.mark.repeats
def test_whatever_is_answered_is_what_jq_says(text: str, values: dict[str, Any]) -> None:
    condition = plain_condition(text)
    if condition is None:
        return
    found = answer(text, values)
    if found is not AFTER_JQ:
        assert found is answer_of_jq(text, values)


TOKENS = st.sampled_from(
    [".a", ".b", ".", "and", "or", "not", "|", "(", ")", "==", "<", "1", "-", '"x"', "length", "[0]"]
)


@given(st.lists(TOKENS, min_size=1, max_size=8).map(" ".join))
@settings(max_examples=amount(300, soak=20_000), deadline=None)
@pytest.mark.repeats
def test_no_text_is_understood_that_jq_refuses(text: str) -> None:
    condition = plain_condition(text)
    if condition is not None:
        jq.compile(text)
