"""Which version of the tables a database has, asked without what changes them: that takes long to load."""

from sqlalchemy import text

from pitstop.errors import StoreUnavailable
from pitstop.store.sql.database import Database
from pitstop.store.sql.schema import REVISION


async def bring_to(database: Database, revision: str = REVISION) -> None:
    """Make or change the tables, where they are not those of this revision; BadStore, StoreUnavailable."""
    if not await _is_at(database, revision):
        from pitstop.store.sql.migrate import migrate  # noqa: PLC0415 - a tenth of the time that a server takes to start

        await migrate(database, revision)


async def _is_at(database: Database, revision: str) -> bool:
    """False also when it cannot be told: who migrates finds out why."""
    try:
        async with database.read() as connection:
            found = await connection.execute(text("SELECT version_num FROM alembic_version"))
            return list(found.scalars()) == [revision]
    except StoreUnavailable:
        return False
