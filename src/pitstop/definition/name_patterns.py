"""Patterns for the names of branches, tags and files: how they are written, and the regular expression of each."""

import re

from msgspec import Struct, field

# `**/` at the beginning of a part of a path stands for any number of folders, none included
_TOKEN = re.compile(
    r"""(?xs)
          (?P<folders> (?<![^/]) \*{2,} / )
        | (?P<anything> \*{2,} )
        | (?P<star> \* )
        | (?P<one> \? )
        | \[ (?P<negated> [!^]? ) (?P<members> \][^\]]* | [^\]]+ ) \]
        | \\ (?P<escaped> . )
        | (?P<plain> [^\[\\] )
    """
)
_SKIPPED_FOLDERS = "(?:[^/]*+/)*?"
_WITHIN_FOLDER = "[^/]*"


class _Section(Struct):
    """What is between two `**`: regular expressions, with a `*` between each and the next."""

    follows_folders: bool = False
    chunks: list[str] = field(default_factory=lambda: [""])


def pattern_regex(pattern: str) -> str:
    """The regular expression for whole names; ValueError says what is wrong with the pattern.

    It takes linear time: a `*` never needs to try another place than the first where the text after it matches.
    """
    sections = [_Section()]
    for token in _tokens(pattern):
        chunks = sections[-1].chunks
        match token.lastgroup:
            case "folders":
                sections.append(_Section(True))
            case "anything":
                sections.append(_Section(True, ["", ""]))
            case "star":
                chunks.append("")
            case "one":
                chunks[-1] += "[^/]"
            case "members":
                chunks[-1] += _class_regex(token)
            case _:
                chunks[-1] += re.escape(token["escaped"] or token["plain"])
    *others, last = sections
    return "".join(f"(?>{_section_regex(each)})" for each in others) + _last_regex(last)


def _tokens(pattern: str) -> list[re.Match[str]]:
    found: list[re.Match[str]] = []
    at = 0
    while at < len(pattern):
        token = _TOKEN.match(pattern, at)
        if token is None:
            is_bracket = pattern[at] == "["
            raise ValueError("has a `[` without a `]`" if is_bracket else "ends with a `\\` that escapes nothing")
        found.append(token)
        at = token.end()
    return found


def _class_regex(token: re.Match[str]) -> str:
    members = token["members"]
    ranges = re.findall("(?s)(.)-(.)|(.)", members)
    for first, last, _ in ranges:
        if first > last:
            raise ValueError(f"has the range `{first}-{last}`, which is in the wrong order")
    content = "".join(
        re.escape(single) if single else f"{re.escape(first)}-{re.escape(last)}" for first, last, single in ranges
    )
    return f"(?:(?!/)[{'^' if token['negated'] else ''}{content}])"


def _section_regex(section: _Section) -> str:
    """A section ends at the first place where it can: a `**` after it takes all the rest."""
    first, *chunks = section.chunks
    start = _SKIPPED_FOLDERS if section.follows_folders else ""
    return start + first + "".join(f"(?>{_WITHIN_FOLDER}?{chunk})" for chunk in chunks)


def _last_regex(section: _Section) -> str:
    *chunks, last = section.chunks
    if not chunks:
        return _section_regex(section)
    return f"{_section_regex(_Section(section.follows_folders, chunks))}{_WITHIN_FOLDER}{last}"
