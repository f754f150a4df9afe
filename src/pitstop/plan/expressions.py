"""Templates: text with jq in `${{ }}`, and what it becomes when the values are known."""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple, Protocol

import msgspec

from pitstop.errors import BadExpression
from pitstop.plan.paths import Parts, plain_path, read_path
from pitstop.plan.values import Json, as_json


class Evaluator(Protocol):
    """Real jq, wherever it runs."""

    async def evaluate(
        self, expression: str, values: Mapping[str, object], *, timeout_seconds: float = 1.0
    ) -> list[object]:
        """Every value the expression gives for `values`; BadExpression, ExpressionTimeout."""

    async def close(self) -> None:
        """End what it runs in. It cannot be used again."""


@dataclass(frozen=True, slots=True)
class Expression:
    """The jq between `${{` and `}}`."""

    text: str
    column: int  # of its `${{` in the template, from 1


@dataclass(frozen=True, slots=True)
class Template:
    """Text and expressions in turn, in the order in which they were written."""

    parts: tuple[str | Expression, ...]

    @property
    def is_plain(self) -> bool:
        """Whether it has no expression, so that it is the same for all values."""
        return not self.expressions

    @property
    def expressions(self) -> tuple[str, ...]:
        return tuple(part.text for part in self.parts if isinstance(part, Expression))


@lru_cache(maxsize=4096)
def parse_template(text: str) -> Template:
    """The parts of `text`; BadExpression for a `${{` without its `}}`, or with nothing between them.

    `$${{` stands for the text `${{`.
    """
    parts: list[str | Expression] = []
    at = 0
    while opening := _OPENING.search(text, at):
        parts.append(text[at : opening.start()])
        at = opening.end()
        if opening[0] == "$${{":
            parts.append("${{")
            continue
        column = opening.start() + 1
        end = _end_of_expression(text, at, column)
        expression = text[at:end].strip()
        if not expression:
            raise BadExpression(text, f"nothing is between the ${{{{ and }}}} at column {column}")
        parts.append(Expression(expression, column))
        at = end + len("}}")
    parts.append(text[at:])
    return Template(tuple(part for part in parts if part))


def expressions_in(value: object) -> Iterator[str]:
    """Every expression in the strings of `value`, which may be nested; the keys of objects are no templates."""
    match value:
        case str():
            yield from parse_template(value).expressions
        case Template():
            yield from value.expressions
        case Mapping():
            for child in value.values():
                yield from expressions_in(child)
        case list() | tuple():
            for child in value:
                yield from expressions_in(child)


async def render(
    template: object, values: Mapping[str, object], evaluator: Evaluator, *, timeout_seconds: float = 1.0
) -> Any:
    """`template` with its expressions replaced: a Template, a string, or JSON with strings in it at any depth.

    A string that is exactly one `${{ }}` becomes the value, of whatever type. Inside other text a string is put
    in as it is, null as nothing, and any other value as compact JSON. Keys of objects are not templates.

    BadExpression, also when an expression gives no value or several; ExpressionTimeout.
    """
    match template:
        case str() | Template():
            return await _render_text(template, values, evaluator, timeout_seconds)
        case Mapping():
            return {
                str(key): await render(child, values, evaluator, timeout_seconds=timeout_seconds)
                for key, child in template.items()
            }
        case list() | tuple():
            return [await render(child, values, evaluator, timeout_seconds=timeout_seconds) for child in template]
    return as_json(template)


async def truth(
    expression: str, values: Mapping[str, object], evaluator: Evaluator, *, timeout_seconds: float = 1.0
) -> bool:
    """Whether a condition holds: only false and null are false. It may be written with or without `${{ }}`."""
    if expression.lstrip().startswith("${{"):
        answer = await render(expression.strip(), values, evaluator, timeout_seconds=timeout_seconds)
    else:
        answer = await _only_value(expression, values, evaluator, timeout_seconds)
    return answer is not None and answer is not False


def look_up(values: object, parts: Parts) -> Json:
    """What a plain path names, as JSON: jq's own answer, without jq.

    It also goes through what is no JSON yet, such as a dataclass in the state of a graph.
    """
    for part in parts:
        if not isinstance(values, _READ_AS_THEY_ARE) or _hides_key(values, part):
            values = as_json(values)
        values = read_path(values, (part,))
    return as_json(values)


@lru_cache(maxsize=4096)
def top_keys(expression: str) -> frozenset[str] | None:
    """The top-level keys that the expression can read, so that no others need to be sent; None for all.

    It may name too many keys and never too few: whatever is not surely understood gives None.
    """
    try:
        return frozenset(_KeyReader(expression).read())
    except (_Unclear, BadExpression):
        return None


_READ_AS_THEY_ARE = (dict, list, str, int, float, type(None), Mapping)
_OPENING = re.compile(r"\${1,2}\{\{")


async def _render_text(
    template: str | Template, values: Mapping[str, object], evaluator: Evaluator, timeout_seconds: float
) -> Json:
    parts = (parse_template(template) if isinstance(template, str) else template).parts
    made = [
        await _only_value(part.text, values, evaluator, timeout_seconds) if isinstance(part, Expression) else part
        for part in parts
    ]
    if len(parts) == 1:
        return made[0]
    return "".join(map(_inside_text, made))


async def _only_value(
    expression: str, values: Mapping[str, object], evaluator: Evaluator, timeout_seconds: float
) -> Json:
    parts = plain_path(expression)
    if parts is not None:
        return look_up(values, parts)
    results = await evaluator.evaluate(expression, values, timeout_seconds=timeout_seconds)
    if len(results) != 1:
        raise BadExpression(expression, f"gave {len(results) or 'no'} values where exactly one is needed")
    return as_json(results[0])


def _inside_text(value: Json) -> str:
    if isinstance(value, str):
        return value
    return "" if value is None else msgspec.json.encode(value).decode()


def _hides_key(values: object, part: str | int) -> bool:
    """Whether `part` may be the JSON name of a key that is no text in Python, such as 1."""
    return isinstance(values, Mapping) and part not in values and not set(map(type, values)) <= {str}


def _end_of_expression(text: str, start: int, column: int) -> int:
    """Where the `}}` is that ends the expression: not one in a string, nor one that closes objects."""
    open_braces = 0
    for token in _tokens(text, start):
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
    raise BadExpression(text, f"the ${{{{ at column {column} has no }}}} that ends it")


class _Token(NamedTuple):
    kind: str  # space, comment, number, field, name, string, open, close or mark
    text: str
    start: int


_TOKEN = re.compile(
    r"""  (?P<space> \s+ )
        | (?P<comment> \#[^\n]* )
        | (?P<number> (?: [0-9]+ (?:\.[0-9]*)? | \.[0-9]+ ) (?:[eE][+-]?[0-9]+)? )
        | (?P<field> \.[A-Za-z_][A-Za-z0-9_]* )
        | (?P<name> [$@]? (?:[A-Za-z_][A-Za-z0-9_]*::)* [A-Za-z_][A-Za-z0-9_]* )
        | (?P<open> [(\[{] )
        | (?P<close> [)\]}] )
        | (?P<mark> \.\. | \?// | //=? | [=!<>|+\-*/%]= | . )
    """,
    re.VERBOSE | re.DOTALL | re.ASCII,
)
_STRING_PIECE = re.compile(r'(?:[^"\\]|\\[^(])*(?P<end>"|\\\()', re.DOTALL)


def _tokens(text: str, at: int = 0) -> Iterator[_Token]:
    """The tokens of jq. A string with `\\(...)` in it is an `open`, the tokens inside, and a `close`."""
    nesting: list[str] = []
    while at < len(text):
        match = _TOKEN.match(text, at)
        assert match and match.lastgroup  # the last alternative takes any character
        if match[0] == ")" and nesting and nesting[-1] == '"':
            yield _Token("close", ")", at)
        elif match[0] != '"':
            yield _Token(match.lastgroup, match[0], at)
            if match[0] == "(":
                nesting.append("(")
            elif match[0] == ")" and nesting:
                nesting.pop()
            at = match.end()
            continue
        piece = _STRING_PIECE.match(text, at + 1)
        if piece is None:
            raise BadExpression(text, f"the string at column {at + 1} has no end")
        resumed = match[0] == ")"
        if resumed:
            nesting.pop()
        if piece["end"] == "\\(":
            nesting.append('"')
            yield _Token("open", '"', at)
        elif not resumed:
            yield _Token("string", text[at : piece.end()], at)
        at = piece.end()


class _Unclear(Exception):
    """The expression may read anything."""


@dataclass(slots=True)
class _Nest:
    """What is inside one pair of brackets."""

    bracket: str
    entered_at_top: bool  # whether `.` is the whole input where the brackets begin
    at_top: bool  # and whether it is here
    at_key: bool = False  # whether the next token is a key of an object
    gives_input: bool = False  # whether it may come out as it went in, as an `if` without `else` does


class _KeyReader:
    """Collects every key that an expression names, as long as it uses the whole input in no other way.

    The name of a field counts wherever it is: `.b` in `.a | .b` is too much, and does no harm. All else that
    reads its input (`.`, `length`, `@json`, `.[0]`, `=`) is fine once a pipe has replaced the whole input by
    something smaller. After `as` a pipe does not do that, so an expression with `as` is taken to have no pipes.
    """

    _CONSTANTS = frozenset({"true", "false", "null", "empty", "nan", "infinite", "and", "or", "try", "catch", "as"})
    _ONLY_ARGUMENTS = frozenset({"range", "first", "last", "limit", "isempty", "error"})  # when called with some
    _NEW_MEANINGS = frozenset({"def", "reduce", "foreach", "label", "import", "include", "module"})
    _OTHER_INPUTS = frozenset(
        {"env", "$ENV", "$__loc__", "$__prog_args", "input", "inputs", "input_filename", "input_line_number"}
        | {"debug", "stderr", "halt", "halt_error", "modulemeta", "get_search_list"}
    )
    _BEYOND_US = _NEW_MEANINGS | _OTHER_INPUTS
    _ASSIGNMENTS = frozenset({"=", "|=", "+=", "-=", "*=", "/=", "%=", "//="})

    def __init__(self, expression: str) -> None:
        tokens = list(_tokens(expression))
        if any(token.kind == "comment" and token.text.rstrip("\r").endswith("\\") for token in tokens):
            raise _Unclear  # jq goes on with such a comment in the next line
        self._tokens = [token for token in tokens if token.kind not in ("space", "comment")]
        self._pipes_narrow = all(token.text != "as" for token in self._tokens)
        self._keys: set[str] = set()
        self._nests = [_Nest("", True, True)]
        self._at = 0

    def read(self) -> set[str]:
        while self._at < len(self._tokens):
            token = self._tokens[self._at]
            self._at += 1
            if self._nests[-1].at_key and token.kind != "close":
                self._read_key(token)
            else:
                self._read(token)
        return self._keys

    def _read(self, token: _Token) -> None:
        nest = self._nests[-1]
        match token.kind:
            case "field":
                self._keys.add(token.text[1:])
            case "name":
                self._read_name(token.text, nest)
            case "open":
                self._enter(token.text)
            case "close":
                self._leave()
            case "mark":
                self._read_mark(token.text, nest)

    def _read_mark(self, mark: str, nest: _Nest) -> None:
        if mark == ".":
            self._read_dot(nest)
        elif mark == "|":
            nest.at_top = nest.at_top and not self._pipes_narrow
        elif mark == ";" or (mark in ",:" and nest.bracket == "{"):
            nest.at_top = nest.entered_at_top
            nest.at_key = mark == ","
        elif mark == "$" or (nest.at_top and (mark == ".." or mark in self._ASSIGNMENTS)):
            raise _Unclear

    def _read_dot(self, nest: _Nest) -> None:
        """`."key"` and `.["key"]` name a key, any other `.` is the input itself."""
        following = [token.text for token in self._tokens[self._at : self._at + 3]]
        bracketed = len(following) == 3 and following[0] == "[" and following[2] == "]"
        literal = self._tokens[self._at + bracketed] if following else None
        if literal and literal.kind == "string":
            self._keys.add(_string(literal.text))
            self._at += 3 if bracketed else 1
        elif nest.at_top:
            raise _Unclear

    def _read_name(self, name: str, nest: _Nest) -> None:
        following = self._tokens[self._at] if self._at < len(self._tokens) else _Token("", "", 0)
        if name in self._BEYOND_US or "::" in name:
            raise _Unclear
        if name == "if":
            self._enter("if")
        elif name in ("then", "elif", "else"):
            nest.at_top = nest.entered_at_top
            nest.gives_input = nest.gives_input and name != "else"
        elif name == "end":
            self._leave()
        elif nest.at_top and not self._reads_no_input(name, following):
            raise _Unclear

    def _reads_no_input(self, name: str, following: _Token) -> bool:
        if name.startswith("@"):
            return following.kind == "string" or following.text == '"'
        return (
            name.startswith("$") or name in self._CONSTANTS or (name in self._ONLY_ARGUMENTS and following.text == "(")
        )

    def _read_key(self, token: _Token) -> None:
        """`{a}` reads `.a`; that `{a: 1}` does not is not worth knowing."""
        self._nests[-1].at_key = False
        if token.kind == "string":
            self._keys.add(_string(token.text))
        elif token.text == "(":
            self._enter("(")
        elif token.kind != "name" or token.text.startswith("@") or token.text in self._BEYOND_US:
            raise _Unclear
        else:
            self._keys.add(token.text)

    def _enter(self, bracket: str) -> None:
        at_top = self._nests[-1].at_top
        self._nests.append(_Nest(bracket, at_top, at_top, at_key=bracket == "{", gives_input=bracket == "if"))

    def _leave(self) -> None:
        nest = self._nests.pop()
        if not self._nests or (nest.gives_input and nest.entered_at_top):
            raise _Unclear


def _string(literal: str) -> str:
    try:
        text: str = json.loads(literal, strict=False)
    except ValueError as error:
        raise _Unclear from error
    return text
