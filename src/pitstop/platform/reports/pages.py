"""Pages of tests and of the history of one, and the cursors that lead from one page to the next."""

import base64
from typing import Any, TypeVar

import msgspec
from msgspec import Struct

from pitstop.errors import BadCursor
from pitstop.platform.reports.summaries import TestSummary

T = TypeVar("T")


class TestPage(Struct, frozen=True):
    """Tests of a branch; `next` is the cursor of the next page, if there is one."""

    __test__ = False

    tests: tuple[TestSummary, ...]
    next: str | None = None


class TestResult(Struct, frozen=True, kw_only=True):
    """How one test ended in one run. It is flaky if it both passed and failed in the attempts of its step."""

    __test__ = False

    run: str
    sha: str | None
    ref: str | None
    at: float
    status: str
    milliseconds: int
    is_flaky: bool
    message: str = ""
    fingerprint: str | None = None


class HistoryPage(Struct, frozen=True):
    """The results of one test, newest first; `next` is the cursor of the next page, if there is one."""

    results: tuple[TestResult, ...]
    next: str | None = None


class TestTotals(Struct, frozen=True, kw_only=True):
    """The tests of all steps of one run, counted; `failed` includes errors."""

    __test__ = False

    run: str
    sha: str | None
    at: float
    total: int
    failed: int
    skipped: int
    seconds: float


def cursor_of(key: tuple[Any, ...]) -> str:
    """A place in a list, as a text without meaning to clients."""
    return base64.urlsafe_b64encode(msgspec.json.encode(key)).decode()


def read_cursor(cursor: str, type: type[T]) -> T:
    """The place that `cursor_of` made a cursor of. Raises BadCursor."""
    try:
        return msgspec.json.decode(base64.urlsafe_b64decode(cursor), type=type)
    except ValueError as error:  # which the errors of base64 and msgspec are
        raise BadCursor(cursor) from error
