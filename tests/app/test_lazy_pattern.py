import re

import pytest

from pitstop.lazy_pattern import lazy_compile


def test_a_pattern_does_what_the_compiled_one_does() -> None:
    pattern = lazy_compile(r"(?P<name> \w+ ) = (\d*)", re.VERBOSE)

    for _ in range(2):
        found = pattern.match("  a=12", 2)
        assert found is not None
        assert (found["name"], found.span()) == ("a", (2, 6))
    assert pattern.findall("a=1 b=") == [("a", "1"), ("b", "")]
    assert pattern.sub("", "a=1 b=2") == " "


def test_a_mistake_in_it_is_told_when_it_is_used() -> None:
    pattern = lazy_compile("(")

    with pytest.raises(re.error):
        pattern.match("")
