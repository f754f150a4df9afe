"""Functions that `python` steps call in tests."""

import asyncio
import os
import threading
from pathlib import Path


def add(a: int, b: int = 0) -> dict[str, int]:
    return {"sum": a + b}


async def add_async(a: int, b: int = 0) -> dict[str, int]:
    await asyncio.sleep(0)
    return {"sum": a + b}


class Calculator:
    @staticmethod
    def add(a: int) -> dict[str, int]:
        return {"sum": a}


def return_nothing() -> None: ...


def return_number() -> int:
    return 5


def return_odd_values() -> dict[str, object]:
    return {"path": Path("a"), "numbers": {1, 2}, "loop": threading.Lock}


def raise_error() -> None:
    raise ValueError("the value is hunter2hunter2")


async def raise_error_async() -> None:
    raise ValueError("from a coroutine")


def leave() -> None:
    raise SystemExit(3)


async def leave_async() -> None:
    raise SystemExit(3)


def interrupt() -> None:
    raise KeyboardInterrupt


def stop_iteration() -> None:
    raise StopIteration


def block() -> None:
    print("blocking", os.getpid())
    threading.Event().wait()


def kill_itself() -> None:
    print("before the end")
    os.abort()


def look_around() -> dict[str, str]:
    return {"folder": str(Path.cwd()), "variable": os.environ["OF_THE_STEP"]}


def leave_a_thread() -> dict[str, bool]:
    threading.Thread(target=threading.Event().wait).start()
    return {"left": True}


NOT_A_FUNCTION = 5
