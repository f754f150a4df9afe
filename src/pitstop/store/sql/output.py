"""Reading what a step wrote, block by block."""

from collections.abc import AsyncIterator, Sequence
from typing import Any

from sqlalchemy import Select, func, select

from pitstop.store.port import OutputLine
from pitstop.store.sql.database import Database
from pitstop.store.sql.output_blocks import bytes_in, has_text, lines_in
from pitstop.store.sql.schema import output

_BLOCKS_AT_ONCE = 16


async def read_lines(
    database: Database, run: str, occurrence: str, after: int, search: str | None
) -> AsyncIterator[Sequence[OutputLine]]:
    """Lines above `after`; with `search`, those that have it in them. Blocks without any are left out."""
    folded = None if search is None else search.casefold()
    async for first_line, body in _read_blocks(database, run, occurrence, after):
        if folded is not None and not has_text(bytes_in(body), folded):
            continue
        lines = [line for line in lines_in(body, first_line) if line.number > after]
        if folded is not None:
            lines = [line for line in lines if has_text(line.data, folded)]
        if lines:
            yield lines


async def read_bytes(database: Database, run: str, occurrence: str) -> AsyncIterator[bytes]:
    async for _, body in _read_blocks(database, run, occurrence, 0):
        yield bytes_in(body)


async def read_end(database: Database, run: str, occurrence: str, most_bytes: int) -> bytes:
    """The last bytes of what is kept."""
    found: list[bytes] = []
    size = 0
    last_first = _of(run, occurrence).order_by(output.c.first_line.desc())
    async with database.read() as connection:
        while size < most_bytes:
            rows = (await connection.execute(last_first.limit(_BLOCKS_AT_ONCE).offset(len(found)))).all()
            for _, body in rows:
                found.append(bytes_in(body))
                size += len(found[-1])
            if len(rows) < _BLOCKS_AT_ONCE:
                break
    return b"".join(reversed(found))[-most_bytes:] if most_bytes > 0 else b""


async def _read_blocks(database: Database, run: str, occurrence: str, after: int) -> AsyncIterator[tuple[int, bytes]]:
    """The blocks from the one on that has line `after + 1`. No connection is held while a reader thinks."""
    of_it = (output.c.run == run, output.c.occurrence == occurrence)
    begin = select(func.max(output.c.first_line)).where(*of_it, output.c.first_line <= after + 1)
    async with database.read() as connection:
        first_line = (await connection.execute(begin)).scalar_one_or_none() or 0
    while True:
        wanted = _of(run, occurrence).where(output.c.first_line >= first_line).order_by(output.c.first_line)
        async with database.read() as connection:
            rows = (await connection.execute(wanted.limit(_BLOCKS_AT_ONCE))).all()
        for row in rows:
            yield row.first_line, row.body
        if len(rows) < _BLOCKS_AT_ONCE:
            return
        first_line = rows[-1].first_line + 1


def _of(run: str, occurrence: str) -> Select[Any]:
    return select(output.c.first_line, output.c.body).where(output.c.run == run, output.c.occurrence == occurrence)
