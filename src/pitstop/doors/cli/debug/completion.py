"""What the word under the cursor can become."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from pitstop.doors.cli.breakpoint_text import POSITIONS
from pitstop.doors.cli.debug.arguments import STATUSES
from pitstop.doors.cli.debug.commands import find
from pitstop.doors.cli.debug.table import BREAKPOINTS, TABLE
from pitstop.errors import PitstopError

_PATH = re.compile(r'(?:\.(?:[A-Za-z_]\w*|"[^"]*")?|\[\d*\]?)+$')
_PART = re.compile(r'\.([A-Za-z_]\w*)|\."([^"]*)"|\[(\d+)\]')
_NAME = re.compile(r"[A-Za-z_]\w*")


@dataclass(frozen=True, slots=True)
class Candidate:
    """A completion: the text that takes the place of the last `replaces` characters."""

    text: str
    replaces: int
    meaning: str = ""


class Words(Protocol):
    """What there is to name in a run."""

    @property
    def step_names(self) -> Mapping[str, str]:
        """Ids and paths, each with the title of its step."""
        ...

    @property
    def frame_names(self) -> Sequence[str]: ...

    @property
    def breakpoint_names(self) -> Mapping[str, str]: ...

    @property
    def watch_names(self) -> Sequence[str]: ...

    @property
    def scope(self) -> Mapping[str, Any]:
        """What the stopped step sees."""
        ...


def complete(before_cursor: str, words: Words) -> list[Candidate]:
    """The completions of a line as far as it is typed."""
    line = before_cursor.lstrip()
    if line.startswith("."):
        return list(_paths(line, words.scope))
    name, space, rest = line.partition(" ")
    if not space:
        return [Candidate(spec.name, len(name), spec.summary) for spec in TABLE if spec.name.startswith(name)]
    try:
        spec = find(name)
    except PitstopError:
        return []
    last = rest.rpartition(" ")[2]
    match spec.takes:
        case "step":
            return list(_in_breakpoint(rest, last, words)) if spec.group == BREAKPOINTS else _steps(rest, words)
        case "jq":
            return list(_paths(rest, words.scope))
        case "frame":
            return _of(words.frame_names, rest)
        case "breakpoint":
            return [
                Candidate(each, len(last), told)
                for each, told in words.breakpoint_names.items()
                if each.startswith(last)
            ]
        case "watch":
            return _of(words.watch_names, rest)
        case "status":
            return _of(STATUSES, rest)
        case "command":
            return [Candidate(each.name, len(rest), each.summary) for each in TABLE if each.name.startswith(rest)]
        case "type":
            return _of(("before", "after"), rest)
        case _:
            return []


def _in_breakpoint(rest: str, last: str, words: Words) -> Iterator[Candidate]:
    """The place, its position, then the words of the clauses and paths in a condition."""
    if " " not in rest:
        place, colon, position = rest.rpartition(":")
        if colon:
            yield from (Candidate(each, len(position)) for each in POSITIONS if each.startswith(position) and place)
        else:
            yield from _steps(rest, words)
    elif last.startswith("."):
        yield from _paths(rest, words.scope)
    else:
        yield from _of(("if", "hits", "group", "log"), last)


def _steps(begun: str, words: Words) -> list[Candidate]:
    return [Candidate(name, len(begun), title) for name, title in words.step_names.items() if name.startswith(begun)]


def _of(names: Iterable[str], begun: str) -> list[Candidate]:
    return [Candidate(name, len(begun)) for name in names if name.startswith(begun)]


def _paths(text: str, scope: Mapping[str, Any]) -> Iterator[Candidate]:
    """The keys that can follow in the jq path which the text ends with."""
    found = _PATH.search(text)
    if found is None:
        return
    holder, _, begun = found[0].rpartition(".")
    value: Any = scope
    for name, quoted, index in _PART.findall(holder):
        value = _child(value, int(index) if index else name or quoted)
    if isinstance(value, Mapping):
        for key, child in value.items():
            if str(key).startswith(begun.strip('"')):
                yield Candidate(_key(str(key)), len(begun), _kind(child))


def _child(value: Any, part: str | int) -> Any:
    if isinstance(value, Mapping) and isinstance(part, str):
        return value.get(part)
    if isinstance(value, Sequence) and not isinstance(value, str) and isinstance(part, int):
        return value[part] if part < len(value) else None
    return None


def _key(key: str) -> str:
    return key if _NAME.fullmatch(key) else json.dumps(key, ensure_ascii=False)


def _kind(value: Any) -> str:
    match value:
        case Mapping():
            return f"{len(value)} keys"
        case str():
            return "text"
        case Sequence():
            return f"{len(value)} items"
        case _:
            return "" if value is None else type(value).__name__
