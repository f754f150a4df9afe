"""The topic of a fix loop: what its failures are about, or the step that failed."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pitstop.platform.fix.topics import LONGEST_TOPIC, topic_of
from pitstop.platform.reports.failures import Failure


@pytest.mark.parametrize(
    ("error", "message", "topic"),
    [
        ("timed out after #", "", "test_timeout"),
        ("TimeoutError", "", "test_timeout"),
        ("failure", "thrown: Exceeded timeout of 5000 ms for a test.", "test_timeout"),
        ("ConfigError", "no port", "config_errors"),
        ("failure", "missing required option --port", "config_errors"),
        ("KeyError", "the environment variable PORT is not set", "config_errors"),
        ("ModuleNotFoundError", "No module named 'shop'", "dependency_missing"),
        ("failure", "Cannot find module './price' from 'src/a.test.js'", "dependency_missing"),
        ("exit code 127", "sh: jest: command not found", "dependency_missing"),
        ("SyntaxError", "invalid syntax", "syntax_errors"),
        ("failure", "a.ts(3,5): error TS1005: ';' expected.", "syntax_errors"),
        ("failure", "undefined: Total", "syntax_errors"),
        ("ConnectionRefusedError", "[Errno 111]", "integration_issues"),
        ("failure", "connect ECONNREFUSED 127.0.0.1:5432", "integration_issues"),
        ("AssertionError", "3 != 4", "tests_failures"),
        ("AssertionError", "assert load_config() == None", "tests_failures"),
    ],
)
def test_the_topic_is_what_the_failures_are_about(error: str, message: str, topic: str) -> None:
    assert topic_of("tests", [Failure("test_a", error, message)]) == topic


def test_tests_of_the_integration_have_their_topic() -> None:
    assert topic_of("tests", [Failure("tests/integration/test_a.py::test_a", "E", "")]) == "integration_issues"


def test_the_topic_of_most_failures_counts() -> None:
    failures = [Failure("a", "TimeoutError", ""), Failure("b", "KeyError", "a"), Failure("c", "KeyError", "b")]

    assert topic_of("tests", failures) == "tests_failures"


@pytest.mark.parametrize(
    ("step", "topic"),
    [
        ("tests", "tests_failures"),
        ("Unit tests", "unit_tests_failures"),
        ("ci/run all-the tests", "ci_run_failures"),
        ("Prüfung", "prufung_failures"),
        ("тесты", "test_failures"),
        ("", "test_failures"),
        ("x" * 100, f"{'x' * 51}_failures"),
    ],
)
def test_other_failures_are_named_after_the_step(step: str, topic: str) -> None:
    assert topic_of(step, []) == topic


@given(st.text())
def test_a_topic_is_always_a_slug_of_three_words_at_most(step: str) -> None:
    topic = topic_of(step, [])

    assert re.fullmatch(r"[a-z0-9]+(?:_[a-z0-9]+){0,2}", topic)
    assert len(topic) <= LONGEST_TOPIC
