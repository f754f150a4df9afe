"""The feed in the database: what happens to repositories and runs, in the order in which pages are told of it."""

from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import BigInteger, Column, Connection, Double, Index, Integer, Table, delete, func, insert, or_, select

from pitstop.platform.cards.card_values import repo_of
from pitstop.platform.feed_values import PUSHED, REPOS, RUNS, TRIALS, News
from pitstop.store.port import ENDED
from pitstop.store.sql.columns import AnyText, Packed
from pitstop.store.sql.database import Database
from pitstop.store.sql.schema import metadata, runs

KEPT_SECONDS = 7 * 24 * 3600.0

feed = Table(
    "feed",
    metadata,
    Column("id", BigInteger().with_variant(Integer(), "sqlite"), primary_key=True),
    Column("at", Double, nullable=False),
    Column("topic", AnyText, nullable=False),
    Column("kind", AnyText, nullable=False),
    Column("body", Packed, nullable=False),
    Index("feed_by_topic", "topic", "id"),
    Index("feed_by_age", "at"),
)

_KINDS = {"pending": "run.created", "running": "run.started", "paused": "run.paused"}


def add_news(database: Database, connection: Connection, topic: str, kind: str, body: Mapping[str, Any]) -> None:
    """Add one within the transaction of what it tells of."""
    database.lock_feed(connection)
    row = {"at": database.now, "topic": topic, "kind": kind, "body": dict(body)}
    connection.execute(insert(feed).values(row))


def tell_statuses(database: Database, connection: Connection, changed: Mapping[str, str]) -> None:
    """Tell of runs whose status changes in this transaction, by their ids."""
    found = connection.execute(select(runs.c.id, runs.c.repo, runs.c.flow).where(runs.c.id.in_(changed))).all()
    now = float(connection.execute(select(database.now)).scalar_one())
    rows = [
        {
            "at": now,
            "topic": RUNS,
            "kind": "run.ended" if changed[row.id] in ENDED else _KINDS[changed[row.id]],
            "body": {"run": row.id, "status": changed[row.id], "repo": row.repo, "flow": row.flow},
        }
        for row in found
    ]
    if rows:
        database.lock_feed(connection)
        connection.execute(insert(feed), rows)


class StoredFeed:
    """The rows of the feed."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def last(self) -> int:
        """The number of the newest one; 0 when there is none."""
        return int((await self._database.rows(select(func.max(feed.c.id))))[0][0] or 0)

    async def page(self, topics: Sequence[str], after: int, limit: int = 500) -> tuple[News, ...]:
        """Those of some topics above a number. Of the runs of a repository, its own topic tells as well."""
        wanted = select(feed).where(feed.c.id > after).order_by(feed.c.id).limit(limit)
        of_cards = [f"repo:{repo_of(topic.removeprefix('card:'))}" for topic in topics if topic.startswith("card:")]
        asked = [feed.c.topic.in_([*topics, *of_cards]), feed.c.topic == RUNS]
        if REPOS in topics:
            asked += [feed.c.kind.startswith("repo."), feed.c.kind == PUSHED]
        if TRIALS in topics:
            asked += [feed.c.kind.startswith("trial.")]
        rows = await self._database.rows(wanted.where(or_(*asked)))
        found = (News(row.id, row.at, row.topic, row.kind, row.body) for row in rows)
        return tuple(found)

    async def forget_old(self) -> None:
        """The newest one stays: its number is not given again."""
        is_old = feed.c.at < self._database.now - KEPT_SECONDS
        newest = select(func.max(feed.c.id)).scalar_subquery()
        await self._database.delete(delete(feed).where(is_old, feed.c.id < newest))
