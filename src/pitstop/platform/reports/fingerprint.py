"""A fingerprint of a failure: the same for the same failure, whenever and wherever it happens."""

import re
from hashlib import blake2b

_SEEN_CHARACTERS = 2_000
# What differs between two runs, most special first: each is written as its name
_CHANGING = (
    (r"\x1b\[[0-9;]*[A-Za-z]", ""),
    (r"\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b", "<uuid>"),
    (r"\b\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:[.,]\d+)?)?(?:Z|[+-]\d\d:?\d\d)?\b", "<time>"),
    (r"(?:/private)?(?:/var/folders|/var/tmp|/tmp|/dev/shm)\b(?:/[^\s/'\",:;)\]}>]*)*", "<path>"),
    (r"(?i:[a-z]:)?\\(?:[^\s'\",:;)\]}>\\]+\\)*Temp(?:\\[^\s'\",:;)\]}>\\]+)*", "<path>"),
    (r"\b0x[0-9A-Fa-f]+\b", "<address>"),
    (r"\b(?=[0-9a-f]*\d)(?=[0-9a-f]*[a-f])[0-9a-f]{7,}\b", "<hex>"),
    (r"\bline \d+\b", "line <n>"),
    (r"(?<=[\w)]):\d+(?::\d+)?\b", ":<n>"),
    (r"\b\d+(?:[.,]\d+)*(?:e[+-]?\d+)?\s?(?:ns|us|µs|ms|s|sec|secs|seconds?|min|minutes?|h)\b", "<duration>"),
    (r"(?:(?<!\w)-)?\d+(?:[.,]\d+)*(?:e[+-]?\d+)?", "<n>"),
    (r"\s+", " "),
)


def fingerprint_of(message: str) -> str | None:
    """A short text that stands for a message without its numbers, addresses, times and temporary paths.

    None for an empty message, which says nothing about a failure.
    """
    same = without_what_changes(message)
    return blake2b(same.encode(errors="replace"), digest_size=8).hexdigest() if same else None


def without_what_changes(message: str) -> str:
    text = message[:_SEEN_CHARACTERS]
    for pattern, name in _CHANGING:
        text = re.sub(pattern, name, text)
    return text.strip()
