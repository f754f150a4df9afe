"""What a change does to tests, where it should change the code that they test."""

import re
from collections import Counter, defaultdict, deque
from collections.abc import Iterator

from msgspec import Struct

from pitstop.platform.reports.test_files import is_test_file

MOST_FINDINGS = 20

_GUARDED = {
    "snapshot": r"__snapshots__/.*|[^/]*\.snap",
    "CI file": r"\.github/(?:workflows|actions)/.*|\.(?:circleci|buildkite|woodpecker|gitlab)/.*|Jenkinsfile[^/]*"
    r"|(?:\.?(?:gitlab-ci|appveyor|travis|drone|woodpecker|cirrus)|azure-pipelines[^/]*|bitbucket-pipelines)\.ya?ml",
    "flow or setting of Pitstop": r"\.pitstop/.*|pitstop\.ya?ml",
    "setting of a test runner": r"\.?pytest\.(?:ini|toml)|conftest\.py|tox\.(?:ini|toml)|noxfile\.py|\.coveragerc"
    r"|(?:jest|vitest|karma|playwright)\.(?:config|conf|setup|workspace)\.[^/]*|\.(?:mocha|nyc|c8)rc[^/]*|codecov\.ya?ml",
}
_GUARDED_PATHS = {kind: re.compile(rf"(?:.*/)?(?:{names})") for kind, names in _GUARDED.items()}
_NOT_CODE = (".md", ".rst", ".txt", ".adoc", ".json", ".lock", ".toml", ".cfg", ".ini", ".yaml", ".yml")
_COMMENT = re.compile(r"\s*(?:#(?!\[)|//|/?\*|--)")
_SKIP = re.compile(
    r"\bmark\.(?:skip|xfail)|\b(?:pytest|unittest)\.(?:skip|xfail|importorskip|expectedFailure)|\bskipTest\(|\bSkipTest\b"
    r"|@(?:skip(?:If|Unless)?|expectedFailure|Disabled|Ignore)\b|\b[tbf]\.Skip(?:f|Now)?\((?![\w.]{1,40}\))"
    r"|#\[[^]]{0,60}\bignore\b|\bmarkTest(?:Skipped|Incomplete)\b|\bXCTSkip|\bGTEST_SKIP\b|\[Ignore\b|\bx(?:it|test|describe)\("
    r"|\b(?:it|test|describe|suite|context)\.(?:skip(?:If)?|only|todo|fixme|fails|failing)\b(?!(?<=\bit\.skip)\([\w.]{1,40}\))"
)
_ASSERTION = re.compile(r"(?i:assert)|EXPECT_|(?<![.\w])expect[({ ]|\.should\b|\brequire\.[A-Z]|\bt\.(?:Error|Fatal)")
_THRESHOLD = re.compile(r"(fail[_-]under|\b(?:branches|functions|lines|statements))[\"'\s=:]{0,6}(-?\d{1,6}(?:\.\d+)?)")
_HAS_THRESHOLDS = re.compile(r".*(?:package\.json|\.(?:nyc|c8)rc[^/]*|(?:jest|vite|vitest)\.[^/]*|codecov\.ya?ml)")
_SHARED_SETTINGS = re.compile(r"(?:.*/)?(?:pyproject\.toml|setup\.cfg|package\.json)")
_SECTION = re.compile(r"\s*\[{1,2}([\w.: -]+)\]{1,2}\s*(?:[#;]|\Z)")
_RUNNER_SECTION = re.compile(r"(?:tool[.:])?(?:pytest|coverage)\b")
_KEY = re.compile(r"\s*(\"?[\w:-]+\"?)\s*[=:]")
_RUNNER_KEY = re.compile(  # where the diff does not show the section
    r"addopts|testpaths|python_(?:files|classes|functions)|norecursedirs|xfail_strict|filterwarnings|markers|usefixtures"
    r'|omit|fail_under|exclude_(?:lines|also)|"(?:pre|post)?test(?:[A-Z:].*)?"|"coverageThreshold"|"collectCoverageFrom"'
)


class _Change(Struct, frozen=True):
    """A changed file; a line has a sign (`@` for the heading of a hunk), a number and a text."""

    path: str
    status: str
    lines: tuple[tuple[str, int, str], ...]


def touched_tests(diff: str) -> tuple[str, ...]:
    """What `git diff --no-color --no-renames` shows that weakens tests, as sentences.

    Test files that are only added are allowed, unless they skip tests.
    """
    sections = re.split(r"^diff --git ", diff, flags=re.MULTILINE)[1:]  # lines of files begin with a sign
    findings = [finding for section in sections for finding in _findings(_parse(section))]
    more = len(findings) - MOST_FINDINGS
    return (*findings[:MOST_FINDINGS], f"and {more} more") if more > 0 else tuple(findings)


def _parse(section: str) -> _Change:
    hunk = r"^@@ -([0-9]{1,9})\S* \+([0-9]{1,9})\S* @@ ?(.*)\n"
    head, *parts = re.split(hunk, section, flags=re.MULTILINE)
    mode = re.search(r"^(new|deleted) file mode", head, re.MULTILINE)
    status = "changed" if mode is None else mode[1].replace("new", "added")
    lines: list[tuple[str, int, str]] = []
    for start, new_start, heading, body in zip(*[iter(parts)] * 4, strict=True):
        old, new = int(start), int(new_start)
        lines.append(("@", new, heading))
        for text in body.split("\n"):
            sign = text[:1]
            lines.append((sign, old if sign == "-" else new, text[1:]))
            old, new = old + (sign in ("-", " ")), new + (sign in ("+", " "))
    return _Change(_path(head.partition("\n")[0]), status, tuple(lines))


def _path(names: str) -> str:
    """The path in `a/path b/path`, both equally long; git quotes and escapes unusual ones."""
    old, new = (name.strip('"') for name in (names[: len(names) // 2], names[len(names) // 2 + 1 :]))
    raw = (old if old == new else old[2:]).encode(errors="replace")
    return re.sub(rb"\\([0-3][0-7]{2})", lambda octal: bytes([int(octal[1], 8)]), raw).decode(errors="replace")


def _findings(change: _Change) -> Iterator[str]:
    path, is_test = change.path, is_test_file(change.path)
    if re.fullmatch(r"debug/.*\.md", path):  # a report
        return
    kinds = [kind for kind, pattern in _GUARDED_PATHS.items() if pattern.fullmatch(path)]
    kinds += ["test file"] if is_test and change.status != "added" else []
    if kinds:
        first = next((f" (line {number})" for sign, number, _ in change.lines if sign in ("+", "-")), "")
        yield f"{path!r} is a {kinds[0]} and was {change.status}{first}"
    elif line := _line_of_settings(change):
        yield f"{path!r} has settings of a test runner that were changed (line {line})"
    yield from _lowered_thresholds(change)
    if not is_test and path.endswith(_NOT_CODE):
        return
    code = [line for line in change.lines if not _COMMENT.match(line[2])]
    before = Counter(text.strip() for sign, _, text in code if sign == "-")
    for sign, number, text in code:
        if sign == "+" and _SKIP.search(text):
            before[text.strip()] -= 1
            if before[text.strip()] < 0:
                yield f"{path!r} skips tests (line {number}): {text.strip()[:80]!r}"
    removed, added = ([n for each, n, text in code if each == sign and _ASSERTION.search(text)] for sign in ("-", "+"))
    if (fewer := len(removed) - len(added)) > 0 and change.status == "changed":
        yield f"{path!r} has {fewer} fewer assertion{'s' * (fewer > 1)} (line {removed[0]})"


def _lowered_thresholds(change: _Change) -> Iterator[str]:
    old: list[tuple[str, float, int]] = []
    new: dict[str, deque[float]] = defaultdict(deque)
    for sign, number, text in change.lines:
        for key, amount in _THRESHOLD.findall(text):
            if not key.isalpha() or _HAS_THRESHOLDS.fullmatch(change.path):  # `lines` is also a word of other code
                old += [(key, float(amount), number)] if sign == "-" else []
                new[key] += [float(amount)] if sign == "+" else []
    for key, before, number in old:
        after = new[key].popleft() if new[key] else 0.0
        if after < before:
            yield f"{change.path!r} lowers `{key}` from {before:g} to {after:g} (line {number})"


def _line_of_settings(change: _Change) -> int | None:
    """The first changed line that sets up a test runner, in a file that has other settings too."""
    section = key = ""
    for sign, number, text in change.lines if _SHARED_SETTINGS.fullmatch(change.path) else ():
        header = _SECTION.match(text)
        if header or sign == "@":
            section, key = header[1] if header else "", ""
        if found := _KEY.match(text):
            key = found[1]
        is_setting = _RUNNER_SECTION.match(section) if section else _RUNNER_KEY.fullmatch(key)
        if sign in ("+", "-") and text.strip() and is_setting:
            return number
    return None
