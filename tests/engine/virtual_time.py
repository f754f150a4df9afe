"""An event loop without waiting: when nothing is ready, its clock jumps to the next timer."""

import asyncio
import functools
import selectors
from collections.abc import Callable, Coroutine
from typing import Any, ParamSpec, TypeVar

T = TypeVar("T")
P = ParamSpec("P")


class NothingWillHappen(RuntimeError):
    """Everybody waits, and no timer is set: a real loop would hang here for ever."""


class VirtualTimeLoop(asyncio.SelectorEventLoop):
    """A loop whose `time()` starts at 0 and passes only by jumping. Threads and sockets are not waited for."""

    def __init__(self) -> None:
        self._virtual_time = 0.0
        super().__init__(_Jumping(self))

    def time(self) -> float:
        return self._virtual_time

    def jump(self, seconds: float) -> None:
        self._virtual_time += seconds


class _Jumping(selectors.SelectSelector):
    def __init__(self, loop: VirtualTimeLoop) -> None:
        super().__init__()
        self._loop = loop

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        ready = super().select(0)
        if not ready:
            if timeout is None:
                raise NothingWillHappen("every task waits, and no timer is set")
            self._loop.jump(timeout)
        return ready


def run_virtual(main: Coroutine[Any, Any, T]) -> T:
    """The result of `main`, run on a loop of its own in virtual time."""
    with asyncio.Runner(loop_factory=VirtualTimeLoop) as runner:
        return runner.run(main)


def virtual_time(test: Callable[P, Coroutine[Any, Any, T]]) -> Callable[P, T]:
    """Run an async test in virtual time: an hour costs nothing, and a hang is an error at once."""

    @functools.wraps(test)
    def run(*args: P.args, **kwargs: P.kwargs) -> T:
        return run_virtual(test(*args, **kwargs))

    return run


def now() -> float:
    return asyncio.get_running_loop().time()
