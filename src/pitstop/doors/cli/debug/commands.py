"""Lines of text as commands: table-driven, so that whatever can be typed is in the help."""

from collections.abc import Iterable
from difflib import get_close_matches
from typing import Any

from pitstop.doors.cli.debug.table import TABLE, CommandSpec
from pitstop.errors import BadBreakpoint, BadCommand

BY_WORD = {word: spec for spec in TABLE for word in (spec.name, *spec.aliases)}
NUMBERS = ("1", "2", "3", "4", "5")  # of the ways to continue where a fix loop gave up
REPEATED = ("next", "step", "return", "continue")  # by an empty line


def parse(line: str) -> tuple[CommandSpec, Any]:
    """The command in a line that is not empty, and its argument; BadCommand says in one line what is wrong with it."""
    line = line.strip()
    if line.startswith("."):
        return BY_WORD["p"], line
    word, _, rest = line.partition(" ")
    if word in NUMBERS:
        word, rest = "decide", line
    spec = find(word)
    try:
        return spec, spec.read(rest.strip())
    except (BadCommand, BadBreakpoint) as error:
        raise BadCommand(f"{spec.name}: {error}; usage: {spec.usage}") from error


def find(word: str) -> CommandSpec:
    """The command with this name, or the one that it can only be the beginning of."""
    if word in BY_WORD:
        return BY_WORD[word]
    meant = [spec for spec in TABLE if spec.name.startswith(word)]
    if len(meant) == 1:
        return meant[0]
    if meant:
        raise BadCommand(f"{word!r} is ambiguous: {_listed(spec.name for spec in meant)}")
    nearest = get_close_matches(word, BY_WORD, n=1)
    hint = f"did you mean {nearest[0]!r}?" if nearest else "`help` lists all commands"
    raise BadCommand(f"unknown command {word!r}: {hint}")


def allowed_commands(verbs: Iterable[str]) -> dict[str, list[str]]:
    """The commands that these verbs of a stop make possible, by group; those that are always there are left out."""
    allowed = set(verbs)
    by_group: dict[str, list[str]] = {}
    for spec in TABLE:
        if spec.verb in allowed:
            by_group.setdefault(spec.group, []).append(spec.name)
    return by_group


def _listed(words: Iterable[str]) -> str:
    *most, last = words
    return f"{', '.join(most)} or {last}"
