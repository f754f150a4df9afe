"""Webhooks and deliveries in the database."""

from collections.abc import Sequence
from typing import Any

from msgspec.structs import asdict
from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Connection,
    Double,
    Index,
    Integer,
    LargeBinary,
    Row,
    Table,
    delete,
    insert,
    select,
    update,
)

from pitstop.errors import Unknown, UnknownHook
from pitstop.platform.hook_values import DeliveryInfo, HookRecord, NewDelivery
from pitstop.platform.repo_info import firing_info
from pitstop.platform.repo_values import FiringRecord
from pitstop.platform.stored.feed import add_news
from pitstop.platform.stored.firings import NewFiring, StoredFirings
from pitstop.store.sql.columns import AnyText, Packed
from pitstop.store.sql.database import Database, telling_problems
from pitstop.store.sql.schema import metadata

MOST_DELIVERIES = 50  # of a webhook

hooks = Table(
    "hooks",
    metadata,
    Column("id", AnyText, primary_key=True),
    Column("repo", AnyText, nullable=False),
    Column("flow", AnyText),
    Column("provider", AnyText, nullable=False),
    Column("sealed_secret", LargeBinary, nullable=False),
    Column("enabled", Boolean, nullable=False),
    Column("created_at", Double, nullable=False),
    Column("last_at", Double),
    Index("hooks_by_repo", "repo"),
)

deliveries = Table(
    "deliveries",
    metadata,
    Column("id", BigInteger().with_variant(Integer(), "sqlite"), primary_key=True),
    Column("hook", AnyText, nullable=False),
    Column("repo", AnyText, nullable=False),
    Column("event", AnyText, nullable=False),
    Column("delivery", AnyText, nullable=False),
    Column("status", BigInteger, nullable=False),
    Column("reason", AnyText),
    Column("headers", Packed, nullable=False),
    Column("body", LargeBinary),
    Column("firings", Packed),  # their numbers
    Column("size", BigInteger, nullable=False),
    Column("at", Double, nullable=False),
    Index("deliveries_by_hook", "hook", "id"),
)


class StoredHooks:
    """The rows of webhooks."""

    def __init__(self, database: Database, firings: StoredFirings) -> None:
        self._database = database
        self._firings = firings

    async def add(self, hook: HookRecord) -> None:
        await self._database.put(hooks, asdict(hook))

    async def get(self, hook: str) -> HookRecord:
        """UnknownHook."""
        rows = await self._database.rows(select(hooks).where(hooks.c.id == hook))
        if not rows:
            raise UnknownHook(hook)
        return _to_hook(rows[0])

    async def of_repo(self, repo: str) -> tuple[HookRecord, ...]:
        wanted = select(hooks).where(hooks.c.repo == repo).order_by(hooks.c.created_at, hooks.c.id)
        return tuple(map(_to_hook, await self._database.rows(wanted)))

    async def set_enabled(self, hook: str, enabled: bool) -> None:
        async with self._database.write() as connection:
            await connection.execute(update(hooks).where(hooks.c.id == hook).values(enabled=enabled))

    async def remove(self, hook: str) -> None:
        await self._database.delete(delete(deliveries).where(deliveries.c.hook == hook))
        await self._database.delete(delete(hooks).where(hooks.c.id == hook))

    async def store(self, delivery: NewDelivery, firings: Sequence[NewFiring]) -> tuple[FiringRecord, ...]:
        """Store a delivery with all that follows from it, and forget the oldest ones of its webhook."""

        def work(connection: Connection) -> tuple[FiringRecord, ...]:
            fired = tuple([self._firings.add(connection, each) for each in firings])
            row = asdict(delivery) | {"at": self._database.now, "firings": [each.id for each in fired]}
            connection.execute(insert(deliveries).values(row))
            is_hook = hooks.c.id == delivery.hook
            connection.execute(update(hooks).where(is_hook).values(last_at=self._database.now))
            of_hook = deliveries.c.hook == delivery.hook
            oldest = select(deliveries.c.id).where(of_hook).order_by(deliveries.c.id.desc()).offset(MOST_DELIVERIES)
            connection.execute(delete(deliveries).where(of_hook, deliveries.c.id.in_(oldest.scalar_subquery())))
            body = {"hook": delivery.hook, "event": delivery.event, "status": delivery.status}
            add_news(self._database, connection, f"repo:{delivery.repo}", "hook.delivered", body)
            return fired

        with telling_problems():
            return await self._database.transact(work)

    async def newest(self, hook: str) -> tuple[DeliveryInfo, ...]:
        """The deliveries of a webhook with what each started, the newest first."""
        named = (deliveries.c[name] for name in (*_SHOWN, "firings"))
        wanted = select(*named, deliveries.c.body.is_not(None).label("can_repeat")).where(deliveries.c.hook == hook)
        rows = await self._database.rows(wanted.order_by(deliveries.c.id.desc()))
        numbers = [number for row in rows for number in row.firings or ()]
        known = {each.id: firing_info(each) for each in await self._firings.numbered(numbers)}
        return tuple(
            DeliveryInfo(
                **{name: getattr(row, name) for name in _SHOWN},
                can_repeat=bool(row.can_repeat),
                firings=tuple(known[number] for number in row.firings or () if number in known),
            )
            for row in rows
        )

    async def delivered(self, hook: str, delivery: int) -> NewDelivery:
        """One delivery with its body; Unknown."""
        rows = await self._database.rows(
            select(deliveries).where(deliveries.c.id == delivery, deliveries.c.hook == hook)
        )
        if not rows:
            raise Unknown("delivery", str(delivery))
        return NewDelivery(**{name: getattr(rows[0], name) for name in NewDelivery.__struct_fields__})


_SHOWN = tuple(name for name in DeliveryInfo.__struct_fields__ if name not in ("can_repeat", "firings"))


def _to_hook(row: "Row[Any, *tuple[Any, ...]]") -> HookRecord:
    return HookRecord(**{name: getattr(row, name) for name in HookRecord.__struct_fields__})
