"""Which branches, tags and files a pattern matches."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pitstop.platform.triggers.patterns import matches


@pytest.mark.parametrize(
    ("pattern", "matching", "others"),
    [
        ("main", ["main"], ["Main", "main2", "a/main", ""]),
        ("*", ["main", "v1.2"], ["feature/a"]),
        ("**", ["main", "feature/a/b", ""], []),
        ("release/*", ["release/1", "release/"], ["release", "release/1/a"]),
        ("release/**", ["release/1", "release/1/a"], ["release", "releases/1"]),
        ("**.js", ["index.js", "src/app.js"], ["app.jsx"]),
        ("**/docs/**", ["docs/a.md", "x/y/docs/a/b.md"], ["docs", "mydocs/a.md"]),
        ("docs/**/*.md", ["docs/a.md", "docs/x/y/a.md"], ["docs/a.txt", "a.md"]),
        ("v?.[0-9]", ["v1.2", "vx.0"], ["v1.x", "v12.3", "v/.1", "v.1"]),
        ("[!a-c]x", ["dx", "!x"], ["ax", "/x"]),
        ("[^]x]", ["a"], ["]", "x"]),
        ("[a-]", ["a", "-"], ["b"]),
        ("\\*\\[a]", ["*[a]"], ["x[a]", "*a"]),
        ("a.b+(c)|d", ["a.b+(c)|d"], ["axb+(c)|d", "d"]),
        ("***/a", ["a", "x/y/a"], ["xa"]),
        ("a**/b", ["a/b", "ax/y/b"], ["ab"]),
        ("*é*\n", ["aéb\n"], ["aéb"]),
    ],
)
def test_a_pattern_matches_whole_names(pattern: str, matching: list[str], others: list[str]) -> None:
    assert {name: matches([pattern], name) for name in matching + others} == {
        **dict.fromkeys(matching, True),
        **dict.fromkeys(others, False),
    }


@pytest.mark.parametrize(
    ("patterns", "name", "is_match"),
    [
        (["main", "release/**", "!release/old"], "release/old", False),
        (["main", "release/**", "!release/old"], "release/new", True),
        (["release/**", "!release/old*", "release/older"], "release/older", True),
        (["!release/old", "release/**"], "release/old", True),
        (["!main"], "topic", False),
        (["!main", "!topic"], "main", False),
        ([], "main", False),
    ],
)
def test_the_last_pattern_that_matches_decides(patterns: list[str], name: str, is_match: bool) -> None:
    assert matches(patterns, name) == is_match


@pytest.mark.parametrize("pattern", ["a[b", "a\\", "[b-a]"])
def test_an_invalid_pattern_is_refused(pattern: str) -> None:
    with pytest.raises(ValueError, match=r"has|ends"):
        matches([pattern], "a")


@pytest.mark.parametrize(
    ("pattern", "name"),
    [
        ("a*a*a*a*a*a*b", "a" * 10_000),
        ("**a**a**a*a*a*b", "a" * 10_000),
        ("**a*b**a*b*c", "a" * 10_000),
        ("**/a/**/a/**/a/**/b", "a/" * 5_000),
        ("**?*?*?*?*b", "a" * 10_000),
        ("**aaaaaaaaaaab", "a" * 10_000),
    ],
)
@pytest.mark.timeout(20)
def test_no_name_takes_long(pattern: str, name: str) -> None:
    """Were the time to grow faster than the name, these would take minutes to years."""
    assert not matches([pattern] * 100, name)


def slowly_matches(pattern: str, name: str) -> bool:
    """The rules again, as a regular expression that tries everything."""
    pieces = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}
    tokens = re.findall(r"(?<![^/])\*{2,}/|\*{2,}|.", pattern)
    written = [re.sub(r"\*{2,}", "**", token) for token in tokens]
    return re.fullmatch("".join(pieces.get(each, re.escape(each)) for each in written), name) is not None


@given(st.text("ab/*?", min_size=1, max_size=9), st.text("ab/", max_size=12))
def test_being_quick_changes_no_answer(pattern: str, name: str) -> None:
    assert matches([pattern], name) == slowly_matches(pattern, name)
