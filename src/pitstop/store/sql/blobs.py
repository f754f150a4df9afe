"""Large values and parts of files, each kept once by its hash for all runs that refer to it."""

from sqlalchemy import Connection, delete, exists, select
from sqlalchemy.ext.asyncio import AsyncConnection

from pitstop.store.sql.database import Database
from pitstop.store.sql.schema import blob_uses, blobs


def keep_blobs(connection: Connection, database: Database, run: str, found: dict[bytes, bytes]) -> None:
    """Keep blobs that the run refers to. The caller has locked the blobs."""
    if found:
        rows = [{"hash": name, "size": len(data), "data": data} for name, data in found.items()]
        connection.execute(database.insert(blobs).on_conflict_do_nothing(), rows)
        uses = [{"run": run, "hash": name} for name in found]
        connection.execute(database.insert(blob_uses).on_conflict_do_nothing(), uses)


async def forget_blobs_of(database: Database, connection: AsyncConnection, run: str) -> None:
    """Forget what only this run refers to."""
    await connection.run_sync(database.lock_blobs, to_delete=True)
    own = select(blob_uses.c.hash).where(blob_uses.c.run == run)
    names = list((await connection.execute(own)).scalars())
    await connection.execute(delete(blob_uses).where(blob_uses.c.run == run))
    for first in range(0, len(names), 500):
        unused = ~exists().where(blob_uses.c.hash == blobs.c.hash)
        await connection.execute(delete(blobs).where(blobs.c.hash.in_(names[first : first + 500]), unused))
