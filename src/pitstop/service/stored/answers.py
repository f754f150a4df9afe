"""Answers to requests with an idempotency key, in the database."""

from typing import Any

import msgspec
from sqlalchemy import Column, Double, Index, LargeBinary, Table, delete, select

from pitstop.service.idempotency import REMEMBERED_SECONDS, Answer
from pitstop.store.sql.columns import AnyText
from pitstop.store.sql.database import Database
from pitstop.store.sql.schema import metadata

idempotency = Table(
    "idempotency",
    metadata,
    Column("key", AnyText, primary_key=True),
    Column("who", AnyText, primary_key=True),  # empty: the key begins with the name of the caller
    Column("request_hash", LargeBinary, nullable=False),
    Column("response", LargeBinary, nullable=False),
    Column("created_at", Double, nullable=False),
    Index("idempotency_by_age", "created_at"),
)


class StoredAnswers:
    """Answers that outlive the server."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def recall(self, key: str) -> Answer | None:
        rows = await self._database.rows(select(idempotency.c.response).where(*_has(key)))
        return msgspec.msgpack.decode(rows[0].response, type=Answer) if rows else None

    async def reserve(self, key: str, answer: Answer) -> Answer:
        await self._database.put_new(idempotency, self._row(key, answer))
        return await self.recall(key) or answer

    async def remember(self, key: str, answer: Answer) -> None:
        await self._database.put(idempotency, self._row(key, answer))

    async def forget(self, key: str) -> None:
        await self._database.delete(delete(idempotency).where(*_has(key)))

    async def forget_old(self) -> int:
        """Delete what no client will ask for again; the number of answers."""
        is_old = idempotency.c.created_at < self._database.now - REMEMBERED_SECONDS
        return await self._database.delete(delete(idempotency).where(is_old))

    def _row(self, key: str, answer: Answer) -> dict[str, Any]:
        response = msgspec.msgpack.encode(answer)
        row = {"key": key, "who": "", "request_hash": answer.request.encode(), "response": response}
        return {**row, "created_at": self._database.now}


def _has(key: str) -> Any:
    return idempotency.c.key == key, idempotency.c.who == ""
