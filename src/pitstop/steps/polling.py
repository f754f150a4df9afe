"""Trying again until it holds, or until the time is over."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

from msgspec import Struct

from pitstop.steps.failures import CheckFailed

DEFAULT_EVERY_SECONDS = 1.0
DEFAULT_LIMIT_SECONDS = 60.0

Value = TypeVar("Value")


class NotYet(Struct, frozen=True):
    """It does not hold; `reason` is what was there instead."""

    reason: str


class Polling(Struct, frozen=True):
    """How often to try. `limit_seconds` None is once."""

    every_seconds: float = DEFAULT_EVERY_SECONDS
    limit_seconds: float | None = None


def plan_polling(every: float | None, within: float | None, step_timeout: float | None) -> Polling:
    """How to try until it holds: once, unless `every` or `within` is given.

    Without `within` it ends just before the step's timeout, when the reason can still be reported, or after a minute.
    """
    if every is None and within is None:
        return Polling()
    if within is None:
        within = DEFAULT_LIMIT_SECONDS if step_timeout is None else step_timeout - min(0.5, step_timeout / 10)
    return Polling(DEFAULT_EVERY_SECONDS if every is None else every, within)


async def poll(what: str, attempt: Callable[[], Awaitable[Value | NotYet]], polling: Polling) -> Value:
    """The first value that is not `NotYet`; CheckFailed when there is none in time. An exception ends it at once."""
    limit = polling.limit_seconds
    if limit is None:
        found = await attempt()
        if isinstance(found, NotYet):
            raise CheckFailed(what, found.reason, tries=1, seconds=None)
        return found
    tries = 0
    reason = "the first attempt did not finish"
    timeout = asyncio.timeout(limit)
    try:
        async with timeout:
            while True:
                tries += 1
                found = await attempt()
                if not isinstance(found, NotYet):
                    return found
                reason = found.reason
                await asyncio.sleep(polling.every_seconds)
    except TimeoutError:
        if not timeout.expired():
            raise
        raise CheckFailed(what, reason, tries=tries, seconds=limit) from None
