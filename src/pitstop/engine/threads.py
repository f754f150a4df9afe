"""Work that is done in a thread, and over when whoever asked for it goes on."""

import asyncio
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import TypeVar

T = TypeVar("T")


async def in_thread(work: Callable[[], T], stop: threading.Event | None = None) -> T:
    """Do it in a thread, and never leave that behind: who is cancelled waits for it, after it was told to stop."""
    working = asyncio.get_running_loop().run_in_executor(None, work)
    try:
        return await asyncio.shield(working)
    except asyncio.CancelledError:
        if stop is not None:
            stop.set()
        while not working.done():
            with suppress(asyncio.CancelledError):  # again, which changes nothing
                await asyncio.wait([working])
        if not working.cancelled():
            working.exception()  # nobody wants to know it any more
        raise
