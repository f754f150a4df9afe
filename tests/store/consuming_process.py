"""A process to be killed: it consumes every event of a store into a table, as fast as it can."""

import asyncio
import sys
from collections.abc import Sequence

from sqlalchemy import BigInteger, Column, MetaData, Table, Text, insert
from sqlalchemy.ext.asyncio import AsyncConnection

from pitstop.events.types import AnyEvent
from pitstop.store.sql.consumers import Consumers
from pitstop.store.sql.store import open_sql_store

# Without a key: an event that is consumed twice is there twice
consumed = Table("consumed", MetaData(), Column("run", Text), Column("number", BigInteger))


class Copying:
    """Writes down the number of every event."""

    waits_for_end = False

    def __init__(self, name: str = "copying", *, says: bool = False) -> None:
        self.name = name
        self._says = says

    async def consume(self, connection: AsyncConnection, run: str, events: Sequence[tuple[int, AnyEvent]]) -> None:
        await connection.execute(insert(consumed), [{"run": run, "number": number} for number, _ in events])
        if self._says:
            print(events[-1][0], flush=True)


async def consume(url: str) -> None:
    store = await open_sql_store(url)
    await Consumers(store.database, store.news, [Copying(says=True)]).follow()


if __name__ == "__main__":
    asyncio.run(consume(sys.argv[1]))
