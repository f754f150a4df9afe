"""What failed in a test command: each failure with a fingerprint that survives new numbers, times and paths."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from hashlib import blake2b
from typing import Any

from msgspec import Struct

_LINE_CHARACTERS = 2_000
_TEXT_CHARACTERS = 4_096  # enough for the last lines
_LAST_LINES = 20
_SHORT_LINE_CHARACTERS = 200  # where a line stands for a test

_ESCAPE = re.compile(  # which begins with a set of characters, because `re` finds these many times faster
    r"[\x00-\x08\x0e-\x1f\x7f-\x9f](?:(?<=\x1b)(?:\[[0-?]{0,64}[ -/]{0,8}[@-~]|\][^\x07\x1b]{0,500}))?"
)
_PATH = re.compile(r"(?<![\w.@~+%#-])[\w.@~+%#-]*+/[\w.@~+%#/-]*")
_CHANGING = re.compile(  # UUIDs, temporary names and hashes; addresses, times, durations and numbers
    r"""(?<![\w\#])(?:[\da-fA-F]{8}(?:-[\da-fA-F]{4,12}){4} | tmp[a-z0-9_]{8} | (?=[a-fA-F]*\d)[\da-fA-F]{7,})(?![\w\#])
    | (?=\d|[-+]\d)(?:0x[\da-fA-F]+ | \d\d?:\d\d:\d\d(?:[.,]\d+)?
      | \d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:[.,]\d+)?)?(?:Z|[-+]\d\d:?\d\d)?)?
      | (?:(?<![\w\#])[-+])?\d+(?:[.,_]\d+)*(?:[eE][-+]?\d+)?
        (?:\s?(?:[num\u00b5\u03bc]?s|m|h|secs?|mins?|(?:second|minute|hour)s?)(?![\w\#]))?)""",
    re.VERBOSE,
)
_ROW = ("classname", "name", "type", "message", "text")
_SAYS_NOTHING = ("", "Failed", "collection failure")
_TYPE = r"[\w.$]*(?:Error|Exception|Failure|Failed|Exit|Interrupt|Warning|Timeout|\.[A-Z]\w*)"
_ERROR = re.compile(rf'(failed on \w+ with ")?({_TYPE})(?::\s*|\s*$|")')
_HEADERS = {  # of each reader, with a group for the test and perhaps one for the message
    "pytest": r"_+ ERROR collecting (\S+) _+|(?:FAILED|ERROR) (?=\S*(?:\.py\b|::))([^\s\[]+(?:\[.*?\](?= - |$))?)"
    r"(?: - (.*))?",
    "unittest": r"(?:FAIL|ERROR): (\S+ \([\w.<>]+\)(?: .*)?)",
    "go": r"\s*--- FAIL: (\S+) \([\d.]+s\)|FAIL\t(\S+) \[(?:build|setup) failed\]",
    "jest": r"\s*FAIL +(?:\|?[\w-]+\|? +)?(\S+\.[cm]?[jt]sx?(?: > .+)?)(?: [\[(].*)?|\s+● (?!Console$)(\S.*)",
    "tap": r"\s*not ok\b(?! .*# (?i:todo|skip)\b)(?: \d+)?(?: -)? ?(.*?)(?: # time=.*)?",
    "cargo": r"test (\S.*?)(?: - should panic)? \.\.\. FAILED|---- (\S.*?) stdout ----",
}
_HEADER = re.compile("|".join(f"(?P<{reader}>(?:{pattern})$)" for reader, pattern in _HEADERS.items()))
_REASONS = {  # the lines after a header that say why
    "pytest": re.compile(r"E\s+(\S.*)"),
    "unittest": re.compile(r"((?:[\w.]*(?:Error|Exception)|(?:\w+\.)*[A-Z]\w+)(?::.*)?)$"),
    "go": re.compile(r"\s*\S+\.go:\d+(?::\d+)?: (.*)"),
    "jest": re.compile(r"\s*(\w.*)"),
    "tap": re.compile(r"\s+(?:error|message): ['\"]?(?:\|-)? ?(.*?)['\"]?$"),
    "cargo": re.compile(r"(?:thread .* panicked at .*?: |(?=Error: |note: test did))(.+)"),
}
_CONTINUES = re.compile(r"thread .* panicked at \S+:$|\s+error: \|-$")
_LAST_REASON_COUNTS = ("pytest", "unittest")
_END = re.compile(r"={5,}|_{5,} |Ran \d+ test|=== |# |ok\b|\s+ok \d|PASS|FAIL\b|Tests:|test result|\s+\.\.\.$")
_GENERIC = re.compile(
    r"(?:FAIL(?:ED|URE)?\b[:\s]|(?:[^\s:]+:(?:\d+:)*\s+)?(?:fatal )?"
    r"(?:[\w.$]*(?:Error|Exception)|ERROR|error)(?:\[\w+\]| TS\d+)?:)\s*\S"
)


class Failure(Struct, frozen=True):
    """One test that failed, or the whole command."""

    test: str
    error: str  # the type of the error
    message: str

    @property
    def fingerprint(self) -> str:
        same = "\0".join((self.test, self.error, normalized(self.message)))
        return blake2b(same.encode(errors="surrogatepass"), digest_size=6).hexdigest()


class Failures(Struct, frozen=True, dict=True):
    """What failed; `total` may be more than was found, because a report lists only some."""

    found: tuple[Failure, ...]
    total: int
    reader: str

    @cached_property
    def fingerprints(self) -> tuple[str, ...]:
        return tuple(sorted({failure.fingerprint for failure in self.found}))


def normalized(text: str) -> str:
    """The text without what differs between two runs. Of a path, the name of the file stays."""
    text = _PATH.sub(_file_name, _ESCAPE.sub("", text[:_TEXT_CHARACTERS]))
    return " ".join(_CHANGING.sub("#", text).split())


def _file_name(path: re.Match[str]) -> str:
    parts = path[0].rstrip("/").rsplit("/", 2)
    is_temporary = parts[-2:-1] in (["tmp"], ["T"]) and "." not in parts[-1]
    return "#" if is_temporary else parts[-1] or "/"


def lines_of(log: str) -> list[str]:
    """The lines of a log, without escape sequences; long ones are cut, so that no pattern takes long."""
    return [line[:_LINE_CHARACTERS] for line in _ESCAPE.sub("", log).splitlines()]


def failures_of(
    outcome_outputs: Mapping[str, Any] | None, log: str, error_message: str, exit_code: int | None
) -> Failures:
    """What failed in a command that failed: by its test report, else by its log, else one failure for all of it."""
    tests = (outcome_outputs or {}).get("tests")
    rows = tests.get("failing") if isinstance(tests, Mapping) else None
    if isinstance(tests, Mapping) and isinstance(rows, Sequence) and rows and all(isinstance(r, Mapping) for r in rows):
        failed = sum(count for name in ("failed", "errors") if isinstance(count := tests.get(name), int))
        return Failures(tuple(map(_reported, rows)), max(len(rows), failed), "junit")
    lines = lines_of(log or error_message)
    if messages := _messages_of_tools(lines):
        reader = Counter(reader for reader, _ in messages).most_common(1)[0][0]
        return Failures(tuple(_failure(test, why) for (_, test), why in messages.items()), len(messages), reader)
    lines = [line[:_SHORT_LINE_CHARACTERS].strip() for line in lines if line.strip()]
    generic = {normalized(line): line for line in lines if _GENERIC.match(line)}
    if generic:
        return Failures(tuple(_failure(*item) for item in generic.items()), len(generic), "lines")
    error = normalized(error_message.partition("\n")[0]) if exit_code is None else f"exit code {exit_code}"
    return Failures((Failure("command", error, "\n".join(lines[-_LAST_LINES:])),), 1, "output")


def _reported(row: Mapping[str, Any]) -> Failure:
    suite, name, error, message, text = (str(row.get(field) or "") for field in _ROW)
    if message in _SAYS_NOTHING:
        lines = [line for line in text.splitlines() if line.strip()]
        message = ([line[1:] for line in lines if line.startswith("E ")] or lines or [message])[-1].strip()
    return _failure(f"{suite}.{name}".lstrip("."), message, error)


def _failure(test: str, message: str, error: str = "") -> Failure:
    named = _ERROR.match(message)
    if named is None:
        return Failure(test, error or ("AssertionError" if message.startswith("assert ") else "failure"), message)
    return Failure(test, error or named[2], message if named[1] else message[named.end() :])


def _messages_of_tools(lines: Iterable[str]) -> dict[tuple[str, str], str]:
    """The message of each failure, by reader and test; what a tool prints twice counts once."""
    messages: dict[tuple[str, str], str] = {}
    at: tuple[str, str] | None = None
    file = before = previous = ""
    for line in lines:
        text = f"{previous} {line.strip()}" if _CONTINUES.match(previous) else line
        if header := _HEADER.match(line):
            reader = header.lastgroup or ""
            heading, test, *message = (group for group in header.groups() if group is not None)
            if reader == "jest" and "●" in heading:
                messages.pop((reader, file), None)  # not the file failed, but a test in it
                test = f"{file} › {test}".removeprefix(" › ").removesuffix(" › Test suite failed to run")
            elif reader == "jest":
                file = test
            at = (reader, test.strip())
            told = "".join(message)
            if told.endswith("..."):  # pytest shortens it to the width of the terminal
                told = re.sub(r"\S*\.\.\.$", "", told)
            messages[at] = messages.get(at) or told or before
            before = ""
        elif at is not None and (reason := _REASONS[at[0]].match(text)):
            if not messages[at] or at[0] in _LAST_REASON_COUNTS:
                messages[at] = reason[1]
        elif _END.match(line):
            at, before = None, ""
        elif at is None and (reason := _REASONS["go"].match(line)):
            before = before or reason[1]  # `go test -v` says why before it says what
        previous = line
    return messages
