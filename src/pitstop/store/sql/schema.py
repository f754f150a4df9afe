"""The tables of runs, and `metadata`, where other rooms define their own tables.

A change of a table needs a migration: a test compares the two.
"""

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Connection,
    Double,
    ForeignKey,
    Index,
    LargeBinary,
    MetaData,
    Table,
)

from pitstop.store.sql.columns import AnyText, Name, Packed

REVISION = "0009"  # the newest migration

metadata = MetaData()

runs = Table(
    "runs",
    metadata,
    Column("id", AnyText, primary_key=True),
    Column("flow", AnyText, nullable=False),
    Column("file", AnyText, nullable=False),
    Column("status", AnyText, nullable=False),
    Column("created_at", Double, nullable=False),
    Column("started_at", Double),
    Column("ended_at", Double),
    Column("error", AnyText),
    Column("failures", Packed, nullable=False),
    Column("intervened", Boolean, nullable=False),
    Column("request", Packed, nullable=False),
    Column("texts", Packed, nullable=False),
    Column("sealed_secrets", LargeBinary),
    Column("workspace", AnyText),
    Column("from_run", AnyText),
    Column("from_step", AnyText),
    Column("carried_over", BigInteger, nullable=False),
    Column("is_partial", Boolean, nullable=False),
    Column("priority", BigInteger, nullable=False),
    Column("kept_until", Double),
    Column("is_pinned", Boolean, nullable=False),
    Column("repo", AnyText),
    Column("ref", AnyText),
    Column("sha", AnyText),
    Column("started_by", AnyText),
    Column("concurrency", AnyText),
    Column("owner", AnyText),  # the server that runs it
    Column("epoch", BigInteger, nullable=False, default=0),  # how often it was claimed: only the last owner may write
    Column("lease_until", Double),  # in the database's time; not indexed, for it changes all the time
    Index("runs_by_age", "created_at", "id"),
    Index("runs_by_flow", "flow", "created_at", "id"),
    Index("runs_by_status", "status", "created_at", "id"),
    Index("runs_by_repo", "repo", "created_at", "id"),
)

events = Table(
    "events",
    metadata,
    Column("run", AnyText, primary_key=True),
    Column("number", BigInteger, primary_key=True, autoincrement=False),
    Column("kind", AnyText, nullable=False),
    Column("at", Double, nullable=False),
    Column("body", LargeBinary, nullable=False),
    sqlite_with_rowid=False,
)

blobs = Table(
    "blobs",
    metadata,
    Column("hash", LargeBinary, primary_key=True),
    Column("size", BigInteger, nullable=False),
    Column("data", LargeBinary, nullable=False),
)

blob_uses = Table(  # which runs a blob is there for
    "blob_uses",
    metadata,
    Column("run", AnyText, primary_key=True),
    Column("hash", LargeBinary, ForeignKey("blobs.hash"), primary_key=True),
    Index("blob_uses_by_hash", "hash"),
    sqlite_with_rowid=False,
)

output = Table(  # blocks of lines
    "output",
    metadata,
    Column("run", AnyText, primary_key=True),
    Column("occurrence", Name, primary_key=True),
    Column("first_line", BigInteger, primary_key=True, autoincrement=False),
    Column("lines", BigInteger, nullable=False),
    Column("size", BigInteger, nullable=False),
    Column("body", LargeBinary, nullable=False),
)

artifacts = Table(
    "artifacts",
    metadata,
    Column("run", AnyText, primary_key=True),
    Column("name", Name, primary_key=True),  # its path, but for a very long one
    Column("path", AnyText, nullable=False),
    Column("size", BigInteger, nullable=False),
    Column("chunks", LargeBinary, nullable=False),  # the hashes of its blobs, one after the other
)

deleted_runs = Table(  # runs that are gone, of which something may still be left
    "deleted_runs",
    metadata,
    Column("run", AnyText, primary_key=True),
)

consumers = Table(  # how far each consumer has read each log
    "consumers",
    metadata,
    Column("name", AnyText, primary_key=True),
    Column("run", AnyText, primary_key=True),
    Column("number", BigInteger, nullable=False),
    sqlite_with_rowid=False,
)

flow_settings = Table(
    "flow_settings",
    metadata,
    Column("flow", AnyText, primary_key=True),
    Column("name", AnyText, primary_key=True),
    Column("value", Packed, nullable=False),
)

servers = Table(
    "servers",
    metadata,
    Column("id", AnyText, primary_key=True),
    Column("started_at", Double, nullable=False),
    Column("seen_at", Double, nullable=False),
    Column("address", AnyText, nullable=False),
    Column("home", AnyText),  # whose repositories are in its folder
)


def stored_tables(connection: Connection) -> list[Table]:
    """Every table of the database, whichever room owns it, in the order in which they can be filled."""
    found = MetaData()
    found.reflect(connection)
    return [table for table in found.sorted_tables if table.name != "alembic_version"]
