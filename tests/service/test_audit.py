"""What the audit log keeps of each action, and every place where it is stored."""

import asyncio

import pytest

from pitstop.service import audit as audits
from pitstop.service.audit import Audit, AuditLog, Deed, detail_of
from pitstop.service.caller import Caller
from pitstop.service.in_memory import MemoryAudit
from pitstop.service.stored.audit import StoredAudit
from pitstop.store.sql.store import SqlStore
from tests.databases import postgres, postgres_url, sqlite_url
from tests.patience import PATIENCE_SECONDS, wait_until
from tests.service.stores import store

__all__ = ["postgres", "postgres_url", "sqlite_url", "store"]

ANN = Caller("ann", "operator")


class LockedAudit(MemoryAudit):
    """An audit that can keep nothing at first."""

    refusals = 2

    async def add(self, deed: Deed) -> None:
        if self.refusals:
            self.refusals -= 1
            raise OSError("the database is locked")
        await super().add(deed)


class SlowAudit(MemoryAudit):
    """An audit that keeps nothing before it is told to go on."""

    def __init__(self) -> None:
        super().__init__()
        self.asked = asyncio.Event()
        self.goes_on = asyncio.Event()

    async def add(self, deed: Deed) -> None:
        self.asked.set()
        await self.goes_on.wait()
        await super().add(deed)


async def actions(audit_log: AuditLog) -> list[str]:
    return [entry.action for entry in (await Audit(audit_log).page()).entries]


async def test_an_entry_is_stored_before_the_caller_is_answered() -> None:
    audit = MemoryAudit()
    trail = Audit(audit)
    async with trail.open():
        for action in ("one", "two", "three"):
            await trail.record(ANN, action, None)
            assert (await actions(audit))[0] == action


async def test_an_entry_that_cannot_be_stored_now_is_stored_later(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(audits, "RETRY_SECONDS", 0.01)
    monkeypatch.setattr(audits, "PATIENCE_SECONDS", PATIENCE_SECONDS)
    audit = LockedAudit()
    trail = Audit(audit)
    async with trail.open():
        await trail.record(ANN, "one", None)
        assert await actions(audit) == ["one"]


async def test_a_caller_does_not_wait_forever_for_an_entry(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(audits, "RETRY_SECONDS", 0.01)
    monkeypatch.setattr(audits, "PATIENCE_SECONDS", 0.05)
    audit = LockedAudit()
    audit.refusals = 1_000_000
    trail = Audit(audit)
    async with trail.open():
        await trail.record(ANN, "one", None)
        assert await actions(audit) == []
        audit.refusals = 0
        await wait_until(lambda: actions(audit))


async def test_an_entry_is_stored_even_if_the_client_disconnects() -> None:
    audit = SlowAudit()
    trail = Audit(audit)
    async with asyncio.TaskGroup() as group, trail.open():
        leaving = group.create_task(trail.record(ANN, "one", None))
        await audit.asked.wait()
        leaving.cancel()
        await asyncio.wait([leaving])
        audit.goes_on.set()
    assert await actions(audit) == ["one"]


async def test_an_entry_is_stored_even_if_an_error_ends_the_service(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(audits, "PATIENCE_SECONDS", 0.0)
    audit = SlowAudit()
    trail = Audit(audit)
    with pytest.raises(ZeroDivisionError):
        async with trail.open():
            await trail.record(ANN, "one", None)
            await audit.asked.wait()
            audit.goes_on.set()
            raise ZeroDivisionError
    assert await actions(audit) == ["one"]


@pytest.fixture
def audit_log(store: SqlStore | None) -> AuditLog:
    return MemoryAudit() if store is None else StoredAudit(store)


async def test_entries_are_listed_newest_first_and_in_pages(audit_log: AuditLog) -> None:
    for number in range(5):
        run = "run-1" if number % 2 else None
        await audit_log.add(Deed(float(number), "ann", "resume", run, {"stop": number, "path": "a\x00b"}))

    audit = Audit(audit_log)
    first = await audit.page(limit=3)
    rest = await audit.page(cursor=first.next)
    of_run = await audit.page(run="run-1", limit=2)

    assert [entry.detail["stop"] for entry in first.entries] == [4, 3, 2]
    assert [entry.detail["stop"] for entry in rest.entries] == [1, 0]
    assert rest.next is None
    assert [(entry.run, entry.at) for entry in of_run.entries] == [("run-1", 3.0), ("run-1", 1.0)]
    assert of_run.next is None
    entry = first.entries[0]
    assert (entry.who, entry.action, entry.detail) == ("ann", "resume", {"stop": 4, "path": "a\x00b"})


async def test_an_entry_has_the_names_of_a_request_and_none_of_its_values(audit_log: AuditLog) -> None:
    audit = Audit(audit_log)
    request = {
        "flow": "ci.yaml",
        "text": "steps: []",
        "secrets": {"KEY": "value"},
        "value": "hidden",
        "reason": "r" * 300,
    }
    async with audit.open():
        await audit.record(ANN, "start_run", "run-1", request, {"name": "ci"})

    (entry,) = (await audit.page()).entries
    assert (entry.who, entry.action, entry.run) == ("ann", "start_run", "run-1")
    assert entry.detail == {"name": "ci", "flow": "ci.yaml", "secrets": ["KEY"], "reason": "r" * 200}
    assert detail_of(["no", "object"]) == {}
