"""Tokens and ended sessions in the database."""

import secrets
import time
from pathlib import Path
from typing import Any

from sqlalchemy import Column, Double, LargeBinary, Row, Table, delete, func, select

from pitstop.service.access import OWNER, TokenRecord, digest_of
from pitstop.service.private_files import make_private, replace_private
from pitstop.service.sealing import Seal
from pitstop.store.sql.columns import AnyText, Packed
from pitstop.store.sql.database import Database
from pitstop.store.sql.schema import metadata

SESSION_KEY = "session_key"
LOGGED_OUT = "logged_out:"  # and the session

tokens = Table(
    "tokens",
    metadata,
    Column("name", AnyText, primary_key=True),
    Column("role", AnyText, nullable=False),
    Column("hash", LargeBinary, nullable=False, unique=True),
    Column("created_at", Double, nullable=False),
    Column("last_used_at", Double),
    Column("scope", AnyText, nullable=False, server_default="all"),
    Column("repo", AnyText),
    Column("expires_at", Double),
)

settings = Table(
    "settings",
    metadata,
    Column("name", AnyText, primary_key=True),
    Column("value", Packed, nullable=False),
)


class StoredTokens:
    """A TokenStore. The token of the owner is in a private file, in clear text for programs of this user.

    The file is created with a new token if there is none. Those of others are in the database as digests.
    """

    def __init__(self, database: Database, seal: Seal, token_file: Path) -> None:
        self._database = database
        self._seal = seal
        self._token_file = token_file
        self._session_key: bytes | None = None
        make_private(token_file, _new_token())

    async def all(self) -> tuple[TokenRecord, ...]:
        digest = digest_of(self._token_file.read_text().strip())
        owner = TokenRecord(OWNER, "operator", digest, self._token_file.stat().st_mtime)
        rows = await self._database.rows(select(tokens).order_by(tokens.c.name))
        return (owner, *map(_to_record, rows))

    async def add(self, token: TokenRecord) -> None:
        row = {name: getattr(token, name) for name in ("name", "role", "scope", "repo", "expires_at")}
        hashed = {"hash": bytes.fromhex(token.digest)}
        await self._database.put(tokens, {**row, **hashed, "created_at": self._database.now})

    async def remove(self, name: str) -> None:
        """The token of the owner is replaced by a new one."""
        if name == OWNER:
            replace_private(self._token_file, _new_token())
        else:
            await self._database.delete(delete(tokens).where(tokens.c.name == name))

    async def session_key(self) -> bytes:
        """Sealed in the database, so that all servers on it accept each other's sessions."""
        if self._session_key is None:
            fresh = self._seal.close({SESSION_KEY: secrets.token_hex(32)}).decode()
            await self._database.put_new(settings, {"name": SESSION_KEY, "value": fresh})
            (row,) = await self._database.rows(select(settings.c.value).where(settings.c.name == SESSION_KEY))
            self._session_key = bytes.fromhex(self._seal.open(row.value.encode())[SESSION_KEY])
        return self._session_key

    async def log_out(self, session: str, until: float) -> None:
        for name, expires_at in await self._logged_out():
            if expires_at < time.time():
                await self._database.delete(delete(settings).where(settings.c.name == name))
        await self._database.put(settings, {"name": LOGGED_OUT + session, "value": until})

    async def logged_out(self) -> frozenset[str]:
        return frozenset(name.removeprefix(LOGGED_OUT) for name, _ in await self._logged_out())

    async def _logged_out(self) -> Any:
        is_session = func.substr(settings.c.name, 1, len(LOGGED_OUT)) == LOGGED_OUT  # LIKE ignores case on SQLite
        return await self._database.rows(select(settings.c.name, settings.c.value).where(is_session))


def _to_record(row: "Row[Any, *tuple[Any, ...]]") -> TokenRecord:
    return TokenRecord(row.name, row.role, row.hash.hex(), row.created_at, row.scope, row.repo, row.expires_at)


def _new_token() -> str:
    return secrets.token_urlsafe(32) + "\n"
