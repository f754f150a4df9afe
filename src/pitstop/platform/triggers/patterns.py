"""Whether a branch, a tag or a file matches the patterns of a trigger."""

import re
from collections.abc import Sequence
from functools import lru_cache

from pitstop.definition.name_patterns import pattern_regex


def matches(patterns: Sequence[str], name: str) -> bool:
    """Whether the last pattern that matches `name` has no `!`; ValueError for an invalid pattern.

    `*` does not match `/`, `**` does; `?` is one character except `/`, as in a shell and unlike GitHub.
    """
    found = _one_regex(tuple(patterns)).match(name)
    return found is not None and found.lastindex is not None


@lru_cache(maxsize=1024)
def _one_regex(patterns: tuple[str, ...]) -> re.Pattern[str]:
    """All patterns, the last one first: an alternative without `!` has an empty group at its end."""
    alternatives = [
        rf"{pattern_regex(each[1:])}\Z" if each.startswith("!") else rf"{pattern_regex(each)}\Z()"
        for each in reversed(patterns)
    ]
    return re.compile("(?s)" + "|".join(alternatives or ["(?!)"]))
