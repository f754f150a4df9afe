"""Which files of a project are tests, by their paths."""

import re

_TEST_FILE = re.compile(
    r"(?:.*/)?(?:(?i:tests?|__tests__|specs?|e2e)/.*|test_[^/]*\.py|[^/]*_tests?\.\w+|(?:tests?|conftest)\.py|[^/]*_spec\.rb"
    r"|[^/]*[.-](?:test|spec)s?\.[cm]?[jt]sx?|\w*(?:Tests?|TestCase|Spec)\.(?:java|kt|scala|groovy|cs|swift|php))"
)


def is_test_file(path: str) -> bool:
    """Whether a file of a project is a test, or serves tests only."""
    return _TEST_FILE.fullmatch(path) is not None
