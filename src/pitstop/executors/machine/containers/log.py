"""What a command in a container says: taken out of the engine's frames, written to disk, and read from there."""

import asyncio
import socket
import struct
import time
from collections.abc import AsyncIterator, Iterator

from pitstop.engine.executor import LogChunk
from pitstop.executors.machine.spill import STDERR, STDOUT, SpillReader, SpillWriter

FRAME_HEAD = struct.Struct(">BxxxI")  # the stream, and how many bytes follow
FRAME_STDERR = 2
READ_BYTES = 64 * 1024
FLOOD_BYTES = 1024 * 1024


class Frames:
    """Takes the frames of an attached container apart, wherever the pieces that they come in are cut."""

    def __init__(self) -> None:
        self._head = b""
        self._stream = STDOUT
        self._left = 0

    def feed(self, data: memoryview) -> Iterator[tuple[int, bytes]]:
        """The stream and bytes of each run of frames of one stream."""
        parts: list[memoryview] = []
        while data:
            if self._left:
                parts.append(data[: self._left])
                self._left -= len(parts[-1])
                data = data[len(parts[-1]) :]
                continue
            missing = FRAME_HEAD.size - len(self._head)
            self._head += bytes(data[:missing])
            data = data[missing:]
            if len(self._head) < FRAME_HEAD.size:
                break
            number, self._left = FRAME_HEAD.unpack(self._head)
            self._head = b""
            stream = STDERR if number == FRAME_STDERR else STDOUT
            if stream != self._stream and parts:
                yield self._stream, b"".join(parts)
                parts = []
            self._stream = stream
        if parts:
            yield self._stream, b"".join(parts)


class CommandLog:
    """The log of one command, which grows until it is closed. Its memory does not grow with it."""

    def __init__(self, path: str) -> None:
        self.path = path
        self._writer = SpillWriter(path)
        self._grew = asyncio.Event()
        self._is_closed = False

    @property
    def size(self) -> int:
        return self._writer.size

    def append(self, stream: int, data: bytes) -> None:
        """Raises OSError when the disk does not take it."""
        if not self._is_closed:
            self._writer.append(stream, time.time(), data)
            self._grew.set()  # who waits now goes on,
            self._grew.clear()  # and who comes later waits

    def say(self, text: str) -> None:
        """A line of Pitstop's own."""
        self.append(STDERR, f"pitstop: {text}\n".encode(errors="replace"))

    async def pump(self, connection: socket.socket) -> None:
        """Write down what an attached container says, until it says no more. Raises OSError as `append` does."""
        loop = asyncio.get_running_loop()
        frames = Frames()
        buffer = bytearray(READ_BYTES)
        while count := await loop.sock_recv_into(connection, buffer):
            for stream, data in frames.feed(memoryview(buffer)[:count]):
                self.append(stream, data)
            if count == READ_BYTES:
                buffer = bytearray(FLOOD_BYTES)
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, FLOOD_BYTES)
            await asyncio.sleep(0)  # a flood must not keep the loop to itself

    def tail(self, size: int) -> bytes:
        """The last bytes, of both streams as they came."""
        reader = SpillReader(self.path, max(0, self.size - size))
        try:
            return b"".join(chunk[3] for chunk in iter(reader.read, None))
        finally:
            reader.close()

    def close(self) -> None:
        self._is_closed = True
        self._writer.close()
        self._grew.set()

    async def read(self, offset: int = 0) -> AsyncIterator[LogChunk]:
        """What was written from the offset on, until the log is closed."""
        reader = SpillReader(self.path, offset)
        try:
            while True:
                is_closed = self._is_closed  # asked first: what was written before that is still to be read
                if self.size and (chunk := reader.read()):
                    stream, begin, written_at, data = chunk
                    yield LogChunk("stderr" if stream == STDERR else "stdout", begin, written_at, data)
                    await asyncio.sleep(0)  # a reader that never waits must not keep the loop to itself
                elif is_closed:
                    return
                else:
                    await self._grew.wait()
        finally:
            reader.close()
