"""Files that come as a stream of chunks, one after the other."""

from collections.abc import AsyncIterator

from pitstop.engine.workspace_files import FoundFile
from pitstop.store.port import FileChunk


async def each_file(chunks: AsyncIterator[FileChunk]) -> AsyncIterator[tuple[FoundFile, AsyncIterator[bytes]]]:
    """Each file with its chunks. What is not read of them is skipped."""
    following = await anext(chunks, None)

    async def rest_of(file: FoundFile) -> AsyncIterator[bytes]:
        nonlocal following
        while following is not None and following[0].path == file.path:
            yield following[1]
            following = await anext(chunks, None)

    while following is not None:
        file = following[0]
        yield file, rest_of(file)
        async for _ in rest_of(file):
            pass
