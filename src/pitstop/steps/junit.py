"""Test reports in JUnit's XML, read as they stream by: counts, every case, and why those that failed did."""

import re
from collections.abc import Iterable
from hashlib import blake2b
from typing import Any, Literal
from xml.parsers import expat

from msgspec import Struct, field

from pitstop.steps.failures import BadReport

MOST_BYTES = 64 * 1024 * 1024
MOST_CASES = 20_000
MOST_FAILING_CASES = 200
LONGEST_NAME = 500
_TEXT_CHARACTERS = 2_000
_DIGEST_CHARACTERS = 16
_NOT_IN_NAMES = r"[\x00-\x1f\x7f\u2028\u2029]"

CaseStatus = Literal["passed", "failed", "error", "skipped"]
_STATUS: dict[str, CaseStatus] = {"": "passed", "failure": "failed", "error": "error", "skipped": "skipped"}


class ReportedCase(Struct, frozen=True, gc=False):
    """One case of a report. Neither name has a control character in it."""

    suite: str
    name: str
    status: CaseStatus
    milliseconds: int


class TestCounts(Struct):
    """What some reports say together."""

    __test__ = False  # pytest is not to take it for a test

    total: int = 0
    failed: int = 0
    errors: int = 0
    skipped: int = 0
    seconds: float = 0.0
    failing: list[dict[str, str]] = field(default_factory=list)  # the cases that failed or broke
    cases: list[ReportedCase] = field(default_factory=list)  # the first MOST_CASES
    shortened: int = 0  # names that were too long

    @property
    def left_out(self) -> int:
        """How many cases were counted but are not listed."""
        return self.total - len(self.cases)

    @property
    def passed(self) -> int:
        return self.total - self.failed - self.errors - self.skipped

    def add(self, other: "TestCounts") -> None:
        self.total += other.total
        self.failed += other.failed
        self.errors += other.errors
        self.skipped += other.skipped
        self.seconds += other.seconds
        self.failing += other.failing[: MOST_FAILING_CASES - len(self.failing)]
        self.cases += other.cases[: MOST_CASES - len(self.cases)]
        self.shortened += other.shortened

    def as_outputs(self, files: Iterable[str]) -> dict[str, Any]:
        return {
            "total": self.total,
            "passed": self.passed,
            "failed": self.failed,
            "errors": self.errors,
            "skipped": self.skipped,
            "seconds": round(self.seconds, 6),
            "failing": self.failing,
            "files": list(files),
        }


def short_name(text: str, longest: int = LONGEST_NAME) -> str:
    """The text, if it is not too long, or its beginning and a digest of it all: different names stay different."""
    if len(text) <= longest:
        return text
    digest = blake2b(text.encode(errors="surrogatepass"), digest_size=_DIGEST_CHARACTERS // 2).hexdigest()
    return f"{text[: longest - _DIGEST_CHARACTERS - 1]}…{digest}"


def read_report(report: bytes, shown_path: str) -> TestCounts:
    """What the report says; BadReport, with its line, if it cannot be read to the end."""
    reader = _Reader()
    try:
        reader.parser.Parse(report, True)
        return reader.counts
    except expat.ExpatError as error:
        raise BadReport(shown_path, f"line {error.lineno}: {expat.ErrorString(error.code)}") from error
    except _Refused as error:
        raise BadReport(shown_path, f"line {reader.parser.CurrentLineNumber}: {error}") from error


class _Refused(Exception):
    """XML that is no JUnit report, or does what none needs to."""


class _Reader:
    """Counts cases as they end. Nothing of the document is kept but the text of what fails."""

    def __init__(self) -> None:
        self.counts = TestCounts()
        self._case: dict[str, str] | None = None
        self._problem: dict[str, str] = {}
        self._problem_text: str | None = None
        self._ended_as = ""  # failure, error, skipped or, for a test that passed, nothing
        self._is_first = True
        self.parser = expat.ParserCreate()
        self.parser.StartDoctypeDeclHandler = self._refuse_doctype
        self.parser.StartElementHandler = self._begin
        self.parser.EndElementHandler = self._end
        self.parser.CharacterDataHandler = self._add_text
        self.parser.buffer_text = True

    def _refuse_doctype(self, *_: object) -> None:
        raise _Refused("a document type is not allowed: its entities could expand without limit")

    def _begin(self, name: str, attributes: dict[str, str]) -> None:
        if self._is_first and name not in ("testsuites", "testsuite"):
            raise _Refused(f"the report starts with <{name}>, not with <testsuites> or <testsuite>")
        self._is_first = False
        if name == "testcase":
            self._case, self._ended_as, self._problem = attributes, "", {}
        elif self._case is not None and name in ("failure", "error", "skipped") and not self._ended_as:
            self._ended_as, self._problem, self._problem_text = name, attributes, ""

    def _add_text(self, text: str) -> None:
        if self._problem_text is not None and len(self._problem_text) < _TEXT_CHARACTERS:
            self._problem_text += text

    def _end(self, name: str) -> None:
        if name == self._ended_as and self._problem_text is not None:
            self._problem["text"] = self._problem_text[:_TEXT_CHARACTERS].strip()
            self._problem_text = None
        elif name == "testcase" and self._case is not None:
            self._count(self._case)
            self._case, self._problem_text = None, None

    def _name(self, text: str) -> str:
        self.counts.shortened += len(text) > LONGEST_NAME
        return short_name(re.sub(_NOT_IN_NAMES, " ", text))

    def _count(self, case: dict[str, str]) -> None:
        counts = self.counts
        seconds = _seconds(case.get("time", ""))
        suite, name = self._name(case.get("classname", "")), self._name(case.get("name", ""))
        if len(counts.cases) < MOST_CASES:
            counts.cases.append(ReportedCase(suite, name, _STATUS[self._ended_as], round(seconds * 1000)))
        counts.total += 1
        counts.seconds += seconds
        counts.failed += self._ended_as == "failure"
        counts.errors += self._ended_as == "error"
        counts.skipped += self._ended_as == "skipped"
        if self._ended_as in ("failure", "error") and len(counts.failing) < MOST_FAILING_CASES:
            counts.failing.append(
                {
                    "name": name,
                    "classname": suite,
                    "kind": self._ended_as,
                    "type": self._problem.get("type", ""),
                    "message": self._problem.get("message", "")[:_TEXT_CHARACTERS],
                    "text": self._problem.get("text", ""),
                }
            )


def _seconds(text: str) -> float:
    """The time of a case; some tools write 1,234.5."""
    try:
        seconds = float(text.replace(",", ""))
    except ValueError:
        return 0.0
    return seconds if 0 <= seconds < float("inf") else 0.0
