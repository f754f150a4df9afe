"""What a step wrote, as blocks of lines in the database. A block is a list of pieces."""

from collections import Counter
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from typing import Any

import msgspec
from sqlalchemy import Select, func, select

from pitstop.engine.executor import Stream
from pitstop.store.output_pieces import Piece
from pitstop.store.port import OutputLine
from pitstop.store.sql.database import Database
from pitstop.store.sql.schema import output

BLOCK_BYTES = 256 * 1024
_BLOCKS_AT_ONCE = 16


def blocks_of(pieces: Sequence[Piece]) -> Iterator[tuple[int, int, bytes]]:
    """Blocks as they stand in a row: how many lines, how many bytes, and the body."""
    taken: list[Piece] = []
    size = 0
    for place, piece in enumerate(pieces, 1):
        taken.append(piece)
        size += len(piece.data)
        if size >= BLOCK_BYTES or place == len(pieces):
            yield sum(each.line_count for each in taken), size, _encoder.encode(taken)
            taken, size = [], 0


async def read_lines(
    database: Database, run: str, occurrence: str, after: int, search: str | None
) -> AsyncIterator[Sequence[OutputLine]]:
    """Lines above `after`; with `search`, those that have it in them. Blocks without any are left out."""
    async for first_line, body in _read_blocks(database, run, occurrence, after):
        lines: list[OutputLine] = []
        for piece in _decode(body):
            lines += piece.lines(first_line, after, search)
            first_line += piece.line_count
        if lines:
            yield lines


async def read_bytes(database: Database, run: str, occurrence: str) -> AsyncIterator[bytes]:
    async for _, body in _read_blocks(database, run, occurrence, 0):
        yield _bytes_in(body)


async def read_sizes(database: Database, run: str, occurrence: str, since: float) -> Mapping[Stream, int]:
    """How many bytes of each stream came since then."""
    sizes: Counter[Stream] = Counter()
    async for _, body in _read_blocks(database, run, occurrence, 0):
        for piece in _decode(body):
            if piece.time >= since:
                sizes[piece.stream] += len(piece.data)
    return sizes


async def read_end(database: Database, run: str, occurrence: str, most_bytes: int) -> bytes:
    """The last bytes of what is kept."""
    found: list[bytes] = []
    size = 0
    last_first = _of(run, occurrence).order_by(output.c.first_line.desc())
    while size < most_bytes:
        rows = await database.rows(last_first.limit(_BLOCKS_AT_ONCE).offset(len(found)))
        for _, body in rows:
            found.append(_bytes_in(body))
            size += len(found[-1])
        if len(rows) < _BLOCKS_AT_ONCE:
            break
    return b"".join(reversed(found))[-most_bytes:] if most_bytes > 0 else b""


async def _read_blocks(database: Database, run: str, occurrence: str, after: int) -> AsyncIterator[tuple[int, bytes]]:
    """The blocks from the one on that has line `after + 1`. No connection is held while a reader thinks."""
    of_it = (output.c.run == run, output.c.occurrence == occurrence)
    ((first_line,),) = await database.rows(
        select(func.coalesce(func.max(output.c.first_line), 0)).where(*of_it, output.c.first_line <= after + 1)
    )
    while True:
        wanted = _of(run, occurrence).where(output.c.first_line >= first_line).order_by(output.c.first_line)
        rows = await database.rows(wanted.limit(_BLOCKS_AT_ONCE))
        for row in rows:
            yield row.first_line, row.body
        if len(rows) < _BLOCKS_AT_ONCE:
            return
        first_line = rows[-1].first_line + 1


def _of(run: str, occurrence: str) -> Select[Any]:
    return select(output.c.first_line, output.c.body).where(output.c.run == run, output.c.occurrence == occurrence)


def _bytes_in(body: bytes) -> bytes:
    return b"".join(piece.data for piece in _decode(body))


_encoder = msgspec.msgpack.Encoder()
_decode = msgspec.msgpack.Decoder(list[Piece]).decode
