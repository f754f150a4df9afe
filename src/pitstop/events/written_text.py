"""What commands wrote, as it can be shown: without escape sequences and control characters."""

import re

_ESCAPES = r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\-_])"
_UNPRINTABLE = r"[\x00-\x08\x0b-\x1f\x7f-\x9f]"


def without_escapes(text: str) -> str:
    return re.sub(_ESCAPES, "", text)


def printable(text: str) -> str:
    """The text with tabs and line breaks, but no escape sequence or other control character."""
    return text if text.isprintable() else re.sub(_UNPRINTABLE, "", without_escapes(text))


def shown_line(line: str) -> str:
    """One line as it looks in the end, also if parts of it were overwritten."""
    if line.isprintable():
        return line.rstrip()
    return printable(line.rstrip("\r").rpartition("\r")[2]).rstrip()
