"""A fingerprint is the same for the same failure, and another for another."""

import pytest

from pitstop.platform.reports.fingerprint import fingerprint_of, without_what_changes


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("assert 3 == 4", "assert 17 == -2.5"),
        ("<Price object at 0x7f42ecd18d10>", "<Price object at 0x1>"),
        ("no such file: '/tmp/pytest-of-ann/pytest-3/a0/x.db'", "no such file: '/tmp/pytest-of-bob/pytest-41/a/x.db'"),
        ("/var/folders/zz/T/x missing", "/private/var/folders/a/T/y missing"),
        ("timed out after 1.5 s", "timed out after 20 seconds"),
        ("took 12ms", "took 3 min"),
        ("shop/prices.py:12: AssertionError", "shop/prices.py:413: AssertionError"),
        ('File "prices.py", line 3, in tax', 'File "prices.py", line 1024, in tax'),
        ("id 550e8400-e29b-41d4-a716-446655440000", "id 7c9e6679-7425-40de-944b-e07fc1f90ae7"),
        ("at 2031-04-05T06:07:08.9Z", "at 2030-01-02 03:04:05"),
        ("commit 4af5020 is missing", "commit f188a44d is missing"),
        ("\x1b[31mwrong\x1b[0m", "wrong"),
        ("two\n    lines", "two lines"),
    ],
)
def test_what_differs_between_two_runs_does_not_count(one: str, other: str) -> None:
    assert without_what_changes(one) == without_what_changes(other)
    assert fingerprint_of(one) == fingerprint_of(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("KeyError: 'tax'", "KeyError: 'sum'"),
        ("tests/a.py:12: AssertionError", "tests/b.py:12: AssertionError"),
        ("added", "faded"),
    ],
)
def test_different_failures_differ(one: str, other: str) -> None:
    assert fingerprint_of(one) != fingerprint_of(other)


def test_a_failure_without_a_message_has_no_fingerprint() -> None:
    assert fingerprint_of(" \n") is None
