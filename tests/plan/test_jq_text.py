"""What can be told from the text of an expression, with jq itself as the judge."""

import json

import jq
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from pitstop.errors import BadExpression
from pitstop.plan.jq_text import top_keys
from pitstop.plan.paths import plain_path
from pitstop.plan.values import look_up


@pytest.mark.parametrize(
    ("expression", "keys"),
    [
        (".a", {"a"}),
        (".a.b[0]", {"a", "b"}),
        ('.a == "x" and (.b | not)', {"a", "b"}),
        ('."odd key" + .["b"]', {"odd key", "b"}),
        (".a | length > 3", {"a"}),
        ("[.a[] | select(.x == 1)] | length", {"a", "x"}),
        (".steps.tests.status", {"steps", "tests", "status"}),
        ('"\\(.a) and \\(.b | length)"', {"a", "b"}),
        ('"# .x" + .a # .y', {"a"}),
        ("if .a then .b | keys else .c end", {"a", "b", "c"}),
        ("{a, b: .c | length, $x}", {"a", "b", "c", "$x"}),
        (".a as $x | .b + $x", {"a", "b"}),
        ("[.a, .b] | add", {"a", "b"}),
        ("first(.a[])", {"a"}),
        ("1 + 1", set()),
        (".a | to_entries | . as $x | 1", None),
        (".", None),
        ("..", None),
        (".[]", None),
        (".[0]", None),
        (".[.a]", None),
        ("length", None),
        ("keys", None),
        ("to_entries", None),
        ('has("a")', None),
        ("select(.a)", None),
        ("(.a | .b), length", None),
        (".a, .", None),
        (".a = 1", None),
        (".a |= 1", None),
        ("del(.a)", None),
        ('getpath(["a"])', None),
        ("path(.a)", None),
        ("$__loc__", None),
        ("$ENV.HOME", None),
        ("env", None),
        ("input", None),
        (".a | input", None),
        ("@json", None),
        ('@json "\\(.a)"', {"a"}),
        ('"\\(.)"', None),
        (".a as $x | keys", None),
        ("def f: keys; .a | f", None),
        ("reduce .a[] as $x (0; . + $x)", None),
        ("if .a then keys else 1 end", None),
        ("if .a then 1 end", None),
        (".a | if .b then 1 end", {"a", "b"}),
        ("{a: .}", None),
        ("{(.a): 1, b: keys}", None),
        ("try .a catch .", None),
        (".a # \\\n | keys", None),
        ('"unfinished', None),
    ],
)
def test_the_keys_that_an_expression_can_read_are_known(expression: str, keys: set[str] | None) -> None:
    assert top_keys(expression) == keys


FIELDS = [
    ".a", ".b", ".c", ".a.b", ".a[]?", ".a?", '.["a"]', '."b"', "{a}", '{"b"}', "{a, c}", "1", '"x"', "null", "$x",
]  # fmt: skip
THE_REST = [
    ".", "..", ".[]", ".[0]", ".[1:]", "keys", "length", "not", "add", "type", "tojson", "to_entries", "values",
    "first", "last", "$__loc__", "$y", "@json", "@text", "input", "env", "[]", "{}", "{a: 1}", "min", "map(.)", "paths",
    "true", "tostring", 'has("a")', 'getpath(["b"])', "error", "input_line_number", "ascii_downcase", "empty", "{$x}",
]  # fmt: skip
LARGER = [
    "{} | {}", "{}, {}", "{} + {}", "{} - {}", "{} == {}", "{} // {}", "{} and {}", "{} or {}", "{} < {}",
    "{} |= {}", "{} = {}", "{} //= {}", "{} += {}", "({}) | {}", "[{}] | {}", "-{} | {}", "{}? | {}", "{}[{}]",
    "try {} catch {}", "try {} | {}", "{{a: {}, b: ({})}}", "{{({}): {}, c}}", "{{a: {} | {}}}", "if {} then {} end",
    "if {0} then {1} elif {1} then {0} end", "if {0} then {1} elif {1} then {0} else {0} end",
    "{} as $x | {}", "{} as [$x, $y] | {}", "{} as {{a: $x, $y}} | {}", "{} as [$x] ?// $x | {}",
    "reduce {} as $x (0; {})", "foreach {} as $x (0; {})", "def f: {}; {} | f", "def f(g): {}; f({})",
    "label $f | {}, break $f, {}", "map({}), select({})", "limit(2; {}), first({})", "any({}; {})", "isempty({}), {}",
    '"<\\({})>\\({})"', '@base64 "<\\({})>" + ({})', "{} # {}\n | .a", "{} # \\\n | {}",
]  # fmt: skip


def expressions() -> st.SearchStrategy[str]:
    """Expressions of all shapes, most of which jq accepts."""
    atoms = st.sampled_from(FIELDS) | st.sampled_from(FIELDS) | st.sampled_from(THE_REST)
    return st.recursive(atoms, lambda inner: st.builds(str.format, st.sampled_from(LARGER), inner, inner), max_leaves=6)


FULL = {"a": {"a": 1, "b": [1, 2], "c": "x"}, "b": [3, {"a": 4}], "c": "text", "d": 5, "x": None}


def ask_jq(expression: str, values: object) -> tuple[list[object], str]:
    results: list[object] = []
    try:
        for result in jq.compile(expression).input_text(json.dumps(values)):
            results.append(result)
            if len(results) == 50:
                break
    except ValueError as error:
        return results, str(error)
    return results, ""


@given(expressions(), st.sampled_from([FULL, {"a": 1, "d": 2}, {"b": {"a": [1]}, "a": "s", "e": 1}]))
@example('{"a"}', FULL)
@example("{a: 1 | ., b: .}", FULL)
@example(".a | . as $x | keys", FULL)
@example("(.a | .b) | keys, .", FULL)
@example('."a"."b", ."c"', FULL)
@example("if .b then .a end", FULL)
def test_with_only_those_keys_the_result_is_the_same(expression: str, values: dict[str, object]) -> None:
    keys = top_keys(expression)
    if keys is None:
        return
    chosen = {key: value for key, value in values.items() if key in keys}

    assert ask_jq(expression, chosen) == ask_jq(expression, values)


@given(expressions(), st.sampled_from([FULL, {"a": 1, "d": 2}]))
def test_a_plain_path_is_answered_as_jq_would(expression: str, values: dict[str, object]) -> None:
    parts = plain_path(expression)
    if parts is None:
        return
    try:
        ours: tuple[list[object], str] = [look_up(values, parts)], ""
    except BadExpression as error:
        ours = [], error.reason

    assert ours == ask_jq(expression, values)
