"""Durations as people write them: `30m`, `1h30m`, `500ms`, or a plain number of seconds."""

import re

# Each unit at most once, the larger before the smaller. Also the pattern that editors check by.
DURATION_PATTERN = (
    r"^\s*(?=[\d.])(?:(\d+(?:\.\d+)?)d)?(?:(\d+(?:\.\d+)?)h)?(?:(\d+(?:\.\d+)?)m)?"
    r"(?:(\d+(?:\.\d+)?)s)?(?:(\d+(?:\.\d+)?)ms)?\s*$"
)
_SECONDS = (86_400.0, 3_600.0, 60.0, 1.0, 0.001)
_LONGEST_SECONDS = 366 * 86_400.0


def parse_duration(written: object) -> float:
    """Seconds; ValueError for what is no duration, or longer than a year."""
    seconds = _parse_text(written) if isinstance(written, str) else _parse_number(written)
    if seconds is None:
        raise ValueError("a duration must look like `30m`, `1h30m` or `500ms`, or be a number of seconds")
    if not 0 <= seconds <= _LONGEST_SECONDS:
        raise ValueError("a duration must be between 0 and 366 days")
    return float(seconds)


def _parse_text(written: str) -> float | None:
    if re.fullmatch(r"\s*\d+(\.\d+)?\s*", written, re.ASCII):
        return float(written)
    match = re.match(DURATION_PATTERN, written, re.ASCII)
    if match is None:
        return None
    return sum(float(count) * unit for count, unit in zip(match.groups(), _SECONDS, strict=True) if count)


def _parse_number(written: object) -> float | None:
    return written if isinstance(written, int | float) and not isinstance(written, bool) else None


def format_duration(seconds: float) -> str:
    """The shortest way to write it; `parse_duration` gives the same seconds again, to the millisecond."""
    milliseconds = round(seconds * 1_000)
    parts = []
    for unit, size in (("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1_000), ("ms", 1)):
        count, milliseconds = divmod(milliseconds, size)
        if count:
            parts.append(f"{count}{unit}")
    return "".join(parts) or "0s"
