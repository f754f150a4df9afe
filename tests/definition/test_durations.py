"""Durations as people write them."""

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pitstop.definition.durations import format_duration, parse_duration


@pytest.mark.parametrize(
    ("written", "seconds"),
    [
        ("500ms", 0.5),
        ("2s", 2),
        ("1m30s", 90),
        ("1.5h", 5_400),
        ("1d2h3m4s5ms", 93_784.005),
        (" 2s ", 2),
        (0, 0),
        (2.5, 2.5),
        ("10", 10),
    ],
)
def test_a_duration_is_a_number_of_seconds_or_text_with_units(written: object, seconds: float) -> None:
    assert parse_duration(written) == pytest.approx(seconds)


@pytest.mark.parametrize(
    "written",
    [
        "",
        "s",
        "2 s",
        "30s1m",
        "1s1s",
        "-1s",
        "2x",
        "1e3",
        "٣s",
        "400d",
        "9" * 400,
        -1,
        True,
        None,
        math.inf,
        math.nan,
        1e12,
        [],
    ],
)
def test_anything_else_is_no_duration(written: Any) -> None:
    with pytest.raises(ValueError, match="a duration must"):
        parse_duration(written)


@given(st.integers(0, 366 * 86_400_000))
def test_a_duration_that_was_written_is_read_again(milliseconds: int) -> None:
    assert round(parse_duration(format_duration(milliseconds / 1000)) * 1000) == milliseconds
