"""Every case of a test report as notes in the log, in pages that a log can carry, and back."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, get_args

from msgspec import Struct, field
from msgspec.json import encode

from pitstop.steps.junit import CaseStatus, ReportedCase

NOTE = "tests.reported"
PAGE_BYTES = 32 * 1024  # about: half of what a note may have
_CASE_BYTES = 12  # of a case, beside its name

_LETTERS: dict[str, CaseStatus] = {status[0]: status for status in get_args(CaseStatus)}


class ReportedCases(Struct):
    """The cases of one report as far as its pages were read."""

    cases: list[ReportedCase] = field(default_factory=list)
    left_out: int = 0  # cases that the report has beyond the limit
    pages_read: int = 0
    is_whole: bool = False  # whether every page was read


def pages_of_cases(cases: Iterable[ReportedCase], left_out: int = 0) -> Iterator[dict[str, Any]]:
    """The notes of one report, in order: `suites` has names, statuses and milliseconds by suite.

    Statuses are one letter a case, and milliseconds one number a case.
    """
    pages = list(_pages(cases))
    for number, suites in enumerate(pages, 1):
        yield {"page": number, "pages": len(pages), "left_out": left_out, "suites": [_block(each) for each in suites]}


def add_page(known: ReportedCases | None, page: Mapping[str, Any]) -> ReportedCases | None:
    """What is known of a report with its next page; None for a page that does not follow, or is damaged.

    The first page starts again: a step whose result was taken twice has noted its report twice.
    """
    number = page.get("page")
    known = ReportedCases() if number == 1 else known
    if known is None or number != known.pages_read + 1:
        return None
    try:
        for suite, names, letters, milliseconds in page["suites"]:
            known.cases += _cases(str(suite), names, letters, milliseconds)
        known.left_out = int(page["left_out"])
    except (AttributeError, KeyError, TypeError, ValueError):
        return None
    known.pages_read = number
    known.is_whole = number == page.get("pages")
    return known


def _pages(cases: Iterable[ReportedCase]) -> Iterator[list[list[ReportedCase]]]:
    """Cases by page and, where they follow each other, by suite. A report without cases has one page."""
    page: list[list[ReportedCase]] = []
    size = 0
    for case in cases:
        is_next = bool(page) and page[-1][0].suite == case.suite
        added = len(encode(case.name)) + _CASE_BYTES + (0 if is_next else len(encode(case.suite)) + _CASE_BYTES)
        if page and size + added > PAGE_BYTES:
            yield page
            page, size, is_next = [], 0, False
        if is_next:
            page[-1].append(case)
        else:
            page.append([case])
        size += added
    yield page


def _block(cases: list[ReportedCase]) -> list[Any]:
    letters = "".join(case.status[0] for case in cases)
    # One text and not a list of numbers: secrets are masked in every number of an event, each at some cost
    milliseconds = " ".join(str(case.milliseconds) for case in cases)
    return [cases[0].suite, [case.name for case in cases], letters, milliseconds]


def _cases(suite: str, names: list[Any], letters: str, milliseconds: str) -> Iterator[ReportedCase]:
    """ValueError when there is not one letter and one number for each name."""
    for name, letter, text in zip(names, letters, milliseconds.split(" "), strict=True):
        # A number that contains a secret was masked
        yield ReportedCase(suite, str(name), _LETTERS[letter], int(text) if text.isdecimal() else 0)
