"""What the word under the cursor can become."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import msgspec
from msgspec import Struct

from pitstop.doors.cli.breakpoint_text import POSITIONS
from pitstop.doors.cli.debug.arguments import STATUSES
from pitstop.doors.cli.debug.commands import find
from pitstop.doors.cli.debug.table import BREAKPOINTS, TABLE
from pitstop.errors import PitstopError

_PATH = re.compile(r'(?:\.(?:[A-Za-z_]\w*|"[^"]*")?|\[\d*\]?)+$')
_PART = re.compile(r'\.([A-Za-z_]\w*)|\."([^"]*)"|\[(\d+)\]')
_NAME = re.compile(r"[A-Za-z_]\w*")


class Candidate(Struct, frozen=True):
    """A completion: the text that takes the place of the last `replaces` characters."""

    text: str
    replaces: int
    meaning: str = ""


class Words(msgspec.Struct, frozen=True, kw_only=True):
    """What there is to name in a run."""

    step_names: Mapping[str, str]  # IDs and paths, each with the title of its step
    frame_names: Sequence[str]
    breakpoint_names: Mapping[str, str]
    watch_names: Sequence[str]
    scope: Mapping[str, Any]  # what the paused step sees


def complete(before_cursor: str, words: Words) -> list[Candidate]:
    """The completions of a line as far as it is typed."""
    line = before_cursor.lstrip()
    if line.startswith("."):
        return list(_paths(line, words.scope))
    name, space, rest = line.partition(" ")
    commands = {spec.name: spec.summary for spec in TABLE}
    if not space:
        return _named(commands, name)
    try:
        spec = find(name)
    except PitstopError:
        return []
    last = rest.rpartition(" ")[2]
    match spec.takes:
        case "step" if spec.group == BREAKPOINTS:
            return list(_in_breakpoint(rest, last, words))
        case "step":
            return _named(words.step_names, rest)
        case "jq":
            return list(_paths(rest, words.scope))
        case "frame":
            return _of(words.frame_names, rest)
        case "breakpoint":
            return _named(words.breakpoint_names, last)
        case "watch":
            return _of(words.watch_names, rest)
        case "status":
            return _of(STATUSES, rest)
        case "command":
            return _named(commands, rest)
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
            yield from _named(words.step_names, rest)
    elif last.startswith("."):
        yield from _paths(rest, words.scope)
    else:
        yield from _of(("if", "hits", "group", "log"), last)


def _named(meanings: Mapping[str, str], begun: str) -> list[Candidate]:
    return [Candidate(name, len(begun), meaning) for name, meaning in meanings.items() if name.startswith(begun)]


def _of(names: Iterable[str], begun: str) -> list[Candidate]:
    return _named(dict.fromkeys(names, ""), begun)


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
