"""Firings in the database, and the keys by which an event starts a flow once."""

from collections.abc import Sequence
from typing import Any

from msgspec import Struct
from msgspec.structs import asdict
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
    and_,
    delete,
    false,
    insert,
    select,
    text,
    update,
)

from pitstop.platform.lives import FiringOutcome, outcomes_before
from pitstop.platform.repo_values import FiringRecord
from pitstop.platform.stored.feed import add_news
from pitstop.platform.stored.repos import repos
from pitstop.store.sql.columns import AnyText, Name, Packed
from pitstop.store.sql.database import Database, telling_problems
from pitstop.store.sql.schema import metadata

WINDOW_SECONDS = 3600.0  # in which the same event starts a flow once
MOST_KEPT = 10_000  # firings of a repository

_PENDING = text("outcome = 'pending'")
_OPEN = text("is_open")

firings = Table(
    "firings",
    metadata,
    Column("id", BigInteger().with_variant(Integer(), "sqlite"), primary_key=True),
    Column("repo", AnyText, nullable=False),
    Column("flow", AnyText, nullable=False),
    Column("kind", AnyText, nullable=False),
    Column("ref", AnyText),
    Column("sha", AnyText),
    Column("subject", Packed, nullable=False),
    Column("outcome", AnyText, nullable=False),
    Column("reason", AnyText),
    Column("run", AnyText),
    Column("push", BigInteger),
    Column("depth", BigInteger, nullable=False),
    Column("who", AnyText, nullable=False),
    Column("at", Double, nullable=False),
    Column("card", AnyText),
    Column("is_open", Boolean, nullable=False, server_default=false()),
    Index("firings_by_repo", "repo", "id"),
    Index("firings_by_push", "push"),
    Index("firings_by_run", "run"),
    Index("firings_by_card", "card", "id"),
    Index("firings_pending", "id", sqlite_where=_PENDING, postgresql_where=_PENDING),
    Index("firings_open", "id", sqlite_where=_OPEN, postgresql_where=_OPEN),
)

firing_keys = Table(
    "firing_keys",
    metadata,
    Column("key", Name, primary_key=True),
    Column("repo", AnyText, nullable=False),
    Column("firing", BigInteger, nullable=False),
    Column("at", Double, nullable=False),
)


class NewFiring(Struct, frozen=True, kw_only=True):
    """A firing that is to be stored. One that is pending starts the run with the id `run`, unless `key` is taken.

    One of a `card` is open until what follows from the end of its run is stored.
    """

    repo: str
    flow: str
    kind: str
    outcome: FiringOutcome
    who: str
    subject: dict[str, Any]
    key: str | None = None
    ref: str | None = None
    sha: str | None = None
    reason: str | None = None
    run: str | None = None
    depth: int = 0
    card: str | None = None


class StoredFirings:
    """The rows of firings."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def add(self, connection: Connection, firing: NewFiring, push: int | None = None) -> FiringRecord:
        """Store it within a transaction: as a duplicate if the same event has started the flow already."""
        row = {name: value for name, value in asdict(firing).items() if name != "key"}
        is_open = firing.card is not None and firing.outcome == "pending"
        row |= {"push": push, "at": self._database.now, "is_open": is_open}
        stored = insert(firings).values(row).returning(firings.c.id, firings.c.at)
        number, at = connection.execute(stored).one()
        if firing.outcome == "pending" and firing.key is not None and not self._claim(connection, firing, number):
            first = connection.execute(select(firing_keys.c.firing).where(firing_keys.c.key == firing.key)).scalar()
            reason = f"the same event was handled before (firing {first})"
            changes = {"outcome": "duplicate", "run": None, "reason": reason, "is_open": False}
            row |= changes
            connection.execute(update(firings).where(firings.c.id == number).values(changes))
        body = {"firing": number, "flow": firing.flow, "outcome": row["outcome"], "run": row["run"]}
        add_news(self._database, connection, f"repo:{firing.repo}", "firing.decided", body)
        del row["is_open"]
        return FiringRecord(**(row | {"id": number, "at": at}))

    async def add_one(self, firing: NewFiring, push: int | None = None) -> FiringRecord:
        """Store it in a transaction of its own."""
        with telling_problems():
            return await self._database.transact(lambda connection: self.add(connection, firing, push))

    def _claim(self, connection: Connection, firing: NewFiring, number: int) -> bool:
        """Take the key, unless another firing took it within the window."""
        now = self._database.now
        row = {"key": firing.key, "repo": firing.repo, "firing": number, "at": now}
        statement = self._database.insert(firing_keys).values(row)
        is_old = firing_keys.c.at < now - WINDOW_SECONDS
        claimed = statement.on_conflict_do_update(
            index_elements=["key"], set_={"firing": number, "at": now}, where=is_old
        )
        return connection.execute(claimed).rowcount > 0

    async def pending(self, home: str, limit: int) -> tuple[FiringRecord, ...]:
        """Those of the repositories in this home that have not been started, the oldest first."""
        of_home = select(firings).join(repos, repos.c.id == firings.c.repo)
        wanted = of_home.where(firings.c.outcome == "pending", repos.c.home == home, repos.c.state == "ready")
        return tuple(map(to_firing, await self._database.rows(wanted.order_by(firings.c.id).limit(limit))))

    async def settle(self, firing: FiringRecord, outcome: FiringOutcome, reason: str | None = None) -> bool:
        """Store what became of a pending one; False when that is stored already."""
        is_it = (firings.c.id == firing.id, firings.c.outcome.in_(outcomes_before(outcome)))
        run = firing.run if outcome == "started" else None
        settled = update(firings).where(*is_it).values(outcome=outcome, reason=reason or firing.reason, run=run)
        body = {"firing": firing.id, "flow": firing.flow, "outcome": outcome, "run": run}

        def work(connection: Connection) -> bool:
            is_changed = connection.execute(settled).rowcount > 0
            if is_changed:
                add_news(self._database, connection, f"repo:{firing.repo}", "firing.decided", body)
            return is_changed

        with telling_problems():
            return await self._database.transact(work)

    async def get(self, firing: int) -> FiringRecord | None:
        rows = await self._database.rows(select(firings).where(firings.c.id == firing))
        return to_firing(rows[0]) if rows else None

    async def of_run(self, run: str) -> FiringRecord | None:
        """The firing that started a run; None for a run that was started otherwise."""
        rows = await self._database.rows(select(firings).where(firings.c.run == run).limit(1))
        return to_firing(rows[0]) if rows else None

    async def numbered(self, numbers: Sequence[int]) -> tuple[FiringRecord, ...]:
        """The firings with these ids, as far as they are still stored."""
        return tuple(map(to_firing, await self._database.rows(select(firings).where(firings.c.id.in_(numbers)))))

    async def of_pushes(self, pushes: Sequence[int]) -> tuple[FiringRecord, ...]:
        wanted = select(firings).where(firings.c.push.in_(pushes)).order_by(firings.c.id)
        return tuple(map(to_firing, await self._database.rows(wanted)))

    async def newest(
        self, repo: str, *, flow: str | None = None, before: int | None = None, limit: int = 50
    ) -> tuple[FiringRecord, ...]:
        wanted = select(firings).where(firings.c.repo == repo).order_by(firings.c.id.desc()).limit(limit)
        if flow is not None:
            wanted = wanted.where(firings.c.flow == flow)
        if before is not None:
            wanted = wanted.where(firings.c.id < before)
        return tuple(map(to_firing, await self._database.rows(wanted)))

    async def forget_old(self, repo: str) -> None:
        """Keep the newest of a repository, and the keys of the last hour."""
        nth = select(firings.c.id).where(firings.c.repo == repo).order_by(firings.c.id.desc()).offset(MOST_KEPT)
        is_old = firings.c.id <= nth.limit(1).scalar_subquery()
        is_decided = and_(firings.c.outcome != "pending", ~firings.c.is_open)
        await self._database.delete(delete(firings).where(firings.c.repo == repo, is_old, is_decided))
        await self._database.delete(
            delete(firing_keys).where(firing_keys.c.at < self._database.now - 2 * WINDOW_SECONDS)
        )


def to_firing(row: "Row[Any, *tuple[Any, ...]]") -> FiringRecord:
    return FiringRecord(**{name: getattr(row, name) for name in FiringRecord.__struct_fields__})
