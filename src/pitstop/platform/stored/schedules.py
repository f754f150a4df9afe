"""Schedules of flows in the database: when each is due next."""

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct
from sqlalchemy import BigInteger, Column, Connection, Double, Index, Row, Table, and_, delete, select, update

from pitstop.platform.repo_values import FiringRecord
from pitstop.platform.stored.firings import NewFiring, StoredFirings
from pitstop.platform.stored.repos import repos
from pitstop.store.sql.columns import AnyText, Packed
from pitstop.store.sql.database import Database, telling_problems
from pitstop.store.sql.schema import metadata

schedules = Table(
    "schedules",
    metadata,
    Column("repo", AnyText, primary_key=True),
    Column("flow", AnyText, primary_key=True),
    Column("ordinal", BigInteger, primary_key=True, autoincrement=False),
    Column("spec", Packed, nullable=False),
    Column("next_at", Double),
    Column("last_at", Double),
    Index("schedules_by_time", "next_at"),
)


class ScheduleRecord(Struct, frozen=True, kw_only=True):
    """A schedule of a flow: `spec` is what the flow file says. `next_at` is None if it never fires again."""

    repo: str
    flow: str
    ordinal: int
    spec: Mapping[str, Any]
    next_at: float | None
    last_at: float | None = None


class StoredSchedules:
    """The rows of schedules."""

    def __init__(self, database: Database, firings: StoredFirings) -> None:
        self._database = database
        self._firings = firings

    async def of_repo(self, repo: str) -> tuple[ScheduleRecord, ...]:
        return tuple(map(_to_record, await self._database.rows(select(schedules).where(schedules.c.repo == repo))))

    async def replace(self, repo: str, wanted: Sequence[ScheduleRecord]) -> None:
        """Store what a repository has now. Those that stay the same are not touched."""
        known = {(each.flow, each.ordinal): each for each in await self.of_repo(repo)}
        kept = {(each.flow, each.ordinal): each for each in wanted}
        gone = [key for key in known if key not in kept]
        fresh = [each for key, each in kept.items() if key not in known or known[key].spec != each.spec]
        if not gone and not fresh:
            return

        def work(connection: Connection) -> None:
            for flow, ordinal in [*gone, *((each.flow, each.ordinal) for each in fresh)]:
                connection.execute(delete(schedules).where(_is(repo, flow, ordinal)))
            for each in fresh:
                row = {name: getattr(each, name) for name in ScheduleRecord.__struct_fields__}
                connection.execute(
                    self._database.insert(schedules).values(row | {"spec": dict(each.spec)}).on_conflict_do_nothing()
                )

        with telling_problems():
            await self._database.transact(work)

    async def due(self, home: str, now: float, limit: int) -> tuple[ScheduleRecord, ...]:
        """Those of the repositories in this home whose time has come, the longest due first."""
        of_home = select(schedules).join(repos, repos.c.id == schedules.c.repo)
        is_due = and_(schedules.c.next_at <= now, repos.c.home == home, repos.c.state == "ready")
        rows = await self._database.rows(of_home.where(is_due).order_by(schedules.c.next_at).limit(limit))
        return tuple(map(_to_record, rows))

    async def next_at(self, home: str) -> float | None:
        """When the next one is due."""
        of_home = select(schedules.c.next_at).join(repos, repos.c.id == schedules.c.repo).where(repos.c.home == home)
        rows = await self._database.rows(
            of_home.where(schedules.c.next_at.is_not(None)).order_by(schedules.c.next_at).limit(1)
        )
        return float(rows[0].next_at) if rows else None

    async def fire(
        self, schedule: ScheduleRecord, next_at: float | None, now: float, firings: Sequence[NewFiring]
    ) -> tuple[FiringRecord, ...]:
        """Move a schedule on with what it fires; nothing when another server has done so."""
        claimed = and_(_is(schedule.repo, schedule.flow, schedule.ordinal), schedules.c.next_at == schedule.next_at)

        def work(connection: Connection) -> tuple[FiringRecord, ...]:
            if not connection.execute(update(schedules).where(claimed).values(next_at=next_at, last_at=now)).rowcount:
                return ()
            return tuple([self._firings.add(connection, each) for each in firings])

        with telling_problems():
            return await self._database.transact(work)


def _is(repo: str, flow: str, ordinal: int) -> Any:
    return and_(schedules.c.repo == repo, schedules.c.flow == flow, schedules.c.ordinal == ordinal)


def _to_record(row: "Row[Any, *tuple[Any, ...]]") -> ScheduleRecord:
    return ScheduleRecord(**{name: getattr(row, name) for name in ScheduleRecord.__struct_fields__})
