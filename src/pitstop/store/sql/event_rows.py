"""The rows of a log: what is written for an event, and pages of events read back."""

from collections.abc import Iterable, Sequence
from typing import Any

from sqlalchemy import func, select
from sqlalchemy.ext.asyncio import AsyncConnection

from pitstop.errors import UnknownRun
from pitstop.events.types import AnyEvent
from pitstop.store.sql.event_codec import blobs_of, unpack_event
from pitstop.store.sql.schema import blobs, events, runs

PAGE = 1000
_BLOBS_AT_ONCE = 500
_SHORT = 200  # events of a log that is read together with others


EventRow = tuple[str, int, str, float, bytes]  # as in the table: run, number, kind, at, body


async def read_page(connection: AsyncConnection, run: str, after: int, limit: int = PAGE) -> list[tuple[int, AnyEvent]]:
    """Events above `after` with their numbers, at most `limit`. UnknownRun when it is deleted meanwhile."""
    wanted = select(events.c.number, events.c.body).where(events.c.run == run, events.c.number > after)
    rows = (await connection.execute(wanted.order_by(events.c.number).limit(limit))).all()
    try:
        read = await _unpacked(connection, [body for _, body in rows])
    except LookupError as error:
        if (await connection.execute(select(runs.c.id).where(runs.c.id == run))).first() is not None:
            raise
        raise UnknownRun(run) from error  # its large values have gone between the two questions
    return [(row[0], event) for row, event in zip(rows, read, strict=True)]


async def read_log(connection: AsyncConnection, run: str) -> list[AnyEvent]:
    read: list[AnyEvent] = []
    while True:
        page = await read_page(connection, run, len(read), 10 * PAGE)
        read += [event for _, event in page]
        if len(page) < 10 * PAGE:
            return read


async def read_logs(connection: AsyncConnection, names: Sequence[str]) -> dict[str, list[AnyEvent]]:
    """The logs of these runs, with one question for all that are short."""
    read: dict[str, list[AnyEvent]] = {run: [] for run in names}
    together = select(events.c.run, events.c.body).where(events.c.run.in_(names), events.c.number <= _SHORT)
    rows = (await connection.execute(together.order_by(events.c.run, events.c.number))).all()
    for row, event in zip(rows, await _unpacked(connection, [body for _, body in rows]), strict=True):
        read[row[0]].append(event)
    for run, begun in read.items():
        if len(begun) == _SHORT:
            read[run] = await read_log(connection, run)
    return read


async def last_number(connection: AsyncConnection, run: str) -> int:
    """How many events there are: numbers have no gaps."""
    return (await connection.execute(select(func.max(events.c.number)).where(events.c.run == run))).scalar_one() or 0


async def _unpacked(connection: AsyncConnection, bodies: Sequence[bytes]) -> list[AnyEvent]:
    read: list[AnyEvent | None] = []
    elsewhere: list[int] = []
    for place, body in enumerate(bodies):
        try:
            read.append(unpack_event(body))
        except LookupError:
            read.append(None)
            elsewhere.append(place)
    if elsewhere:
        found = await read_blobs(connection, [bodies[place] for place in elsewhere])
        for place in elsewhere:
            read[place] = unpack_event(bodies[place], found)
    return [event for event in read if event is not None]


async def read_blobs(connection: AsyncConnection, packed: Iterable[bytes]) -> dict[bytes, bytes]:
    """The blobs that these values have in them, and those that they have in them."""
    found: dict[bytes, bytes] = {}
    missing = {name for each in packed for name in blobs_of(each)}
    while missing:
        names = list(missing)
        for first in range(0, len(names), _BLOBS_AT_ONCE):
            some: Sequence[Any] = names[first : first + _BLOBS_AT_ONCE]
            wanted = select(blobs.c.hash, blobs.c.data).where(blobs.c.hash.in_(some))
            found |= {row.hash: row.data for row in await connection.execute(wanted)}
        missing = {inner for name in names if name in found for inner in blobs_of(found[name])} - found.keys()
    return found
