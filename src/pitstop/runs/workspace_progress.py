"""Telling how far the files of a workspace are kept, or put back, while that takes long; it is written down nowhere."""

import asyncio
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from pitstop.engine.amount import Amount
from pitstop.runs.run_output import WorkspaceProgress, WorkspaceWork

FIRST_SECONDS = 1.0  # what is over by then is not told at all
EVERY_SECONDS = 0.25

_DOING = {"keeping": "storing the workspace files", "putting_back": "restoring the workspace files"}
_DONE = {"keeping": "stored the workspace files", "putting_back": "restored the workspace files"}
_UNITS = ((10**9, "GB", 1), (10**6, "MB", 0), (10**3, "kB", 0))


class ProgressTelling:
    """Tells of one piece of work at a time, on the event loop: of those beside it when that is over, if they last."""

    def __init__(self, tell: Callable[[WorkspaceProgress], None]) -> None:
        self._tell = tell
        self._told: Amount | None = None  # of the work that is told of

    @contextmanager
    def telling(self, doing: WorkspaceWork) -> Iterator[Amount]:
        """What is done inside counts itself up in the amount, in whatever thread."""
        loop, amount, text = asyncio.get_running_loop(), Amount(), ""
        began = loop.time()
        timers: list[asyncio.TimerHandle] = []  # the one that is running, if any is
        timers.append(loop.call_later(FIRST_SECONDS, self._tick, doing, amount, timers))
        try:
            yield amount
            text = in_words(doing, amount, after_seconds=loop.time() - began)
        finally:
            timers[0].cancel()
            if self._told is amount:
                self._told = None
                self._tell(_progress(doing, amount, text, is_over=True))

    def _tick(self, doing: WorkspaceWork, amount: Amount, timers: list[asyncio.TimerHandle]) -> None:
        timers[0] = asyncio.get_running_loop().call_later(EVERY_SECONDS, self._tick, doing, amount, timers)
        if self._told is None:
            self._told = amount
        if self._told is amount:
            self._tell(_progress(doing, amount, in_words(doing, amount)))


def in_words(doing: WorkspaceWork, amount: Amount, *, after_seconds: float | None = None) -> str:
    """How far it is; with `after_seconds`, what was done by then."""
    files, of_files = amount.files, amount.of_files
    if after_seconds is not None:
        return f"{_DONE[doing]}: {files:,} files, {_sizes(amount.bytes)}, in {after_seconds:.1f} s"
    if of_files is None or amount.of_bytes is None:
        return f"{_DOING[doing]}: scanning"
    size, of_size = min(amount.bytes, amount.of_bytes), amount.of_bytes
    return f"{_DOING[doing]}: {min(files, of_files):,} of {of_files:,} files, {_sizes(size, of_size)}"


def _sizes(size: int, of_size: int | None = None) -> str:
    """In the unit of the larger one."""
    largest = size if of_size is None else of_size
    unit, name, digits = next((each for each in _UNITS if largest >= each[0]), _UNITS[-1])
    told = f"{size / unit:,.{digits}f}"
    return f"{told} {name}" if of_size is None else f"{told} of {of_size / unit:,.{digits}f} {name}"


def _progress(doing: WorkspaceWork, amount: Amount, text: str, *, is_over: bool = False) -> WorkspaceProgress:
    return WorkspaceProgress(
        at=time.time(),
        doing=doing,
        files=amount.files,
        bytes=amount.bytes,
        of_files=amount.of_files,
        of_bytes=amount.of_bytes,
        text=text,
        is_over=is_over,
    )
