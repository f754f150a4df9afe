"""The files that a run handed on, in chunks that stand once however many runs have them."""

import asyncio
from collections.abc import AsyncIterable, AsyncIterator

from sqlalchemy import select

from pitstop.errors import LogLost, UnknownArtifact
from pitstop.store.artifact_files import each_file
from pitstop.store.port import Artifact, FileChunk
from pitstop.store.sql.blobs import keep_blobs
from pitstop.store.sql.database import Database
from pitstop.store.sql.event_codec import hash_of
from pitstop.store.sql.schema import artifacts, blobs, runs

CHUNK_BYTES = 1024 * 1024
_HASH_BYTES = 32
_BLOCK_BYTES = 8 * CHUNK_BYTES


async def keep_artifacts(database: Database, run: str, epoch: int | None, files: AsyncIterator[FileChunk]) -> None:
    """Keep the files that are not kept as they are now; a file is seen when all of it is kept."""
    kept: dict[str, bytes] | None = None
    async for file, data in each_file(files):
        if kept is None:
            kept = await _read_chunks(database, run)
        known = kept.get(file.path)
        chunks, size = await _keep_chunks(database, run, data, known or b"")
        if known == b"".join(chunks):
            continue
        async with database.write() as connection:
            present = (await connection.execute(select(runs.c.epoch).where(runs.c.id == run))).scalar_one_or_none()
            if present is None or epoch not in (None, present):
                raise LogLost(run)
            row = {"run": run, "name": file.path, "path": file.path, "size": size, "chunks": b"".join(chunks)}
            statement = database.insert(artifacts).values(row)
            changed = {"size": statement.excluded.size, "chunks": statement.excluded.chunks}
            await connection.execute(statement.on_conflict_do_update(index_elements=["run", "name"], set_=changed))


async def _keep_chunks(
    database: Database, run: str, data: AsyncIterable[bytes], known: bytes
) -> tuple[list[bytes], int]:
    """Keep what is in a file, but for the chunks that are known. Gives the hashes of its chunks, and its size."""
    kept = {known[begin : begin + _HASH_BYTES] for begin in range(0, len(known), _HASH_BYTES)}
    chunks: list[bytes] = []
    size = 0
    async for block in _in_blocks(data):
        parts = [block[begin : begin + CHUNK_BYTES] for begin in range(0, len(block), CHUNK_BYTES)]
        hashes = await asyncio.to_thread(lambda parts=parts: [hash_of(part) for part in parts])  # type: ignore[misc]
        found = {hash: part for hash, part in zip(hashes, parts, strict=True) if hash not in kept}
        if found:
            async with database.write() as connection:
                await connection.run_sync(database.lock_blobs)
                await connection.run_sync(keep_blobs, database, [(run, found)])
        chunks += hashes
        size += len(block)
    return chunks, size


async def _in_blocks(data: AsyncIterable[bytes]) -> AsyncIterator[bytes]:
    """The same bytes in blocks of a few whole chunks; only the last may be shorter."""
    block = bytearray()
    async for piece in data:
        block += piece
        while len(block) >= _BLOCK_BYTES:
            yield bytes(block[:_BLOCK_BYTES])
            del block[:_BLOCK_BYTES]
    if block:
        yield bytes(block)


async def list_artifacts(database: Database, run: str) -> tuple[Artifact, ...]:
    of_run = select(artifacts.c.path, artifacts.c.size).where(artifacts.c.run == run)
    return tuple(Artifact(row.path, row.size) for row in await database.rows(of_run.order_by(artifacts.c.path)))


async def read_artifact(database: Database, run: str, path: str) -> AsyncIterator[bytes]:
    chunks = (await _read_chunks(database, run, path)).get(path)
    if chunks is None:
        raise UnknownArtifact(path)
    for begin in range(0, len(chunks), _HASH_BYTES):
        wanted = select(blobs.c.data).where(blobs.c.hash == chunks[begin : begin + _HASH_BYTES])
        rows = await database.rows(wanted)
        if not rows:  # the run was deleted meanwhile
            raise UnknownArtifact(path)
        yield rows[0].data


async def _read_chunks(database: Database, run: str, path: str | None = None) -> dict[str, bytes]:
    wanted = select(artifacts.c.path, artifacts.c.chunks).where(artifacts.c.run == run)
    if path is not None:
        wanted = wanted.where(artifacts.c.name == path)
    return {row.path: row.chunks for row in await database.rows(wanted)}
