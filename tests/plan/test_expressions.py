"""Templates: what a user can write in `${{ }}`, and what comes of it."""

import json
from collections import ChainMap
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import jq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pitstop.errors import BadExpression
from pitstop.plan.expressions import expressions_in, parse_template, render, truth
from pitstop.plan.values import look_up


class InProcessJq:
    """An Evaluator for tests of what is around jq; it remembers what it was asked."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    async def evaluate(
        self, expression: str, values: Mapping[str, object], *, timeout_seconds: float = 1.0
    ) -> list[object]:
        self.asked.append(expression)
        results: list[object] = jq.compile(expression).input_text(json.dumps(dict(values))).all()
        return results

    async def close(self) -> None:
        pass


VALUES: dict[str, Any] = {
    "name": "web",
    "port": 8080,
    "ratio": 0.5,
    "ok": True,
    "no": False,
    "nothing": None,
    "tags": ["a", "b"],
    "deep": {"odd key": {"x": 1}},
    "}}": "closing",
}


async def rendered(template: object) -> Any:
    return await render(template, VALUES, InProcessJq())


@pytest.mark.parametrize(
    ("template", "result"),
    [
        ("plain text", "plain text"),
        ("", ""),
        ("${{ .port }}", 8080),
        ("${{.tags}}", ["a", "b"]),
        ("${{ .port + 1 }}", 8081),
        ("${{ .nothing }}", None),
        ("${{ .missing }}", None),
        ("http://${{ .name }}:${{ .port }}/", "http://web:8080/"),
        ("${{ .name }}${{ .port }}", "web8080"),
        ("tags: ${{ .tags }}, ok: ${{ .ok }}, ratio: ${{ .ratio }}", 'tags: ["a","b"], ok: true, ratio: 0.5'),
        ("[${{ .nothing }}]", "[]"),
        (" ${{ .port }}", " 8080"),
        ("${{ .port }}\n", "8080\n"),
        ("a $${{ .port }} b", "a ${{ .port }} b"),
        ("$$${{ .port }}", "$${{ .port }}"),
        ("$ {{ }} }} $$", "$ {{ }} }} $$"),
        ("${{ {a: {b: .port}} }}", {"a": {"b": 8080}}),
        ("${{ {a: {b: .port}}}}", {"a": {"b": 8080}}),
        ('${{ "}}" + .name }}', "}}web"),
        (r'${{ "\"}}\(.tags | map("}}" + .) | join("{"))}}" }}', '"}}}}a{}}b}}'),
        ('${{ ."}}" }}!', "closing!"),
        ("${{ .port # a comment }} ends here", "8080 ends here"),
        ("${{ .port # one }\n + 1 }}", 8081),
    ],
)
async def test_templates_become_values(template: str, result: object) -> None:
    assert await rendered(template) == result


async def test_nested_values_are_rendered_and_keys_are_not() -> None:
    template = {"with": {"port": "${{ .port }}", "${{ .name }}": ["${{ .name }}!", 7, None]}, "on": True}

    assert await rendered(template) == {"with": {"port": 8080, "${{ .name }}": ["web!", 7, None]}, "on": True}


async def test_plain_paths_do_notask_jq() -> None:
    evaluator = InProcessJq()

    assert await render('${{ .deep."odd key".x }} ${{ .tags[-1] }} ${{ .port + 1 }}', VALUES, evaluator) == "1 b 8081"
    assert evaluator.asked == [".port + 1"]


@pytest.mark.parametrize(("template", "count"), [("${{ .tags[] }}", "2"), ("x ${{ empty }}", "no")])
async def test_an_expression_must_give_exactly_one_value(template: str, count: str) -> None:
    with pytest.raises(BadExpression, match=f"returned {count} values where exactly one is needed"):
        await rendered(template)


@pytest.mark.parametrize(
    "template",
    ["${{ .a", "${{ .a }", "x ${{", "${{ {a: 1 }}", '${{ "}} ', "${{ .a # comment", "${{ .a } }}"],
)
def test_an_expression_without_an_end_is_refused(template: str) -> None:
    with pytest.raises(BadExpression, match=r"has no closing \}\}|unterminated string"):
        parse_template(template)


def test_an_empty_expression_is_refused_with_its_column() -> None:
    with pytest.raises(BadExpression, match="column 3"):
        parse_template("a ${{  }}")


@given(
    st.text()
    | st.lists(st.sampled_from(["${{", "}}", "$", "{", "}", '"', "\\(", "(", ")", "#", "\n", ".a"])).map("".join)
)
def test_any_text_is_a_template_or_is_refused(text: str) -> None:
    try:
        template = parse_template(text)
    except BadExpression:
        assert "${{" in text
    else:
        assert not template.expressions or "${{" in text


def test_a_template_knows_itsexpressions() -> None:
    assert parse_template("a").expressions == ()
    assert parse_template("$${{ .a }}").expressions == ()
    assert parse_template("${{ .a }}").expressions == (".a",)
    assert list(expressions_in({"a": "${{ .x }} ${{ .y + 1 }}", "b": [{"c": "${{ .z }}"}, 3, None]})) == [
        ".x",
        ".y + 1",
        ".z",
    ]


@pytest.mark.parametrize(
    ("condition", "holds"),
    [
        (".ok", True),
        (".no", False),
        (".nothing", False),
        (".missing.too", False),
        ("0", True),
        ('""', True),
        ("[]", True),
        (".port > 8000", True),
        ("${{ .port > 9000 }}", False),
        (" ${{ .no }} ", False),
        ("null", False),
    ],
)
async def test_only_false_and_null_are_false(condition: str, holds: bool) -> None:
    assert await truth(condition, VALUES, InProcessJq()) is holds


async def test_a_condition_beside_text_is_refused_since_it_would_always_hold() -> None:
    with pytest.raises(BadExpression, match="put the whole condition inside"):
        await truth("${{ .port }} == 1", VALUES, InProcessJq())


async def test_a_condition_that_cannot_be_read_is_never_silent() -> None:
    with pytest.raises(BadExpression, match="Cannot index number"):
        await truth(".port.number", VALUES, InProcessJq())


@dataclass
class User:
    name: str
    roles: tuple[str, ...]


def test_paths_lead_through_python_objects() -> None:
    values: ChainMap[str, object] = ChainMap({"user": User("ann", ("admin",)), "by_id": {1: "one"}}, {"port": 1})

    assert look_up(values, ("user", "name")) == "ann"
    assert look_up(values, ("user", "roles", 0)) == "admin"
    assert look_up(values, ("user",)) == {"name": "ann", "roles": ["admin"]}
    assert look_up(values, ("by_id", "1")) == "one"
    assert look_up(values, ("port",)) == 1
    assert look_up(values, ("missing", "too")) is None
