"""The audit log in the database."""

from msgspec.structs import asdict
from sqlalchemy import BigInteger, Column, Double, Index, Integer, Table, select

from pitstop.service.audit import AuditEntry, Deed
from pitstop.store.sql.columns import AnyText, Packed
from pitstop.store.sql.schema import metadata
from pitstop.store.sql.store import SqlStore

audit = Table(
    "audit",
    metadata,
    Column("id", BigInteger().with_variant(Integer(), "sqlite"), primary_key=True),
    Column("at", Double, nullable=False),
    Column("who", AnyText, nullable=False),
    Column("run", AnyText),
    Column("action", AnyText, nullable=False),
    Column("detail", Packed, nullable=False),
    Index("audit_by_run", "run", "id"),
)


class StoredAudit:
    """An AuditLog. An entry is written together with the events of the action, which are most often due as well."""

    def __init__(self, store: SqlStore) -> None:
        self._store = store

    async def add(self, deed: Deed) -> None:
        await self._store.add_row(audit, asdict(deed), same=("at", "who", "action"))

    async def newest(self, run: str | None, before: int | None, limit: int) -> list[AuditEntry]:
        wanted = select(audit).order_by(audit.c.id.desc()).limit(limit)
        if run is not None:
            wanted = wanted.where(audit.c.run == run)
        if before is not None:
            wanted = wanted.where(audit.c.id < before)
        rows = await self._store.database.rows(wanted)
        return [AuditEntry(row.id, row.at, row.who, row.action, row.run, row.detail) for row in rows]
