"""Templates: text with jq in `${{ }}`, and what it becomes when the values are known."""

import contextlib
import json
import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any, Protocol

import msgspec

from pitstop.errors import BadExpression, ExpressionTimeout
from pitstop.plan.paths import plain_path
from pitstop.plan.values import Json, as_json, look_up


class Evaluator(Protocol):
    """Real jq, wherever it runs."""

    async def evaluate(
        self, expression: str, values: Mapping[str, object], *, timeout_seconds: float = 1.0
    ) -> list[object]:
        """Every value the expression gives for `values`; BadExpression, ExpressionTimeout."""

    async def close(self) -> None:
        """End what it runs in. It cannot be used again."""


class Expression(msgspec.Struct, frozen=True):
    """The jq between `${{` and `}}`."""

    text: str


class Template(msgspec.Struct, frozen=True):
    """Text and expressions in turn, in the order in which they were written."""

    parts: tuple[str | Expression, ...]

    @property
    def expressions(self) -> tuple[str, ...]:
        return tuple(part.text for part in self.parts if isinstance(part, Expression))


@lru_cache(maxsize=4096)
def parse_template(text: str) -> Template:
    """The parts of `text`, where `$${{` stands for `${{`; BadExpression for a `${{` that is empty or not closed."""
    if "${{" not in text:
        return Template((text,) if text else ())
    parts: list[str | Expression] = []
    at = 0
    while opening := re.compile(_OPENING).search(text, at):
        parts.append(text[at : opening.start()])
        at = opening.end()
        if opening[0] == "$${{":
            parts.append("${{")
            continue
        column = opening.start() + 1
        end = _end_of_expression(text, at, column)
        expression = text[at:end].strip()
        if not expression:
            raise BadExpression(text, f"empty ${{{{ }}}} at column {column}")
        parts.append(Expression(expression))
        at = end + len("}}")
    parts.append(text[at:])
    return Template(tuple(part for part in parts if part))


def expressions_in(value: object) -> Iterator[str]:
    """Every expression in the strings of `value`, which may be nested; the keys of objects are no templates."""
    match value:
        case str():
            yield from parse_template(value).expressions
        case Mapping():
            for child in value.values():
                yield from expressions_in(child)
        case list() | tuple():
            for child in value:
                yield from expressions_in(child)


def secrets_read_by(expression: str) -> Iterator[str]:
    """The names that the expression reads as `.secrets.NAME` or `.secrets["NAME"]`."""
    for found in re.finditer(_SECRET, expression):
        yield found["name"] or found["key"]


async def render(
    template: object, values: Mapping[str, object], evaluator: Evaluator, *, timeout_seconds: float = 1.0
) -> Any:
    """`template` with its expressions replaced, at any depth but in keys; BadExpression, ExpressionTimeout.

    A string that is exactly one `${{ }}` becomes the value, of any type. Inside other text, null is left out.
    """
    match template:
        case str():
            return await _render_text(template, values, evaluator, timeout_seconds)
        case Mapping():
            return {
                str(key): await render(child, values, evaluator, timeout_seconds=timeout_seconds)
                for key, child in template.items()
            }
        case list() | tuple():
            return [await render(child, values, evaluator, timeout_seconds=timeout_seconds) for child in template]
    return as_json(template)


async def only_value(
    expression: str, values: Mapping[str, object], evaluator: Evaluator, timeout_seconds: float = 1.0
) -> Json:
    """The one value that the expression gives; BadExpression, also for none or several, ExpressionTimeout."""
    parts = plain_path(expression)
    if parts is not None:
        return look_up(values, parts)
    from pitstop.plan.plain_conditions import NeedsJq, plain_condition

    condition = plain_condition(expression)
    if condition is not None:
        with contextlib.suppress(NeedsJq):
            return condition(values)
    try:
        results = await evaluator.evaluate(expression, values, timeout_seconds=timeout_seconds)
    except ExpressionTimeout:
        raise
    except BadExpression as error:
        raise BadExpression(expression, f"{error.reason}{what_was_there(expression, values)}") from error
    if len(results) != 1:
        raise BadExpression(expression, f"returned {len(results) or 'no'} values where exactly one is needed")
    return as_json(results[0])


async def truth(
    expression: str, values: Mapping[str, object], evaluator: Evaluator, *, timeout_seconds: float = 1.0
) -> bool:
    """Whether a condition holds: only false and null are false. It may be written with or without `${{ }}`."""
    answer = await only_value(condition_text(expression), values, evaluator, timeout_seconds)
    return answer is not None and answer is not False


def what_was_there(expression: str, values: Mapping[str, object]) -> str:
    """The values of the paths that the expression names, as far as they can be told from its text."""
    told: list[str] = []
    for text in dict.fromkeys(re.findall(_PATH, expression)):
        parts = plain_path(text)
        if parts and parts[0] in values and parts[0] != _HIDDEN and len(told) < _SHOWN_PATHS:
            try:
                told.append(f"{text} is {shown(look_up(values, parts))}")
            except BadExpression:
                continue
    return f" ({', '.join(told)})" if told else ""


def shown(value: object) -> str:
    """A value for a message: JSON, and not too much of it."""
    text = json.dumps(as_json(value), ensure_ascii=False)
    return text if len(text) <= _SHOWN_CHARACTERS else text[:_SHOWN_CHARACTERS] + "…"


_PATH = r"(?<![\w)\].\"$])(?:\.[A-Za-z_][A-Za-z0-9_]*)+"
_SECRET = (
    r"(?<![\w)\].\"$])\.secrets\s*"
    r'(?:\.(?P<name>[A-Za-z_][A-Za-z0-9_]*)|\.?\[\s*"(?P<key>[A-Za-z_][A-Za-z0-9_]*)"\s*\])'
)
_SHOWN_PATHS = 5
_SHOWN_CHARACTERS = 100
_HIDDEN = "secrets"
_OPENING = r"\${1,2}\{\{"


async def _render_text(
    template: str, values: Mapping[str, object], evaluator: Evaluator, timeout_seconds: float
) -> Json:
    parts = parse_template(template).parts
    made = [
        await only_value(part.text, values, evaluator, timeout_seconds) if isinstance(part, Expression) else part
        for part in parts
    ]
    if len(parts) == 1:
        return made[0]
    return "".join(map(_inside_text, made))


def condition_text(text: str) -> str:
    """The jq of a condition, which must not be part of a longer text: any text would be true."""
    if not text.lstrip().startswith("${{"):
        return text
    match parse_template(text.strip()).parts:
        case (Expression(expression),):
            return expression
    raise BadExpression(text, "there is text outside the ${{ }}: put the whole condition inside")


def _inside_text(value: Json) -> str:
    if isinstance(value, str):
        return value
    return "" if value is None else msgspec.json.encode(value).decode()


def _end_of_expression(text: str, start: int, column: int) -> int:
    """Where the `}}` is that ends the expression: not one in a string, nor one that closes objects."""
    from pitstop.plan.jq_text import tokens

    open_braces = 0
    for token in tokens(text, start):
        if token.kind == "comment" and not open_braces and "}}" in token.text:
            return token.start + token.text.index("}}")
        if token.text == "{":
            open_braces += 1
        elif token.text == "}" and open_braces:
            open_braces -= 1
        elif token.text == "}":
            if text.startswith("}}", token.start):
                return token.start
            break
    raise BadExpression(text, f"the ${{{{ at column {column} has no closing }}}}")
