"""Files that come as a stream of chunks, one after the other."""

from collections.abc import AsyncIterator

from pitstop.engine.workspace_files import FoundFile
from pitstop.store.port import FileChunk


class ChunksOfFile:
    """The chunks of one file; `following` is the first chunk of the next file, when all were read."""

    def __init__(self, first: FileChunk, rest: AsyncIterator[FileChunk]) -> None:
        self.following: FileChunk | None = first
        self._file = first[0]
        self._rest = rest

    async def __aiter__(self) -> AsyncIterator[bytes]:
        while self.following is not None and self.following[0].path == self._file.path:
            yield self.following[1]
            self.following = await anext(self._rest, None)


async def each_file(chunks: AsyncIterator[FileChunk]) -> AsyncIterator[tuple[FoundFile, ChunksOfFile]]:
    """Each file with its chunks. What is not read of them is skipped."""
    following = await anext(chunks, None)
    while following is not None:
        own = ChunksOfFile(following, chunks)
        yield following[0], own
        async for _ in own:
            pass
        following = own.following
