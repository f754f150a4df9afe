"""Test reports in JUnit's XML, read as they stream by: counts, and the cases that failed."""

from collections.abc import Iterable
from typing import Any
from xml.parsers import expat

from msgspec import Struct, field

from pitstop.steps.failures import BadReport

MOST_BYTES = 64 * 1024 * 1024
MOST_FAILING_CASES = 200
_TEXT_CHARACTERS = 2_000


class TestCounts(Struct):
    """What some reports say together."""

    __test__ = False  # pytest is not to take it for a test

    total: int = 0
    failed: int = 0
    errors: int = 0
    skipped: int = 0
    seconds: float = 0.0
    failing: list[dict[str, str]] = field(default_factory=list)  # the cases that failed or broke

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

    def _count(self, case: dict[str, str]) -> None:
        counts = self.counts
        counts.total += 1
        counts.seconds += _seconds(case.get("time", ""))
        counts.failed += self._ended_as == "failure"
        counts.errors += self._ended_as == "error"
        counts.skipped += self._ended_as == "skipped"
        if self._ended_as in ("failure", "error") and len(counts.failing) < MOST_FAILING_CASES:
            counts.failing.append(
                {
                    "name": case.get("name", ""),
                    "classname": case.get("classname", ""),
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
