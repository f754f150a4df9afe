"""Which server runs what: leases in the database's time, and epochs that shut out whoever has lost one."""

from collections.abc import Collection
from typing import Any

from sqlalchemy import Select, case, delete, func, or_, select, update

from pitstop.store.port import Claim, ServerRecord
from pitstop.store.sql.database import Database
from pitstop.store.sql.records import RECORD, to_record
from pitstop.store.sql.schema import runs, servers

_GOING_ON = ("pending", "running", "paused")


class Ownership:
    """The part of a store that several servers share their runs by."""

    database: Database

    async def register_server(self, server: str, address: str, home: str = "") -> None:
        now = self.database.now
        row = {"id": server, "address": address, "started_at": now, "seen_at": now, "home": home}
        await self.database.put(servers, row)

    async def forget_server(self, server: str) -> None:
        """A server that is gone holds nothing: its leases end with when it was last seen, and can be claimed."""
        async with self.database.write() as connection:
            seen_at, now = servers.c.seen_at, self.database.now
            left_at = select(case((seen_at < now, seen_at), else_=now)).where(servers.c.id == server)
            freed = update(runs).where(runs.c.owner == server, runs.c.status.in_(_GOING_ON))
            await connection.execute(freed.values(owner=None, lease_until=left_at.scalar_subquery()))
            await connection.execute(delete(servers).where(servers.c.id == server))

    async def servers(self) -> tuple[ServerRecord, ...]:
        return await self._read_servers(select(servers).order_by(servers.c.started_at, servers.c.id))

    async def owner_of(self, run: str) -> ServerRecord | None:
        is_held = (runs.c.id == run, runs.c.lease_until > self.database.now)
        found = await self._read_servers(select(servers).join(runs, runs.c.owner == servers.c.id).where(*is_held))
        return found[0] if found else None

    async def _read_servers(self, wanted: Select[Any]) -> tuple[ServerRecord, ...]:
        rows = await self.database.rows(wanted)
        return tuple(ServerRecord(row.id, row.address, row.started_at, row.seen_at, row.home or "") for row in rows)

    async def claim(self, server: str, lease_seconds: float, limit: int) -> list[Claim]:
        async with self.database.write() as connection:
            free = await connection.execute(self._free(limit))
            chosen: dict[str, float | None] = {run: left_at for run, left_at in free}  # noqa: C416 - rows are no pairs
            values = {"owner": server, "epoch": runs.c.epoch + 1, "lease_until": self.database.now + lease_seconds}
            taken = update(runs).where(runs.c.id.in_(list(chosen))).values(values).returning(*RECORD, runs.c.epoch)
            rows = (await connection.execute(taken)).all() if chosen else []
        claimed = {row.id: Claim(to_record(row), row.epoch, chosen[row.id]) for row in rows}
        return [claimed[run] for run in chosen if run in claimed]

    async def renew(self, server: str, held: Collection[str], lease_seconds: float) -> set[str]:
        async with self.database.write() as connection:
            await connection.execute(update(servers).where(servers.c.id == server).values(seen_at=self.database.now))
            ours = select(runs.c.id).where(runs.c.id.in_(list(held)), runs.c.owner == server).order_by(runs.c.id)
            found = set((await connection.execute(self.database.locked(ours))).scalars()) if held else set()
            if found:
                until = self.database.now + lease_seconds
                await connection.execute(update(runs).where(runs.c.id.in_(found)).values(lease_until=until))
        return found

    def _free(self, limit: int) -> Select[Any]:
        seen_at = select(servers.c.seen_at).where(servers.c.id == runs.c.owner).scalar_subquery()
        left_at = func.coalesce(seen_at, runs.c.lease_until)
        is_free = or_(runs.c.lease_until.is_(None), runs.c.lease_until <= self.database.now)
        free = select(runs.c.id, left_at).where(runs.c.status.in_(_GOING_ON), is_free)
        pending_last = case((runs.c.status == "pending", 1), else_=0)
        ordered = free.order_by(pending_last, runs.c.priority.desc(), runs.c.created_at, runs.c.id)
        return self.database.locked(ordered.limit(limit), skip_locked=True)
