"""What a server keeps beside its runs: settings, sealed secrets, hashed tokens, what was done, what was answered."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import delete, func, select

from pitstop.store.port import SecretRecord
from pitstop.store.sql.database import Database
from pitstop.store.sql.schema import audit, flow_settings, idempotency, secrets, settings, tokens


@dataclass(frozen=True, slots=True)
class TokenRecord:
    """Whom a token lets in, and as what."""

    name: str
    role: str
    created_at: float
    last_used_at: float | None
    hash: bytes


@dataclass(frozen=True, slots=True)
class AuditEntry:
    """Who did what to a run, or to the server."""

    id: int
    at: float
    who: str
    run: str | None
    action: str
    detail: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Remembered:
    """The answer that a request with this key got."""

    request_hash: bytes
    response: bytes
    created_at: float


class Drawers:
    """The part of a store that is about the server itself. Times are the database's."""

    database: Database

    # Settings, of flows and of the server

    async def read_flow_setting(self, flow: str, name: str) -> Any:
        wanted = select(flow_settings.c.value).where(flow_settings.c.flow == flow, flow_settings.c.name == name)
        return await self._value(wanted)

    async def write_flow_setting(self, flow: str, name: str, value: Any) -> None:
        await self._put(flow_settings, {"flow": flow, "name": name, "value": value}, ("flow", "name"))

    async def read_setting(self, name: str) -> Any:
        return await self._value(select(settings.c.value).where(settings.c.name == name))

    async def write_setting(self, name: str, value: Any) -> None:
        await self._put(settings, {"name": name, "value": value}, ("name",))

    async def settle_setting(self, name: str, value: Any) -> Any:
        """Write it unless there is one already, whoever comes first; gives the one that is kept."""
        async with self.database.write() as connection:
            statement = self.database.insert(settings).values(name=name, value=value)
            await connection.execute(statement.on_conflict_do_nothing(index_elements=["name"]))
        return await self.read_setting(name)

    async def settings_under(self, prefix: str) -> dict[str, Any]:
        """Every setting whose name begins so, by the rest of its name."""
        begins_so = func.substr(settings.c.name, 1, len(prefix)) == prefix  # LIKE takes capitals for small letters
        wanted = select(settings.c.name, settings.c.value).where(begins_so)
        found = await self.database.ask(lambda connection: list(connection.execute(wanted)))
        return {name.removeprefix(prefix): value for name, value in found}

    async def delete_setting(self, name: str) -> bool:
        return await self._delete(delete(settings).where(settings.c.name == name))

    # Secrets

    async def put_secret(self, name: str, scope: str, sealed: bytes, repos: Sequence[str] = ()) -> None:
        row = {"scope": scope, "name": name, "sealed": sealed, "repos": list(repos), "created_at": self.database.now}
        await self._put(secrets, row, ("scope", "name"))

    async def secrets(self) -> tuple[SecretRecord, ...]:
        wanted = select(secrets).order_by(secrets.c.name, secrets.c.scope)
        rows = await self.database.ask(lambda connection: list(connection.execute(wanted)))
        return tuple(SecretRecord(row.name, row.scope, tuple(row.repos), row.created_at, row.sealed) for row in rows)

    async def delete_secret(self, name: str, scope: str) -> bool:
        return await self._delete(delete(secrets).where(secrets.c.scope == scope, secrets.c.name == name))

    # Tokens

    async def put_token(self, name: str, role: str, hash: bytes) -> None:
        row = {"name": name, "role": role, "hash": hash, "created_at": self.database.now, "last_used_at": None}
        await self._put(tokens, row, ("name",))

    async def tokens(self) -> tuple[TokenRecord, ...]:
        async with self.database.read() as connection:
            rows = await connection.execute(select(tokens).order_by(tokens.c.name))
            return tuple(TokenRecord(row.name, row.role, row.created_at, row.last_used_at, row.hash) for row in rows)

    async def delete_token(self, name: str) -> bool:
        return await self._delete(delete(tokens).where(tokens.c.name == name))

    # Who did what

    async def audit(
        self, run: str | None = None, *, before: int | None = None, limit: int = 100
    ) -> tuple[AuditEntry, ...]:
        """The newest first; those of one run, or all. `before` is the id of the last one of the page before."""
        wanted = select(audit).order_by(audit.c.id.desc()).limit(limit)
        if run is not None:
            wanted = wanted.where(audit.c.run == run)
        if before is not None:
            wanted = wanted.where(audit.c.id < before)
        async with self.database.read() as connection:
            rows = await connection.execute(wanted)
            return tuple(AuditEntry(row.id, row.at, row.who, row.run, row.action, row.detail) for row in rows)

    # What was answered

    async def remember(self, key: str, who: str, request_hash: bytes, response: bytes) -> None:
        """Keep an answer, in place of the one that is kept."""
        row = {"key": key, "who": who, "request_hash": request_hash, "response": response}
        await self._put(idempotency, {**row, "created_at": self.database.now}, ("key", "who"))

    async def reserve_answer(self, key: str, who: str, request_hash: bytes, response: bytes) -> None:
        """Keep an answer, unless there is one already."""
        row = {"key": key, "who": who, "request_hash": request_hash, "response": response}
        async with self.database.write() as connection:
            statement = self.database.insert(idempotency).values({**row, "created_at": self.database.now})
            await connection.execute(statement.on_conflict_do_nothing(index_elements=["key", "who"]))

    async def forget_answer(self, key: str, who: str) -> None:
        await self._delete(delete(idempotency).where(idempotency.c.key == key, idempotency.c.who == who))

    async def recall(self, key: str, who: str) -> Remembered | None:
        wanted = select(idempotency).where(idempotency.c.key == key, idempotency.c.who == who)
        async with self.database.read() as connection:
            row = (await connection.execute(wanted)).one_or_none()
        return None if row is None else Remembered(row.request_hash, row.response, row.created_at)

    async def _value(self, wanted: Any) -> Any:
        async with self.database.read() as connection:
            return (await connection.execute(wanted)).scalar_one_or_none()

    async def _put(self, table: Any, row: dict[str, Any], key: tuple[str, ...]) -> None:
        statement = self.database.insert(table).values(row)
        changed = {name: statement.excluded[name] for name in row if name not in key}
        async with self.database.write() as connection:
            await connection.execute(statement.on_conflict_do_update(index_elements=list(key), set_=changed))

    async def _delete(self, statement: Any) -> bool:
        async with self.database.write() as connection:
            return bool((await connection.execute(statement)).rowcount)
