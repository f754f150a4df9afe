"""Cron expressions and timezones, as the schedules of a flow have them."""

from datetime import UTC, datetime, tzinfo
from zoneinfo import ZoneInfo

from cronsim import CronSim, CronSimError
from msgspec import Struct

from pitstop.definition.mistakes import quoted

MOST_CHARACTERS = 200
_ANY_START = datetime(2024, 1, 1, tzinfo=UTC)  # whether an expression ever fires does not depend on it
_FIELDS = {
    "minute": "0-59",
    "hour": "0-23",
    "day of month": "1-31, or `L` for the last day",
    "month": "1-12, or JAN-DEC",
    "day of week": "0-7, where 0 and 7 are Sunday, or SUN-SAT",
}
_NAMED = {
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
    "@monthly": "0 0 1 * *",
    "@weekly": "0 0 * * 0",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@hourly": "0 * * * *",
}


class CronProblem(Struct, frozen=True):
    """What is wrong with a cron expression, and the way out."""

    message: str
    hint: str | None = None


def cron_problem(cron: str) -> CronProblem | None:
    """What is wrong with the expression; None if it has five valid fields and fires at least every 50 years."""
    fields = cron.split()
    if cron.strip().lower() in _NAMED:
        return CronProblem(f"{quoted(cron)} is not supported", f"write `{_NAMED[cron.strip().lower()]}`")
    if len(cron) > MOST_CHARACTERS:
        return CronProblem(f"the expression has {len(cron):,} characters, but at most {MOST_CHARACTERS} are allowed")
    if len(fields) != len(_FIELDS):
        count = f"{len(fields)} field{'' if len(fields) == 1 else 's'}"
        message = f"the expression has {count} instead of five: {', '.join(_FIELDS)}"
        return CronProblem(message, "remove the seconds" if len(fields) == len(_FIELDS) + 1 else None)
    for number, (name, allowed) in enumerate(_FIELDS.items()):
        others = ["*"] * len(_FIELDS)
        if not _is_valid([*others[:number], fields[number], *others[number + 1 :]]):
            hint = f"use {allowed}; lists (`1,2`), ranges (`1-5`) and steps (`*/2`) are allowed"
            return CronProblem(f"invalid {name} {quoted(fields[number])}", hint)
    if not _is_valid(fields) or next(CronSim(cron, _ANY_START), None) is None:
        return CronProblem(
            "the expression never fires, because there is no such date", "change the day of month or the month"
        )
    return None


def find_timezone(name: str) -> tzinfo:
    """The timezone with that name in the database of the system; ValueError if there is none."""
    if name == "UTC":
        return UTC  # needs no database
    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError) as error:
        raise ValueError(f"unknown timezone {quoted(name)}") from error


def _is_valid(fields: list[str]) -> bool:
    try:
        CronSim(" ".join(fields), _ANY_START)
    except (CronSimError, ValueError):
        return False
    return True
