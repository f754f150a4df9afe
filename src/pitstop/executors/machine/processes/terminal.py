"""A shell on a true terminal: Pitstop holds the outer side, and a supervisor runs the shell on the inner one."""

import asyncio
import errno
import fcntl
import os
import struct
import termios

from msgspec.structs import replace

from pitstop.engine.executor import CommandResult
from pitstop.executors.machine.characters import whole_characters
from pitstop.executors.machine.processes.result import result_of
from pitstop.executors.machine.processes.supervisors import Supervised

READ_BYTES = 64 * 1024
CLOSE_GRACE_SECONDS = 1.0


def open_terminal(rows: int, cols: int) -> tuple[int, int]:
    """The outer and the inner side of a new terminal."""
    outer, inner = os.openpty()
    os.set_blocking(outer, False)
    _set_size(outer, rows, cols)
    return outer, inner


class TerminalShell:
    """A shell on a terminal. One reader and one writer at a time."""

    def __init__(self, outer: int, command: Supervised) -> None:
        self._outer: int | None = outer
        self._command = command
        self._hung_up = False
        self._rest = b""  # the beginning of a character
        self._ready: dict[str, asyncio.Future[None]] = {}

    async def read(self) -> bytes:
        while self._outer is not None:
            try:
                said = os.read(self._outer, READ_BYTES)
            except BlockingIOError:
                await self._wait_ready("read", self._outer)
                continue
            except OSError as error:
                if error.errno != errno.EIO:  # this is how a terminal says that its inner side is closed
                    raise
                said = b""
            if not said:
                break
            said = self._rest + said
            whole = whole_characters(said)
            self._rest = said[whole:]
            if whole:
                return said[:whole]
        said, self._rest = self._rest, b""
        return said

    async def write(self, data: bytes) -> None:
        """Type. What is typed into a terminal that has ended is lost."""
        rest = memoryview(data)
        while rest and self._outer is not None:
            try:
                rest = rest[os.write(self._outer, rest) :]
            except BlockingIOError:
                await self._wait_ready("write", self._outer)
            except OSError as error:
                if error.errno != errno.EIO:
                    raise
                return

    def resize(self, rows: int, cols: int) -> None:
        if self._outer is not None:
            _set_size(self._outer, rows, cols)

    async def wait(self) -> CommandResult:
        result = result_of(await self._command.wait_ended())
        return replace(result, state="cancelled") if self._hung_up else result

    async def close(self) -> None:
        if self._outer is not None:
            outer, self._outer = self._outer, None
            self._hung_up = not self._command.ended.done()
            for ready in self._ready.values():
                if not ready.done():
                    ready.set_result(None)
            loop = asyncio.get_running_loop()
            loop.remove_reader(outer)
            loop.remove_writer(outer)
            os.close(outer)  # which hangs up on the whole session
        self._command.cancel(CLOSE_GRACE_SECONDS, "cancelled")
        await self._command.wait_ended()

    async def _wait_ready(self, way: str, outer: int) -> None:
        loop = asyncio.get_running_loop()
        ready: asyncio.Future[None] = loop.create_future()
        self._ready[way] = ready
        watch, unwatch = (
            (loop.add_reader, loop.remove_reader) if way == "read" else (loop.add_writer, loop.remove_writer)
        )
        watch(outer, _resolve, ready)
        try:
            await ready
        finally:
            if self._outer is not None:
                unwatch(outer)
            del self._ready[way]


def _resolve(ready: asyncio.Future[None]) -> None:
    if not ready.done():
        ready.set_result(None)


def _set_size(terminal: int, rows: int, cols: int) -> None:
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", rows, cols, 0, 0))
