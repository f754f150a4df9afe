import asyncio
from collections.abc import Sequence
from pathlib import Path

import pytest

from pitstop.doors.http.gate import trail as trails
from pitstop.doors.http.gate.access import Identity
from pitstop.doors.http.gate.memory import MemoryAudit
from pitstop.doors.http.gate.ports import Deed
from pitstop.doors.http.gate.trail import Trail
from pitstop.serving.keeping import StoredAudit
from pitstop.store.sql.store import open_sql_store
from tests.patience import PATIENCE_SECONDS, wait_until

ANN = Identity("ann", "operator")


class LockedAudit(MemoryAudit):
    """An audit that can keep nothing at first."""

    refusals = 2

    async def record(self, deeds: Sequence[Deed]) -> None:
        if self.refusals:
            self.refusals -= 1
            raise OSError("the database is locked")
        await super().record(deeds)


class SlowAudit(MemoryAudit):
    """An audit that keeps nothing before it is told to go on."""

    def __init__(self) -> None:
        super().__init__()
        self.asked = asyncio.Event()
        self.goes_on = asyncio.Event()

    async def record(self, deeds: Sequence[Deed]) -> None:
        self.asked.set()
        await self.goes_on.wait()
        await super().record(deeds)


async def actions(audit: MemoryAudit | StoredAudit) -> list[str]:
    return [entry.action for entry in (await audit.page()).entries]


async def test_who_is_answered_has_left_a_trail() -> None:
    audit = MemoryAudit()
    trail = Trail(audit)
    async with trail.open():
        for action in ("one", "two", "three"):
            await trail.tell(ANN, action, None, {})
            assert (await actions(audit))[0] == action


async def test_what_cannot_be_kept_now_is_kept_later(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trails, "RETRY_SECONDS", 0.01)
    monkeypatch.setattr(trails, "PATIENCE_SECONDS", PATIENCE_SECONDS)
    audit = LockedAudit()
    trail = Trail(audit)
    async with trail.open():
        await trail.tell(ANN, "one", None, {})
        assert await actions(audit) == ["one"]


async def test_nobody_waits_for_ever_for_what_cannot_be_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trails, "RETRY_SECONDS", 0.01)
    monkeypatch.setattr(trails, "PATIENCE_SECONDS", 0.05)
    audit = LockedAudit()
    audit.refusals = 1_000_000
    trail = Trail(audit)
    async with trail.open():
        await trail.tell(ANN, "one", None, {})
        assert await actions(audit) == []
        audit.refusals = 0
        await wait_until(lambda: actions(audit))


async def test_a_client_that_leaves_leaves_its_trail() -> None:
    audit = SlowAudit()
    trail = Trail(audit)
    async with asyncio.TaskGroup() as group, trail.open():
        leaving = group.create_task(trail.tell(ANN, "one", None, {}))
        await audit.asked.wait()
        leaving.cancel()
        await asyncio.wait([leaving])
        audit.goes_on.set()
    assert await actions(audit) == ["one"]


async def test_deeds_are_found_in_the_database_again(tmp_path: Path) -> None:
    store = await open_sql_store(f"sqlite:///{tmp_path / 'pitstop.db'}")
    try:
        audit = StoredAudit(store)
        await audit.record(
            [Deed(1.5, "ann", "start_run", "r1", {"flow": "ci"}), Deed(2.5, "bob", "put_secret", None, {})]
        )
        page = await audit.page(limit=1)
        rest = await audit.page(cursor=page.next)
        of_run = await audit.page(run="r1")
    finally:
        await store.close()

    assert [(entry.at, entry.who, entry.action) for entry in page.entries] == [(2.5, "bob", "put_secret")]
    assert [(entry.at, entry.run, entry.detail) for entry in rest.entries] == [(1.5, "r1", {"flow": "ci"})]
    assert [entry.who for entry in of_run.entries] == ["ann"]
