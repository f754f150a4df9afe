"""Sealed secrets in the database."""

from collections.abc import Sequence

from sqlalchemy import Column, Double, LargeBinary, Table, delete, select

from pitstop.service.secret_scopes import SecretRecord
from pitstop.store.sql.columns import AnyText, Packed
from pitstop.store.sql.database import Database
from pitstop.store.sql.schema import metadata

secrets = Table(
    "secrets",
    metadata,
    Column("scope", AnyText, primary_key=True),
    Column("name", AnyText, primary_key=True),
    Column("sealed", LargeBinary, nullable=False),
    Column("repos", Packed, nullable=False),  # those whose runs may have it, where the scope is the server
    Column("created_at", Double, nullable=False),
)


class StoredSecrets:
    """A SecretStore."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def all(self) -> Sequence[SecretRecord]:
        rows = await self._database.rows(select(secrets).order_by(secrets.c.name, secrets.c.scope))
        return [SecretRecord(row.name, row.scope, tuple(row.repos), row.created_at, row.sealed) for row in rows]

    async def put(self, name: str, scope: str, sealed: bytes, repos: Sequence[str]) -> None:
        row = {"scope": scope, "name": name, "sealed": sealed, "repos": list(repos)}
        await self._database.put(secrets, {**row, "created_at": self._database.now})

    async def delete(self, name: str, scope: str) -> bool:
        is_it = (secrets.c.scope == scope, secrets.c.name == name)
        return bool(await self._database.delete(delete(secrets).where(*is_it)))
