"""Asking again while a server is gone for a moment: the events of its runs are waited for as long, too."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

from pitstop.errors import ServerTrouble, StoreUnavailable

T = TypeVar("T")

FIRST_WAIT_SECONDS = 0.1
LONGEST_WAIT_SECONDS = 5.0
GIVE_UP_SECONDS = 120.0


async def patiently(ask: Callable[[], Awaitable[T]]) -> T:
    """What it gives, as soon as it can be had. It may be asked several times, so it must not do anything twice."""
    clock = asyncio.get_running_loop().time
    wait_seconds, broken_at = FIRST_WAIT_SECONDS, None
    while True:
        try:
            return await ask()
        except (ServerTrouble, StoreUnavailable):
            broken_at = clock() if broken_at is None else broken_at
            if clock() - broken_at > GIVE_UP_SECONDS:
                raise
        await asyncio.sleep(wait_seconds)
        wait_seconds = min(wait_seconds * 2, LONGEST_WAIT_SECONDS)
