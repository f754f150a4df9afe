"""What the text of a jq expression tells before it runs: its tokens, and the keys that it can read."""

import json
import re
from collections.abc import Iterator
from functools import lru_cache

from msgspec import Struct

from pitstop.errors import BadExpression


class Token(Struct, frozen=True):
    """The smallest piece of an expression that has a meaning."""

    kind: str  # space, comment, number, field, name, string, open, close or mark
    text: str
    start: int


_TOKEN = r"""(?xsa)
          (?P<space> \s+ )
        | (?P<comment> \#[^\n]* )
        | (?P<number> (?: [0-9]+ (?:\.[0-9]*)? | \.[0-9]+ ) (?:[eE][+-]?[0-9]+)? )
        | (?P<field> \.[A-Za-z_][A-Za-z0-9_]* )
        | (?P<name> [$@]? (?:[A-Za-z_][A-Za-z0-9_]*::)* [A-Za-z_][A-Za-z0-9_]* )
        | (?P<open> [(\[{] )
        | (?P<close> [)\]}] )
        | (?P<mark> \.\. | \?// | //=? | [=!<>|+\-*/%]= | . )
"""
_STRING_PIECE = r'(?s)(?:[^"\\]|\\[^(])*(?P<end>"|\\\()'


def tokens(text: str, at: int = 0) -> Iterator[Token]:
    """The tokens of jq. A string with `\\(...)` in it is an `open`, the tokens inside, and a `close`."""
    nesting: list[str] = []
    match_token = re.compile(_TOKEN).match
    match_piece = re.compile(_STRING_PIECE).match
    while at < len(text):
        match = match_token(text, at)
        assert match and match.lastgroup  # the last alternative takes any character
        if match[0] == ")" and nesting and nesting[-1] == '"':
            yield Token("close", ")", at)
        elif match[0] != '"':
            yield Token(match.lastgroup, match[0], at)
            if match[0] == "(":
                nesting.append("(")
            elif match[0] == ")" and nesting:
                nesting.pop()
            at = match.end()
            continue
        piece = match_piece(text, at + 1)
        if piece is None:
            raise BadExpression(text, f"unterminated string at column {at + 1}")
        resumed = match[0] == ")"
        if resumed:
            nesting.pop()
        if piece["end"] == "\\(":
            nesting.append('"')
            yield Token("open", '"', at)
        elif not resumed:
            yield Token("string", text[at : piece.end()], at)
        at = piece.end()


@lru_cache(maxsize=4096)
def top_keys(expression: str) -> frozenset[str] | None:
    """The top-level keys that the expression can read: maybe too many, never too few; None for all of them."""
    try:
        return frozenset(_KeyReader(expression).read())
    except (_Unclear, BadExpression):
        return None


class _Unclear(Exception):
    """The expression may read anything."""


class _Nest(Struct):
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
        written = list(tokens(expression))
        if any(token.kind == "comment" and token.text.rstrip("\r").endswith("\\") for token in written):
            raise _Unclear  # jq goes on with such a comment in the next line
        self._tokens = [token for token in written if token.kind not in ("space", "comment")]
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

    def _read(self, token: Token) -> None:
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
        following = self._tokens[self._at] if self._at < len(self._tokens) else Token("", "", 0)
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

    def _reads_no_input(self, name: str, following: Token) -> bool:
        if name.startswith("@"):
            return following.kind == "string" or following.text == '"'
        return (
            name.startswith("$") or name in self._CONSTANTS or (name in self._ONLY_ARGUMENTS and following.text == "(")
        )

    def _read_key(self, token: Token) -> None:
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
