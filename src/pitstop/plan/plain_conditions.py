"""Conditions that need no jq: comparisons of plain paths with literals, and what combines them, by jq's own rules."""

import json
import operator
import re
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

from msgspec import Struct

from pitstop.errors import BadExpression
from pitstop.plan.jq_text import Token, tokens
from pitstop.plan.paths import Parts, longest_path, read_path
from pitstop.plan.values import look_up

# What an expression gives for its input; NeedsJq when only jq knows
Answer = Callable[[Any], Any]
PlainCondition = Callable[[Mapping[str, object]], bool]

_COMPARISONS: Mapping[str, Callable[[int, int], bool]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_CONSTANTS: Mapping[str, bool | None] = {"true": True, "false": False, "null": None}
_NUMBER = r"(?a)\d+(\.\d+)?"
_EXACT_DIGITS = 15  # a decimal of so many is the same number as a decimal and as a float
_EXACT_INTEGERS = 2**53
_FALSE, _TRUE, _NUMBERS, _STRINGS, _ARRAYS, _OBJECTS = range(1, 7)  # jq's order of types; null is before them
_RANKS: Mapping[type, int] = {
    type(None): 0,
    int: _NUMBERS,
    float: _NUMBERS,
    str: _STRINGS,
    list: _ARRAYS,
    dict: _OBJECTS,
}


class NeedsJq(Exception):
    """Only jq can answer: with its own error, or by comparing arrays, objects or numbers beyond 64-bit floats."""


@lru_cache(maxsize=4096)
def plain_condition(text: str) -> PlainCondition | None:
    """What answers `text` without jq, or None. It raises NeedsJq for values that need jq."""
    try:
        return _Parser(text).parse()
    except (_NotPlain, BadExpression):
        return None


class _NotPlain(Exception):
    """The expression is not one of the few that are known here."""


class _Term(Struct, frozen=True):
    """A part of an expression. Its input is the whole scope, or what came through a pipe."""

    answer: Answer
    is_bool: bool = False


class _Parser:
    """Reads an expression with jq's precedence: pipes bind least, then `or`, `and`, and comparisons."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._tokens = [token for token in tokens(text) if token.kind != "space"]
        self._at = 0

    def parse(self) -> PlainCondition:
        term = self._pipe(is_piped=False)
        if self._at < len(self._tokens) or not term.is_bool:
            raise _NotPlain
        return term.answer

    def _pipe(self, *, is_piped: bool) -> _Term:
        left = self._or(is_piped=is_piped)
        if not self._takes("|"):
            return left
        right = self._pipe(is_piped=True)
        return _Term(_piped(left.answer, right.answer), right.is_bool)

    def _or(self, *, is_piped: bool) -> _Term:
        term = self._and(is_piped=is_piped)
        while self._takes("or"):
            term = _Term(_either(term.answer, self._and(is_piped=is_piped).answer), is_bool=True)
        return term

    def _and(self, *, is_piped: bool) -> _Term:
        term = self._comparison(is_piped=is_piped)
        while self._takes("and"):
            term = _Term(_both(term.answer, self._comparison(is_piped=is_piped).answer), is_bool=True)
        return term

    def _comparison(self, *, is_piped: bool) -> _Term:
        left = self._operand(is_piped=is_piped)
        compare = _COMPARISONS.get(self._peek().text)
        if compare is None:
            return left
        self._at += 1
        return _Term(_compared(compare, left.answer, self._operand(is_piped=is_piped).answer), is_bool=True)

    def _operand(self, *, is_piped: bool) -> _Term:
        token = self._next()
        if token.text == "(":
            term = self._pipe(is_piped=is_piped)
            self._expect(")")
            return term
        if token.kind == "field" or token.text == ".":
            return self._path(token, is_piped=is_piped)
        if token.kind == "string":
            return _Term(_always(_string(token.text)))
        if token.kind == "number":
            return _Term(_always(_number(token.text)))
        if token.text == "-" and self._peek().kind == "number":
            return _Term(_always(-_number(self._next().text)))
        if token.kind == "name" and token.text in _CONSTANTS:
            return _Term(_always(_CONSTANTS[token.text]), is_bool=token.text != "null")
        if token.kind == "name" and is_piped:
            return self._function(token.text)
        raise _NotPlain

    def _path(self, token: Token, *, is_piped: bool) -> _Term:
        parts, end = longest_path(self._text, token.start)
        if not parts and not is_piped:
            raise _NotPlain  # the whole scope
        while self._at < len(self._tokens) and self._tokens[self._at].start < end:
            self._at += 1
        return _Term(_read(parts) if is_piped else _looked_up(parts))

    def _function(self, name: str) -> _Term:
        if name == "not":
            return _Term(_is_false, is_bool=True)
        if name == "length":
            return _Term(_length)
        if name != "has":
            raise _NotPlain
        self._expect("(")
        key = self._next()
        self._expect(")")
        if key.kind != "string":
            raise _NotPlain
        return _Term(_has(_string(key.text)), is_bool=True)

    def _peek(self) -> Token:
        return self._tokens[self._at] if self._at < len(self._tokens) else Token("", "", len(self._text))

    def _next(self) -> Token:
        token = self._peek()
        self._at += 1
        return token

    def _takes(self, text: str) -> bool:
        is_next = self._peek().text == text
        self._at += is_next
        return is_next

    def _expect(self, text: str) -> None:
        if not self._takes(text):
            raise _NotPlain


def _string(literal: str) -> str:
    try:
        text: str = json.loads(literal, strict=False)
        text.encode()
    except ValueError as error:
        raise _NotPlain from error
    return text


def _number(literal: str) -> int | float:
    if not re.fullmatch(_NUMBER, literal) or len(literal.replace(".", "")) > _EXACT_DIGITS:
        raise _NotPlain
    return float(literal) if "." in literal else int(literal)


# --- What the parts of an expression do -------------------------------------------------------------------------------


def _looked_up(parts: Parts) -> Answer:
    def answer(values: Any) -> Any:
        try:
            return look_up(values, parts)
        except BadExpression as error:
            raise NeedsJq from error

    return answer


def _read(parts: Parts) -> Answer:
    def answer(value: Any) -> Any:
        try:
            return read_path(value, parts)
        except BadExpression as error:
            raise NeedsJq from error

    return answer


def _always(value: Any) -> Answer:
    return lambda _: value


def _piped(left: Answer, right: Answer) -> Answer:
    return lambda value: right(left(value))


def _either(left: Answer, right: Answer) -> Answer:
    return lambda value: not _is_false(left(value)) or not _is_false(right(value))


def _both(left: Answer, right: Answer) -> Answer:
    return lambda value: not _is_false(left(value)) and not _is_false(right(value))


def _compared(compare: Callable[[int, int], bool], left: Answer, right: Answer) -> Answer:
    return lambda value: compare(_order(left(value), right(value)), 0)


def _has(key: str) -> Answer:
    def answer(value: Any) -> Any:
        if type(value) is not dict:
            raise NeedsJq
        return key in value

    return answer


def _length(value: Any) -> Any:
    if value is None:
        return 0
    if type(value) in (int, float):
        return abs(value)
    if type(value) in (str, list, dict):
        return len(value)
    raise NeedsJq


def _is_false(value: Any) -> bool:
    return value is None or value is False


def _order(left: Any, right: Any) -> int:
    """Below 0 when the left value comes first in jq's order, above 0 when the right one does."""
    rank, other = _rank(left), _rank(right)
    if rank != other or rank < _NUMBERS:
        return rank - other
    if rank > _STRINGS:
        raise NeedsJq
    if rank == _NUMBERS and not (_is_exact(left) and _is_exact(right)):
        raise NeedsJq
    return int(left > right) - int(left < right)


def _rank(value: Any) -> int:
    if type(value) is bool:
        return _TRUE if value else _FALSE
    return _RANKS[type(value)]


def _is_exact(number: int | float) -> bool:
    """Whether it is the same number to jq, which compares decimals, and to Python."""
    return type(number) is float or -_EXACT_INTEGERS <= number <= _EXACT_INTEGERS
