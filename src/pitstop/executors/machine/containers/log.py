"""The log of a command in a container: what its recorder writes, and between that lines of Pitstop's own."""

import asyncio
import time
from collections.abc import AsyncIterator

from pitstop.engine.executor import LogChunk
from pitstop.executors.machine.spill import STDERR, SpillReader, SpillWriter, size_of


class CommandLog:
    """The log of one command, which grows until it is closed. Its memory does not grow with it."""

    def __init__(self, path: str) -> None:
        self.path = path
        self._grew = asyncio.Event()
        self._is_closed = False

    @property
    def size(self) -> int:
        return size_of(self.path)

    def say(self, text: str) -> None:
        """A line of Pitstop's own, while nothing records. Raises OSError when the disk does not take it."""
        if not self._is_closed:
            writer = SpillWriter(self.path)
            try:
                writer.append(STDERR, time.time(), f"pitstop: {text}\n".encode(errors="replace"))
            finally:
                writer.close()
            self.notice_growth()

    def notice_growth(self) -> None:
        self._grew.set()  # who waits now goes on,
        self._grew.clear()  # and who comes later waits

    def tail(self, size: int) -> bytes:
        """The last bytes, of both streams as they came."""
        reader = SpillReader(self.path, max(0, self.size - size))
        try:
            return b"".join(chunk[3] for chunk in iter(reader.read, None))
        finally:
            reader.close()

    def close(self) -> None:
        self._is_closed = True
        self._grew.set()

    async def read(self, offset: int = 0) -> AsyncIterator[LogChunk]:
        """What was written from the offset on, until the log is closed."""
        reader = SpillReader(self.path, offset)
        try:
            while True:
                is_closed = self._is_closed  # asked first: what was written before that is still to be read
                if chunk := reader.read():
                    stream, begin, written_at, data = chunk
                    yield LogChunk("stderr" if stream == STDERR else "stdout", begin, written_at, data)
                    await asyncio.sleep(0)  # a reader that never waits must not keep the loop to itself
                elif is_closed:
                    return
                else:
                    await self._grew.wait()
        finally:
            reader.close()
