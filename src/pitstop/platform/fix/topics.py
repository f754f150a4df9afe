"""The topic of a fix loop, which names the folder of its reports."""

import re
from collections import Counter
from collections.abc import Iterable
from unicodedata import normalize

from pitstop.platform.reports.failures import Failure

LONGEST_TOPIC = 60
_ENDING = "_failures"
_SEEN_CHARACTERS = 500  # of a message
_TOPICS = {  # the first that fits a failure is its topic
    "test_timeout": r"Timeout|TimedOut|(?i:timed out|\btimeout\b|deadline exceeded)",
    "config_errors": r"Config\w*Error|ImproperlyConfigured|TOMLDecodeError|YAMLError|(?i:environment variable"
    r"|\b(?:invalid|missing|unknown|bad) (?:\w{1,30} )?(?:config\w*|setting|option)s?\b|\bconfig\w* (?:file|error)\b)",
    "dependency_missing": r"ModuleNotFound|ImportError|ClassNotFound|MODULE_NOT_FOUND|No module named|unresolved import"
    r"|(?i:cannot find (?:module|package)|can't find crate|no required module provides|command not found)",
    "syntax_errors": r"SyntaxError|IndentationError|TabError|error TS\d|error\[E\d"
    r"|(?i:syntax error|unexpected token|could not compile|compilation (?:error|failed)|build failed|parse failure"
    r"|\bundefined: )",
    "integration_issues": r"Connection\w*Error|OperationalError|ECONN(?:REFUSED|RESET)|ENOTFOUND"
    r"|(?i:connection (?:refused|reset)|name resolution|no such host|\b(?:status|http)(?: code)?:? 50[0234]\b"
    r"|(?:^|[/. ])(?:integration|e2e)(?:[/. ]|_tests?\b))",
}
_PATTERNS = {topic: re.compile(pattern) for topic, pattern in _TOPICS.items()}


def topic_of(failed_step: str, failures: Iterable[Failure]) -> str:
    """The topic of most failures, in words of `[a-z0-9]` with `_` between them: three at most."""
    topics = Counter(map(_topic, failures))
    topic = topics.most_common(1)[0][0] if topics else None
    return topic or _slug(failed_step) + _ENDING


def _topic(failure: Failure) -> str | None:
    text = f"{failure.test}\n{failure.error}: {failure.message}"
    return next((topic for topic, pattern in _PATTERNS.items() if pattern.search(text[:_SEEN_CHARACTERS])), None)


def _slug(step: str) -> str:
    plain = normalize("NFKD", step).encode("ascii", "ignore").decode().lower()
    words = re.findall(r"[a-z0-9]+", plain)[:2]  # the ending is the third
    return "_".join(words)[: LONGEST_TOPIC - len(_ENDING)].rstrip("_") or "test"
