"""Failures as data."""

import pytest

from pitstop.events.outcome import Status, error_of


def raised(exception: BaseException) -> BaseException:
    try:
        raise exception
    except BaseException as caught:  # noqa: BLE001 - any of them
        return caught


class Unprintable(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no words")

    __repr__ = __str__


def test_an_exception_keeps_its_name_its_text_and_its_way() -> None:
    error = error_of(raised(ValueError("broken")), "a.b#2")

    assert (error.type, error.message, error.origin) == ("ValueError", "broken", "a.b#2")
    assert error.trace is not None
    assert "in raised" in error.trace
    assert str(error) == "ValueError: broken"


def test_an_exception_without_text_is_named() -> None:
    assert str(error_of(ValueError(), "")) == "ValueError"


def test_an_exception_whose_text_cannot_be_made_is_named_all_the_same() -> None:
    error = error_of(raised(Unprintable()), "a")

    assert error.type == "Unprintable"
    assert "RuntimeError" in error.message


def test_the_cause_is_told_too() -> None:
    second = ValueError("second")
    second.__cause__ = raised(KeyError("first"))

    error = error_of(raised(second), "")

    assert error.trace is not None
    assert "KeyError: 'first'" in error.trace


def test_an_endless_recursion_has_a_trace_of_a_bearable_length() -> None:
    def again() -> None:
        again()

    with pytest.raises(RecursionError) as caught:
        again()
    error = error_of(caught.value, "")

    assert error.trace is not None
    assert len(error.trace) < 10_000


def test_a_group_of_exceptions_is_told_whole() -> None:
    error = error_of(raised(ExceptionGroup("two", [ValueError("one"), KeyError("two")])), "")

    assert error.trace is not None
    assert "ValueError: one" in error.trace


@pytest.mark.parametrize(
    ("status", "is_failure"),
    [("passed", False), ("failed", True), ("skipped", False), ("cancelled", False), ("timed_out", True)],
)
def test_which_ends_are_failures(status: str, is_failure: bool) -> None:
    assert Status(status).is_failure is is_failure
