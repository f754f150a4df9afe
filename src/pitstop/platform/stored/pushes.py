"""Refs, pushes and the flows at branch heads, in the database."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec
from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Connection,
    Double,
    Index,
    Integer,
    Row,
    Table,
    delete,
    insert,
    select,
    update,
)

from pitstop.errors import Mistake
from pitstop.platform.feed_values import PUSHED
from pitstop.platform.repo_values import FiringRecord, IndexedFlow, PushRecord
from pitstop.platform.stored.feed import add_news
from pitstop.platform.stored.firings import NewFiring, StoredFirings
from pitstop.store.sql.columns import AnyText, Packed
from pitstop.store.sql.database import Database, telling_problems
from pitstop.store.sql.schema import metadata

refs = Table(  # where each ref was when it was last looked at
    "refs",
    metadata,
    Column("repo", AnyText, primary_key=True),
    Column("name", AnyText, primary_key=True),
    Column("sha", AnyText, nullable=False),
    Column("updated_at", Double, nullable=False),
)

pushes = Table(
    "pushes",
    metadata,
    Column("id", BigInteger().with_variant(Integer(), "sqlite"), primary_key=True),
    Column("repo", AnyText, nullable=False),
    Column("ref", AnyText, nullable=False),
    Column("old", AnyText),
    Column("new", AnyText),
    Column("who", AnyText, nullable=False),
    Column("via", AnyText, nullable=False),
    Column("is_forced", Boolean, nullable=False),
    Column("subject", AnyText, nullable=False),
    Column("note", AnyText),
    Column("at", Double, nullable=False),
    Index("pushes_by_repo", "repo", "id"),
)

flow_index = Table(
    "flow_index",
    metadata,
    Column("repo", AnyText, primary_key=True),
    Column("ref", AnyText, primary_key=True),
    Column("path", AnyText, primary_key=True),
    Column("blob", AnyText, nullable=False),
    Column("name", AnyText, nullable=False),
    Column("title", AnyText, nullable=False),
    Column("triggers", Packed, nullable=False),
    Column("problems", Packed, nullable=False),
)


class SeenPush(msgspec.Struct, frozen=True, kw_only=True):
    """A move of a ref that was found, with all that is stored of it. `flows` is None where the index stays as it is."""

    repo: str
    ref: str
    old: str | None
    new: str | None
    who: str
    via: str
    is_forced: bool = False
    subject: str = ""
    note: str | None = None
    flows: tuple[IndexedFlow, ...] | None = None
    firings: tuple[NewFiring, ...] = ()


class StoredPushes:
    """The rows of refs, pushes and indexed flows."""

    def __init__(self, database: Database, firings: StoredFirings) -> None:
        self._database = database
        self._firings = firings

    async def known_refs(self, repo: str) -> dict[str, str]:
        """The commit that each ref was at when it was last looked at."""
        rows = await self._database.rows(select(refs.c.name, refs.c.sha).where(refs.c.repo == repo))
        return {row.name: row.sha for row in rows}

    async def store(self, seen: Iterable[SeenPush]) -> list[tuple[FiringRecord, ...]]:
        """Store moves of refs in one transaction, each with its firings: those that are new are returned.

        A move that another server has stored meanwhile is left out.
        """

        def work(connection: Connection) -> list[tuple[FiringRecord, ...]]:
            return [self._store_one(connection, each) for each in seen]

        with telling_problems():
            return await self._database.transact(work)

    def _store_one(self, connection: Connection, seen: SeenPush) -> tuple[FiringRecord, ...]:
        if not self._move_ref(connection, seen):
            return ()
        row = {name: getattr(seen, name) for name in _STORED} | {"at": self._database.now}
        number: int = connection.execute(insert(pushes).values(row).returning(pushes.c.id)).scalar_one()
        if seen.flows is not None:
            self._index(connection, seen.repo, seen.ref, seen.flows)
        body = {"push": number, "ref": seen.ref, "sha": seen.new, "who": seen.who, "via": seen.via}
        add_news(self._database, connection, f"repo:{seen.repo}", PUSHED, body)
        broken = [flow.name for flow in seen.flows or () if flow.problems]
        if broken:
            body = {"ref": seen.ref, "flows": broken}
            add_news(self._database, connection, f"repo:{seen.repo}", "flow.broken", body)
        return tuple([self._firings.add(connection, each, number) for each in seen.firings])

    def _move_ref(self, connection: Connection, seen: SeenPush) -> bool:
        """Compare and set what is known of the ref; False when it is not as the move found it."""
        is_it = (refs.c.repo == seen.repo, refs.c.name == seen.ref, refs.c.sha == seen.old)
        if seen.new is None:
            return connection.execute(delete(refs).where(*is_it)).rowcount > 0
        values = {"sha": seen.new, "updated_at": self._database.now}
        if seen.old is not None:
            return connection.execute(update(refs).where(*is_it).values(values)).rowcount > 0
        row = {"repo": seen.repo, "name": seen.ref, **values}
        first = self._database.insert(refs).values(row).on_conflict_do_nothing(index_elements=["repo", "name"])
        return connection.execute(first).rowcount > 0

    def _index(self, connection: Connection, repo: str, ref: str, flows: Sequence[IndexedFlow]) -> None:
        connection.execute(delete(flow_index).where(flow_index.c.repo == repo, flow_index.c.ref == ref))
        rows = [{"repo": repo, "ref": ref, **msgspec.to_builtins(flow)} for flow in flows]
        if rows:
            connection.execute(insert(flow_index), rows)

    async def flows_at(self, repo: str, ref: str) -> tuple[IndexedFlow, ...]:
        """The flows at the head of a branch, by name."""
        wanted = select(flow_index).where(flow_index.c.repo == repo, flow_index.c.ref == ref)
        return tuple(map(_to_flow, await self._database.rows(wanted.order_by(flow_index.c.name, flow_index.c.path))))

    async def counts(self, default_refs: Mapping[str, str]) -> dict[str, tuple[int, int]]:
        """How many flows each repository has at its default branch, and how many of these have problems."""
        counted: dict[str, tuple[int, int]] = {}
        rows = await self._database.rows(select(flow_index.c.repo, flow_index.c.ref, flow_index.c.problems))
        for row in rows:
            if default_refs.get(row.repo) == row.ref:
                flows, broken = counted.get(row.repo, (0, 0))
                counted[row.repo] = (flows + 1, broken + bool(row.problems))
        return counted

    async def newest(self, repo: str, *, before: int | None = None, limit: int = 50) -> tuple[PushRecord, ...]:
        wanted = select(pushes).where(pushes.c.repo == repo).order_by(pushes.c.id.desc()).limit(limit)
        if before is not None:
            wanted = wanted.where(pushes.c.id < before)
        return tuple(map(_to_push, await self._database.rows(wanted)))


_STORED = ("repo", "ref", "old", "new", "who", "via", "is_forced", "subject", "note")


def _to_push(row: "Row[Any, *tuple[Any, ...]]") -> PushRecord:
    return PushRecord(**{name: getattr(row, name) for name in PushRecord.__struct_fields__})


def _to_flow(row: "Row[Any, *tuple[Any, ...]]") -> IndexedFlow:
    fields = {name: getattr(row, name) for name in IndexedFlow.__struct_fields__}
    return IndexedFlow(**(fields | {"problems": tuple(Mistake(**each) for each in row.problems)}))
