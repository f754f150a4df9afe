"""When a schedule is due: cron expressions in timezones, as seconds since the epoch."""

import math
from collections.abc import Iterator
from contextlib import suppress
from datetime import datetime
from itertools import islice, takewhile

from cronsim import CronSim
from msgspec import Struct

from pitstop.definition.cron import find_timezone

ON_TIME_SECONDS = 60.0  # what is due for longer has been missed
MOST_SKIPPED = 1_000  # are counted: a clock that was set forward by years must not cost minutes


class Due(Struct, frozen=True):
    """What a schedule fires now. `skipped` is counted up to 1,000, and `next_at` is None if it never fires again."""

    fires: tuple[float, ...]
    skipped: int
    next_at: float | None


def next_due(cron: str, timezone: str, after: float) -> float | None:
    """The first time after `after`; None if there is none within 50 years.

    CronSimError or ValueError for an expression or a timezone that no flow file could have.
    """
    return next(_times(cron, timezone, after), None)


def next_times(cron: str, timezone: str, after: float, count: int = 5) -> tuple[float, ...]:
    """The first times after `after`, at most `count` of them."""
    return tuple(islice(_times(cron, timezone, after), count))


def due_times(cron: str, timezone: str, *, next_at: float, now: float, catch_up: bool) -> Due:
    """What is due at `now`, when the schedule was last known to be due at `next_at`.

    What was missed by more than a minute is skipped; with `catch_up` the latest fires, unless another one is on time.
    """
    if next_at > now:  # also after the clock was set back: what has fired does not fire again
        return Due((), 0, next_at)
    on_time_from = max(next_at, now - ON_TIME_SECONDS)
    fires = _due_within(cron, timezone, on_time_from, now)
    missed = [each for each in _due_within(cron, timezone, next_at, now, MOST_SKIPPED + 1) if each < on_time_from]
    skipped = min(len(missed), MOST_SKIPPED)
    if missed and catch_up and not fires:
        fires = (_latest(cron, timezone, missed[-1], now),)
        skipped = min(len(missed) - 1, MOST_SKIPPED)
    return Due(fires, skipped, next_due(cron, timezone, now))


def _due_within(cron: str, timezone: str, begin: float, end: float, count: int | None = None) -> tuple[float, ...]:
    """The times from `begin` to `end`, both included."""
    times = _times(cron, timezone, math.ceil(begin) - 1)
    return tuple(islice(takewhile(lambda each: each <= end, times), count))


def _latest(cron: str, timezone: str, known: float, now: float) -> float:
    """The latest time up to `now`, found by halving what is between it and an earlier one."""
    found, end = known, float(math.floor(now))
    while (following := next_due(cron, timezone, found)) is not None and following <= now:
        middle = (following + end) // 2
        later = next_due(cron, timezone, middle)
        if later is not None and later <= now:
            found = later
        else:
            found, end = following, middle
    return found


def _times(cron: str, timezone: str, after: float) -> Iterator[float]:
    """All times after `after`, as far as the calendar goes: it ends with the year 9999."""
    zone = find_timezone(timezone)
    try:
        start = datetime.fromtimestamp(after, zone)
    except (OverflowError, ValueError, OSError):
        return
    times = CronSim(cron, start)
    with suppress(OverflowError):
        for each in times:
            at = each.timestamp()
            if at > after:  # in the hour that a clock shows twice, cronsim begins with the first of the two
                yield at
