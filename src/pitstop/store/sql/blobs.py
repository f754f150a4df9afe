"""Large values and parts of files, each kept once by its hash for all runs that refer to it."""

from collections.abc import Mapping, Sequence

from sqlalchemy import Connection, delete, exists, select
from sqlalchemy.ext.asyncio import AsyncConnection

from pitstop.store.sql.database import Database
from pitstop.store.sql.schema import blob_uses, blobs


def keep_blobs(connection: Connection, database: Database, found: Sequence[tuple[str, Mapping[bytes, bytes]]]) -> None:
    """Keep blobs, each with the run that refers to it. The caller has locked the blobs.

    All who do so take them in the same order: who waits for another that has a blob on its way is not waited for by it.
    """
    data = {name: each for _, of_run in found for name, each in of_run.items()}
    if data:
        rows = [{"hash": name, "size": len(data[name]), "data": data[name]} for name in sorted(data)]
        connection.execute(database.insert(blobs).on_conflict_do_nothing(), rows)
        uses = [
            {"run": run, "hash": name} for run, name in sorted((run, name) for run, of_run in found for name in of_run)
        ]
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
