"""Bringing a database to the version of this program: once, however many servers start at the same time."""

from pathlib import Path
from typing import Any

from alembic import command
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, func, inspect, select

from pitstop.errors import BadStore
from pitstop.store.sql.database import Database
from pitstop.store.sql.schema import REVISION

_MIGRATIONS_LOCK = 0x70697402
_EMPTY = "base"


async def migrate(database: Database, to: str = REVISION) -> None:
    """Up or down to a revision, `base` being no tables at all. BadStore when the database is of a later version."""
    async with database.write() as connection:
        if not database.is_sqlite:  # whose write transaction is a lock already
            await connection.execute(select(func.pg_advisory_xact_lock(_MIGRATIONS_LOCK)))
        await connection.run_sync(_migrate, to)


def scripts() -> ScriptDirectory:
    return ScriptDirectory.from_config(_config())


def _migrate(connection: Connection, to: str) -> None:
    present = MigrationContext.configure(connection).get_current_revision()
    known = [script.revision for script in reversed(list(scripts().walk_revisions()))]
    if present is not None and present not in known:
        raise BadStore(
            f"the database is from a later version (its revision is {present}, the latest known one is {known[-1]}): "
            f"use the version of Pitstop that wrote it, or a newer one"
        )
    if to not in (*known, _EMPTY):
        raise BadStore(f"unknown database revision {to}: the latest one is {known[-1]}")
    if present is None and set(inspect(connection).get_table_names()) - {"alembic_version"}:
        raise BadStore("the database has tables of another application: use a separate database")
    if (present or _EMPTY) == to:
        return
    config = _config(connection=connection)
    steps = [_EMPTY, *known]
    if steps.index(present or _EMPTY) < steps.index(to):
        command.upgrade(config, to)
    else:
        command.downgrade(config, to)


def _config(**attributes: Any) -> Config:
    config = Config(attributes=attributes)
    config.set_main_option("script_location", str(Path(__file__).parent / "migrations").replace("%", "%%"))
    config.set_main_option("path_separator", "os")
    return config
