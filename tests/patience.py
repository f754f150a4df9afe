"""How long a test waits for what it waits for: only so long that a hang is noticed."""

import asyncio
import inspect
import time
from collections.abc import Callable
from typing import Any

PATIENCE_SECONDS = 90.0  # a busy machine may be slow for a while
LOOK_SECONDS = 0.01


async def wait_until(ask: Callable[[], Any], said: str = "it does not come true") -> Any:
    """The first answer that is true. What has an event is better waited for by that."""
    try:
        async with asyncio.timeout(PATIENCE_SECONDS):
            while True:
                answer = ask()
                if inspect.isawaitable(answer):
                    answer = await answer
                if answer:
                    return answer
                await asyncio.sleep(LOOK_SECONDS)
    except TimeoutError:
        raise AssertionError(said) from None


def wait_here_until(ask: Callable[[], Any], said: str = "it does not come true") -> Any:
    """The same where there is no event loop, or where it is to be held up."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not (answer := ask()):
        assert time.monotonic() < deadline, said
        time.sleep(LOOK_SECONDS)
    return answer
