"""What is to blame for a failure, without a model: the machine, chance, the base, or else the code."""

import re
from collections.abc import Collection, Iterable

from pitstop.platform.reports.failures import Failures, lines_of
from pitstop.platform.reports.test_files import is_test_file

_MOST_EVIDENCE = 5
_EVIDENCE_CHARACTERS = 200
_LAST_LINES = 200
_WITHOUT_TESTS = ("lines", "output")  # the readers that found no test
_NOT_RUN_OR_KILLED = (126, 127, *range(129, 160))

_LIBRARY = re.compile(r"^<|/(?:site|dist)-packages/|/lib/python\d|(?:^|/)node_modules/|^node:|^/rustc/|/go/pkg/mod/")
_KILLED = re.compile(r"the command was killed|the result of the command is unknown")
_NO_REPORT = re.compile(r"(?:pytest left no|script wrote no|script did not write new|cannot read)(?: test)? reports?")
_MACHINE = re.compile(
    r"ENOSPC|ENOMEM|OutOfMemoryError|std::bad_alloc"
    r"|(?i:no space left on device|disk quota exceeded|disk is full|cannot allocate memory|\bout of memory\b)"
)
_NETWORK = re.compile(
    r"ENOTFOUND|EAI_AGAIN|ECONNREFUSED|(?i:name resolution|name or service not known|nodename nor servname"
    r"|could not resolve host|no such host|getaddrinfo failed|connection ?refused)"
)
_LOCAL = re.compile(r"localhost|127\.0\.0\.1|0\.0\.0\.0|::1\b")  # perhaps a server of the project, which is broken
_PYTEST_ENDS = {
    2: re.compile(r"!{3,} (?!stopping after)"),
    3: re.compile(r"INTERNALERROR>"),
    4: re.compile(r"ERROR: |.{0,200}\berror: |ImportError while loading conftest"),
    5: re.compile(r"(?i:=* ?(?:no tests ran|\d+ deselected)|collected 0 items)"),
}
_INTERRUPTED = re.compile(r"!+ Interrupted: \d+ errors? during collection")
_BROKEN_IMPORT = re.compile(
    r"_+ ERROR collecting \S+ _+$|ImportError: Failed to import test module|ImportError while loading conftest"
    r"|\s+● Test suite failed to run|\s*FAIL +\S+ +\[ "
)
_BROKEN_SETUP = re.compile(r"_+ ERROR at setup of .+ _+$")
_SECTION_END = re.compile(r"[=_]{3,} |[=-]{20,}|!{3,} |⎯{3,}|\s+● |\s*FAIL |Test Suites:|FAILED |ERROR ")
_ERROR = re.compile(r"\w*Error\b: .*|Cannot find .*")
_MISSING = re.compile(r"(?:No module named|Cannot find (?:module|package)) ['\"]?([^'\"\s]+)")
_IMPORT = re.compile(r"(?:cannot import name .{1,200}\(|Cannot find .{1,200} from '?)([^'\s()]+)")  # or what it is in
_FRAME = re.compile(
    r"^(?:E?\s+File:? \"?|\s+SyntaxError: |\s+--> )?([^\s:\"][^:\"(]*\.\w+)\"?(?:, line|[:(]\d+|: Unexpected)"
)
_STACK = re.compile(r"^\s+(?:at|❯) (?:.*[ (])?([^\s()]+?):\d+:\d+\)?$")  # of JavaScript, the innermost frame first


def infrastructure_evidence(
    failures: Failures, log: str, error_message: str, exit_code: int | None, project_files: Collection[str] = ()
) -> tuple[str, ...]:
    """What says that the code is not to blame; empty if it may be. `project_files` tell own modules from others."""
    reason = error_message.partition("\n")[0]
    has_tests = failures.reader not in _WITHOUT_TESTS
    is_count = has_tests and exit_code == failures.total  # some tools end with the number of tests that failed
    if _KILLED.match(reason) or (exit_code in _NOT_RUN_OR_KILLED and not is_count):
        return (reason[:_EVIDENCE_CHARACTERS] or f"exit code {exit_code}",)
    lines = lines_of(log or error_message)
    broken = _sections(lines, _BROKEN_IMPORT)
    suspects = broken or ([] if has_tests or any(map(_INTERRUPTED.match, lines)) else [lines])
    evidence = _broken_machine(failures, lines, has_tests)
    is_known = suspects and (not has_tests or failures.total <= len(broken))
    if is_known and not evidence and not any(_blames_code(section, project_files) for section in suspects):
        evidence = [": ".join((each[0].strip("_ "), *_ERROR.findall("\n".join(each))[-1:])) for each in broken]
        ends = filter(_PYTEST_ENDS[exit_code].match, lines) if exit_code in _PYTEST_ENDS else ()
        evidence += [f"pytest ended with exit code {exit_code}: {line.strip('=! ')}" for line in ends][-1:]
        evidence += _NO_REPORT.findall(error_message)[:1]
    return tuple(line.strip()[:_EVIDENCE_CHARACTERS] for line in evidence[:_MOST_EVIDENCE])


def flaky(before: Failures, again: Failures) -> tuple[str, ...]:
    """The fingerprints of the tests that failed before and not again; none if the two cannot be compared."""
    if again.found and (again.reader != before.reader or again.total > len(again.found)):
        return ()
    if before.reader == "output":
        return tuple(sorted({*before.fingerprints} - {*again.fingerprints}))
    failed = {failure.test for failure in again.found}
    passed = (failure for failure in before.found if failed.isdisjoint(_parents(failure.test)))
    return tuple(sorted({failure.fingerprint for failure in passed}))


def pre_existing(now: Failures, base: Failures) -> tuple[str, ...]:
    """The fingerprints that the base has too."""
    return tuple(sorted({*now.fingerprints} & {*base.fingerprints}))


def _parents(test: str) -> Iterable[str]:
    """A test, and the modules and files around it: if one cannot be imported, its tests did not pass."""
    return (test, *(test[: mark.start()] for mark in re.finditer(r"::|\.| › | > ", test)))


def _broken_machine(failures: Failures, lines: list[str], has_tests: bool) -> list[str]:
    """Lines on memory, disk or network: in half of the failures at least, or where no test has run."""
    if not has_tests:
        lines = lines[-_LAST_LINES:]
        return [line for line in lines if _MACHINE.search(line) or (_NETWORK.search(line) and not _LOCAL.search(line))]
    errors = [f"{failure.error}: {failure.message}" for failure in failures.found]
    full = [text for text in errors if _MACHINE.search(text)]
    refused = [text for text in errors if "failed on setup" in text and _NETWORK.search(text)]
    sections = [each[0].strip("_ ") for each in _sections(lines, _BROKEN_SETUP) if any(map(_NETWORK.search, each))]
    evidence = full + max(refused, sections, key=len)
    return evidence if len(evidence) * 2 >= failures.total else []


def _sections(lines: Iterable[str], start: re.Pattern[str]) -> list[list[str]]:
    sections: list[list[str]] = [[]]
    for line in lines:
        if start.match(line) or (_SECTION_END.match(line) and sections[-1]):
            sections.append([])
        if start.match(line) or sections[-1]:
            sections[-1].append(line)
    return list(filter(None, sections))


def _blames_code(lines: list[str], files: Collection[str]) -> bool:
    """Whether a module of the project is missing, or the innermost frame is not in a test."""
    missing, named, frames, stack = (
        [found[1] for line in lines if (found := pattern.search(line)) and not _LIBRARY.search(found[1])]
        for pattern in (_MISSING, _IMPORT, _FRAME, _STACK)
    )
    innermost = named[:1] or frames[-1:] or stack[:1]
    return any(_is_own(module, files) for module in missing) or any(_is_code(path, files) for path in innermost)


def _is_own(module: str, files: Collection[str]) -> bool:
    folders = (path.split("/")[:2] for path in files if path.endswith(".py") and not is_test_file(path))
    names = {part.removesuffix(".py") for parts in folders for part in parts}
    return module.startswith((".", "/", "@/", "~/")) or module.partition(".")[0] in names


def _is_code(path: str, files: Collection[str]) -> bool:
    inside = max((file for file in files if path.endswith(f"/{file}")), key=len, default=path)
    return not is_test_file(inside)
