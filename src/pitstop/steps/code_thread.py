"""A thread with an event loop of its own for the code of a graph: whatever it does there keeps nobody else waiting."""

import asyncio
import io
import sys
import threading
from collections.abc import Callable, Coroutine
from contextlib import suppress
from contextvars import ContextVar
from typing import Any, TextIO, TypeVar

from pitstop.engine.executor import Stream

T = TypeVar("T")
Hear = Callable[[Stream, bytes], None]

LEAVE_SECONDS = 1.0  # that code which is cancelled has to clean up, until it is left to itself

_hearer: ContextVar[Hear | None] = ContextVar("hearer", default=None)


class CodeThread:
    """Runs coroutines one beside the other. What they print is heard by those who started them."""

    def __init__(self) -> None:
        self._loop: asyncio.AbstractEventLoop | None = None

    async def run(self, work: Callable[[], Coroutine[Any, Any, T]], hear: Hear) -> T:
        """What the work gives. Cancelling cancels it; code that does not let itself be cancelled is left behind."""
        here, ended = asyncio.get_running_loop(), asyncio.Event()

        async def listened() -> T:
            _hearer.set(hear)
            try:
                return await work()
            finally:
                with suppress(RuntimeError):  # nobody waits there any more
                    here.call_soon_threadsafe(ended.set)

        running = asyncio.run_coroutine_threadsafe(listened(), self._begun())
        try:
            return await asyncio.wrap_future(running)
        except asyncio.CancelledError:
            with suppress(TimeoutError):
                async with asyncio.timeout(LEAVE_SECONDS):
                    await ended.wait()
            raise

    async def close(self) -> None:
        """Begin nothing more. Code that is at work in spite of being cancelled ends with the process."""
        if self._loop is not None:
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._loop = None
            sys.stdout, sys.stderr = (
                now.original if isinstance(now, HeardStream) else now for now in (sys.stdout, sys.stderr)
            )

    def _begun(self) -> asyncio.AbstractEventLoop:
        if self._loop is None:
            self._loop = asyncio.new_event_loop()
            sys.stdout = HeardStream("stdout", sys.stdout)
            sys.stderr = HeardStream("stderr", sys.stderr)
            # A daemon, for code that blocks must not keep the process from ending
            threading.Thread(target=_serve, args=(self._loop,), name="graph", daemon=True).start()
        return self._loop


def _serve(loop: asyncio.AbstractEventLoop) -> None:
    asyncio.set_event_loop(loop)
    try:
        loop.run_forever()
    finally:
        loop.close()


class HeardStream(io.TextIOBase):
    """A standard stream: what the code of a node writes there is heard as its own, all else goes where it went."""

    def __init__(self, stream: Stream, original: TextIO) -> None:
        self.original = original
        self._stream: Stream = stream

    def write(self, text: str) -> int:
        hear = _hearer.get()
        if hear is None:
            return self.original.write(text)
        hear(self._stream, text.encode(errors="replace"))
        return len(text)

    def flush(self) -> None:
        self.original.flush()

    def isatty(self) -> bool:
        return False

    def fileno(self) -> int:
        return self.original.fileno()

    @property
    def encoding(self) -> str:  # type: ignore[override]
        return "utf-8"

    @property
    def buffer(self) -> Any:
        return self.original.buffer
