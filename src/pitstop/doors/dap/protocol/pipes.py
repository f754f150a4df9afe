"""Standard input and output as streams, whatever they are: pipes, terminals, files, or closed."""

import asyncio
import os
import stat
from io import FileIO

from pitstop.doors.dap.protocol.wire import LONGEST_LINE

DRAIN_SECONDS = 30.0  # a client that is there may be busy; for one that is gone nobody waits


async def open_reader(number: int) -> asyncio.StreamReader:
    """What is read from a file descriptor; one that is closed is at its end."""
    reader = asyncio.StreamReader(limit=LONGEST_LINE)
    try:
        is_waited_for = _is_waited_for(number)
        pipe = FileIO(number, "r")
    except OSError:
        reader.feed_eof()
        return reader
    if is_waited_for:
        await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), pipe)
    else:  # a file, which is all there already
        reader.feed_data(await asyncio.to_thread(pipe.read))
        reader.feed_eof()
    return reader


def _is_waited_for(number: int) -> bool:
    """Whether something may come there later, and the event loop can be told of it."""
    mode = os.fstat(number).st_mode
    return stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode) or os.isatty(number)


class ClientWriter:
    """Writes in order and never waits; what cannot be written any more is dropped."""

    def __init__(self, stream: asyncio.StreamWriter) -> None:
        self._stream = stream

    def write(self, data: bytes) -> None:
        if not self._stream.is_closing():
            self._stream.write(data)

    async def close(self) -> None:
        """When all is written, or the client no longer reads."""
        try:
            async with asyncio.timeout(DRAIN_SECONDS):
                self._stream.close()
                await self._stream.wait_closed()
        except TimeoutError:
            self._stream.transport.abort()
        except OSError:
            return  # it is lost already


class FileWriter:
    """The same for a file, which is written at once."""

    def __init__(self, file: FileIO) -> None:
        self._file = file

    def write(self, data: bytes) -> None:
        self._file.write(data)

    async def close(self) -> None:
        self._file.close()


async def open_writer(number: int) -> ClientWriter | FileWriter:
    file = FileIO(number, "w")
    if not _is_waited_for(number):
        return FileWriter(file)
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader()  # StreamWriter needs one, although nothing is read here
    transport, protocol = await loop.connect_write_pipe(lambda: asyncio.StreamReaderProtocol(reader), file)
    return ClientWriter(asyncio.StreamWriter(transport, protocol, None, loop))
