"""Mistakes in files: collected with their places, and told with the nearest valid word."""

import difflib
import re
from collections.abc import Iterable, Mapping
from typing import NoReturn

from pitstop.errors import BadFlow, FlowTooLarge, Mistake

MOST_MISTAKES = 1_000
_LINE_END = "\r\n|[\r\n\x85\u2028\u2029]"  # what YAML takes for one
_SHOWN_CHARACTERS = 60
_LONG_LINE = 2_000  # characters: of such lines only the first few are shown, and no more than the beginning
_LONG_LINES = 10
_LONGEST_LINE = 20_000


class Mistakes:
    """Everything that is wrong in the files of one flow, in the order of the files and of their lines."""

    def __init__(self, texts: Mapping[str, str] | None = None) -> None:
        self.texts: dict[str, str] = dict(texts or {})  # by file
        self._lines: dict[str, list[str]] = {}
        self._long_lines = 0  # that were shown
        self._found: dict[tuple[str, int, int, str], Mistake] = {}  # one that an alias repeats is told once

    def add(self, file: str, line: int, column: int, message: str, hint: str | None = None) -> None:
        """Note a mistake; BadFlow at once when there are so many that nobody would read on."""
        mistake = Mistake(file, line, column, message, self._line(file, line), hint)
        self._found.setdefault((file, line, column, message), mistake)
        if len(self._found) == MOST_MISTAKES:
            enough = f"too many errors ({MOST_MISTAKES:,}): the rest of the file was not checked"
            raise BadFlow([*self._in_order(), Mistake(file, line, column, enough)])

    def refuse(self, file: str, line: int, column: int, message: str) -> NoReturn:
        """Note that the flow is too large to be read any further; FlowTooLarge."""
        self.add(file, line, column, message)
        raise FlowTooLarge(self._in_order())

    def add_all(self, found: Iterable[Mistake]) -> None:
        for mistake in found:
            self._found.setdefault((mistake.file, mistake.line, mistake.column, mistake.message), mistake)

    def raise_if_any(self) -> None:
        if self._found:
            raise BadFlow(self._in_order())

    def _in_order(self) -> list[Mistake]:
        return in_order(self._found.values(), self.texts)

    def _line(self, file: str, line: int) -> str:
        if file not in self._lines:
            self._lines[file] = re.split(_LINE_END, self.texts.get(file, ""))
        lines = self._lines[file]
        text = lines[line - 1] if line <= len(lines) else ""
        if len(text) <= _LONG_LINE:
            return text
        self._long_lines += 1
        return text[:_LONGEST_LINE] if self._long_lines <= _LONG_LINES else ""


def in_order(found: Iterable[Mistake], files: Iterable[str] = ()) -> list[Mistake]:
    """Mistakes by file and line; files that are not named come as their mistakes do."""
    found = list(found)
    order = {file: number for number, file in enumerate(dict.fromkeys([*files, *(each.file for each in found)]))}
    return sorted(found, key=lambda each: (order[each.file], each.line, each.column))


def nearest(word: str, words: Iterable[str]) -> str | None:
    """The valid word that is most like `word`, if any is."""
    near = difflib.get_close_matches(word, words, n=1) if len(word) <= _SHOWN_CHARACTERS else []
    return near[0] if near else None


def did_you_mean(word: str, words: Iterable[str]) -> str | None:
    near = nearest(word, words)
    return f"did you mean `{near}`?" if near else None


def quoted(word: str) -> str:
    """A word of the user's as it stands in a message."""
    shown = word if len(word) <= _SHOWN_CHARACTERS else word[: _SHOWN_CHARACTERS - 1] + "…"
    return f"`{shown}`" if shown.isprintable() else f"`{shown!r}`"


def listed(words: Iterable[str]) -> str:
    """`a`, `b` or `c`."""
    *others, last = map(quoted, words)
    return f"{', '.join(others)} or {last}" if others else last
