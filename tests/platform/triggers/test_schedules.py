"""When schedules are due, also when clocks change."""

from collections.abc import Sequence
from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest

from pitstop.platform.triggers.schedules import Due, due_times, next_due, next_times

BERLIN = "Europe/Berlin"


def at(text: str) -> float:
    """The seconds of a time such as `2024-10-27 02:30+02:00`, in UTC without an offset."""
    time = datetime.fromisoformat(text)
    return (time if time.tzinfo else time.replace(tzinfo=UTC)).timestamp()


def in_berlin(times: Sequence[float]) -> list[str]:
    return [datetime.fromtimestamp(each, ZoneInfo(BERLIN)).strftime("%d %H:%M%z") for each in times]


@pytest.mark.parametrize(
    ("cron", "after", "expected"),
    [
        ("30 2 * * *", "2024-10-26 00:00+02:00", ["26 02:30+0200", "27 02:30+0200", "28 02:30+0100"]),
        ("30 2 * * *", "2024-10-27 02:15+01:00", ["28 02:30+0100", "29 02:30+0100", "30 02:30+0100"]),
        ("30 2 * * *", "2024-03-30 00:00+01:00", ["30 02:30+0100", "31 03:00+0200", "01 02:30+0200"]),
        ("0 * * * *", "2024-10-27 01:30+02:00", ["27 02:00+0200", "27 02:00+0100", "27 03:00+0100"]),
        ("0 * * * *", "2024-03-31 00:30+01:00", ["31 01:00+0100", "31 03:00+0200", "31 04:00+0200"]),
    ],
)
def test_a_daily_time_is_due_once_a_day_and_an_hourly_one_each_hour(cron: str, after: str, expected: list[str]) -> None:
    assert in_berlin(next_times(cron, BERLIN, at(after), 3)) == expected


def test_five_times_are_shown_unless_fewer_are_asked_for() -> None:
    assert len(next_times("0 0 * * MON", "UTC", at("2024-01-01"))) == 5
    assert next_times("0 0 29 2 *", "UTC", at("2024-01-01"), 2) == (at("2024-02-29"), at("2028-02-29"))


def test_the_next_time_is_after_the_given_one() -> None:
    noon = at("2024-05-01 12:00")

    assert next_due("0 12 * * *", "UTC", noon - 0.5) == noon
    assert next_due("0 12 * * *", "UTC", noon) == at("2024-05-02 12:00")
    assert next_due("0 12 * * *", "UTC", noon + 0.5) == at("2024-05-02 12:00")


@pytest.mark.parametrize("after", [at("9999-12-31 23:59"), 1e12])
def test_there_is_no_next_time_after_the_end_of_the_calendar(after: float) -> None:
    assert next_due("* * * * *", "UTC", after) is None
    assert next_due("* * * * *", BERLIN, after) is None


NOON = at("2024-05-01 12:00")
DAY = 24 * 3600.0


@pytest.mark.parametrize("catch_up", [False, True])
def test_nothing_is_due_before_its_time(catch_up: bool) -> None:
    assert due_times("0 12 * * *", "UTC", next_at=NOON, now=NOON - 0.1, catch_up=catch_up) == Due((), 0, NOON)


@pytest.mark.parametrize("late_seconds", [0.0, 0.4, 60.0])
@pytest.mark.parametrize("catch_up", [False, True])
def test_what_is_due_within_the_last_minute_fires(late_seconds: float, catch_up: bool) -> None:
    due = due_times("0 12 * * *", "UTC", next_at=NOON, now=NOON + late_seconds, catch_up=catch_up)

    assert due == Due((NOON,), 0, NOON + DAY)


def test_what_was_missed_is_skipped_and_counted() -> None:
    due = due_times("0 12 * * *", "UTC", next_at=NOON, now=NOON + 3 * DAY + 61, catch_up=False)

    assert due == Due((), 4, NOON + 4 * DAY)


def test_catching_up_fires_only_the_latest() -> None:
    due = due_times("0 12 * * *", "UTC", next_at=NOON, now=NOON + 3 * DAY + 61, catch_up=True)

    assert due == Due((NOON + 3 * DAY,), 3, NOON + 4 * DAY)


@pytest.mark.parametrize("catch_up", [False, True])
def test_one_that_is_on_time_stands_for_those_that_were_missed(catch_up: bool) -> None:
    due = due_times("0 12 * * *", "UTC", next_at=NOON, now=NOON + 2 * DAY + 5, catch_up=catch_up)

    assert due == Due((NOON + 2 * DAY,), 2, NOON + 3 * DAY)


def test_a_server_that_wakes_up_a_minute_late_fires_every_minute() -> None:
    due = due_times("* * * * *", "UTC", next_at=NOON, now=NOON + 60, catch_up=False)

    assert due == Due((NOON, NOON + 60), 0, NOON + 120)


def test_a_clock_that_is_set_back_fires_nothing_twice() -> None:
    first = due_times("*/10 * * * *", "UTC", next_at=NOON, now=NOON + 1, catch_up=True)
    assert first.fires == (NOON,)
    assert first.next_at is not None

    again = due_times("*/10 * * * *", "UTC", next_at=first.next_at, now=NOON - 300, catch_up=True)
    assert again == Due((), 0, first.next_at)


@pytest.mark.parametrize("timezone", ["UTC", BERLIN])
@pytest.mark.timeout(20)
def test_a_clock_that_is_set_forward_by_decades_costs_no_time(timezone: str) -> None:
    now = at("2064-05-01 12:00") + 90
    times = {"* * * * *": at("2064-05-01 12:01"), "* 0-3 1 1 *": None}

    for cron, latest in times.items():
        begin = next_due(cron, timezone, NOON)
        assert begin is not None
        skipped = due_times(cron, timezone, next_at=begin, now=now + 3600, catch_up=False)
        assert skipped.skipped == 1_000
        due = due_times(cron, timezone, next_at=begin, now=now, catch_up=True)
        assert due.skipped == 1_000
        assert len(due.fires) == 1
        following = next_due(cron, timezone, due.fires[0])
        assert following is not None
        assert following > now
        assert latest in (None, due.fires[0])
