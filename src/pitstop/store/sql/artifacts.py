"""The files that a run handed on, in chunks that stand once however many runs have them."""

import asyncio
import os
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

from sqlalchemy import select

from pitstop.errors import LogLost, UnknownArtifact
from pitstop.store.port import Artifact
from pitstop.store.sql.blobs import keep_blobs
from pitstop.store.sql.database import Database
from pitstop.store.sql.event_codec import hash_of
from pitstop.store.sql.schema import artifacts, blobs, runs

CHUNK_BYTES = 1024 * 1024
_HASH_BYTES = 32
_CHUNKS_AT_ONCE = 8


async def keep_artifacts(database: Database, run: str, epoch: int | None, folder: Path) -> None:
    """Keep the files that are not kept as they are now; a file is seen when all of it is kept."""
    files = await asyncio.to_thread(lambda: sorted(_files_in(folder)))
    kept = await _read_chunks(database, run) if files else {}
    for path, file in files:
        try:
            chunks = await asyncio.to_thread(_hash_chunks, file)
            if kept.get(path) == b"".join(chunks):
                continue
            chunks, size = await _keep_chunks(database, run, file)
        except FileNotFoundError:  # it has gone since: a step is at work there
            continue
        async with database.write() as connection:
            present = (await connection.execute(select(runs.c.epoch).where(runs.c.id == run))).scalar_one_or_none()
            if present is None or epoch not in (None, present):
                raise LogLost(run)
            row = {"run": run, "name": path, "path": path, "size": size, "chunks": b"".join(chunks)}
            statement = database.insert(artifacts).values(row)
            changed = {"size": statement.excluded.size, "chunks": statement.excluded.chunks}
            await connection.execute(statement.on_conflict_do_update(index_elements=["run", "name"], set_=changed))


async def _keep_chunks(database: Database, run: str, file: Path) -> tuple[list[bytes], int]:
    """Keep what is in a file, as it is now: somebody may write it. Gives the hashes of its chunks, and its size."""
    chunks: list[bytes] = []
    size = 0
    while data := await asyncio.to_thread(_read_some, file, len(chunks)):
        found = {hash_of(each): each for each in data}
        async with database.write() as connection:
            await connection.run_sync(database.lock_blobs)
            await connection.run_sync(keep_blobs, database, [(run, found)])
        chunks += [hash_of(each) for each in data]
        size += sum(map(len, data))
        if len(data[-1]) < CHUNK_BYTES:
            break
    return chunks, size


async def list_artifacts(database: Database, run: str) -> tuple[Artifact, ...]:
    async with database.read() as connection:
        rows = await connection.execute(
            select(artifacts.c.path, artifacts.c.size).where(artifacts.c.run == run).order_by(artifacts.c.path)
        )
        return tuple(Artifact(row.path, row.size) for row in rows)


async def read_artifact(database: Database, run: str, path: str) -> AsyncIterator[bytes]:
    """UnknownArtifact when there is none at this path."""
    chunks = (await _read_chunks(database, run, path)).get(path)
    if chunks is None:
        raise UnknownArtifact(path)
    for begin in range(0, len(chunks), _HASH_BYTES):
        wanted = select(blobs.c.data).where(blobs.c.hash == chunks[begin : begin + _HASH_BYTES])
        async with database.read() as connection:
            data = (await connection.execute(wanted)).scalar_one_or_none()
        if data is None:  # the run was deleted meanwhile
            raise UnknownArtifact(path)
        yield data


async def _read_chunks(database: Database, run: str, path: str | None = None) -> dict[str, bytes]:
    wanted = select(artifacts.c.path, artifacts.c.chunks).where(artifacts.c.run == run)
    if path is not None:
        wanted = wanted.where(artifacts.c.name == path)
    async with database.read() as connection:
        return {row.path: row.chunks for row in await connection.execute(wanted)}


def _files_in(folder: Path) -> Iterator[tuple[str, Path]]:
    inside = folder.resolve()
    for around, _, names in os.walk(folder):  # which leaves out what goes meanwhile
        for file in (Path(around, name) for name in names):
            if file.is_file() and file.resolve().is_relative_to(inside):
                yield file.relative_to(folder).as_posix(), file


def _hash_chunks(file: Path) -> list[bytes]:
    with file.open("rb") as opened:
        return [hash_of(data) for data in iter(lambda: opened.read(CHUNK_BYTES), b"")]


def _read_some(file: Path, first: int) -> list[bytes]:
    """The chunks from `first` on, a few."""
    with file.open("rb") as opened:
        opened.seek(first * CHUNK_BYTES)
        data = opened.read(_CHUNKS_AT_ONCE * CHUNK_BYTES)
    return [data[begin : begin + CHUNK_BYTES] for begin in range(0, len(data), CHUNK_BYTES)]
