"""Runs that a server cannot resume fail once, with the reason, and keep it from nothing else."""

import asyncio
import time
from typing import Any

import pytest
from sqlalchemy import insert

from pitstop.errors import StoreUnavailable
from pitstop.runs.live_run import LiveRun
from pitstop.runs.requests import kept_request
from pitstop.runs.run_maker import RunMaker
from pitstop.service.caller import LOCAL
from pitstop.service.local.server import ServerService
from pitstop.service.runs import RunQuery, RunRequest
from pitstop.settings import Settings
from pitstop.store.port import RunRecord
from pitstop.store.sql.schema import events
from pitstop.store.sql.store import open_sql_store
from tests.patience import wait_until
from tests.service.test_server import Server, server

__all__ = ["server"]

AXES = ", ".join(f"k{axis}: [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]" for axis in range(9))
NINE_AXES = f'steps:\n  - matrix: {{{AXES}}}\n    steps: [{{run: "true"}}]'
TOO_MANY = (
    "the matrix has 1,000,000,000 combinations, but at most 1,000 are allowed: "
    "use fewer values, or raise PITSTOP_MATRIX_LIMIT"
)


async def leave_run(settings: Settings, name: str, text: str, **fields: Any) -> None:
    """A run that a server was killed in, as an older version stored it."""
    settings.home.mkdir(exist_ok=True)
    store = await open_sql_store(settings.database)
    request = kept_request(RunRequest(flow="flow.yaml"))
    record = RunRecord(
        id=name,
        flow="flow",
        file="flow.yaml",
        created_at=time.time(),
        **{"request": request, "texts": {"flow.yaml": text}, "status": "running", **fields},
    )
    await store.create(record)
    await store.close()


async def damage_log(settings: Settings, run: str) -> None:
    store = await open_sql_store(settings.database)
    async with store.database.write() as connection:
        await connection.execute(
            insert(events).values(run=run, number=1, kind="run.started", at=1.0, body=b"\xc1 is no event")
        )
    await store.close()


async def ended_runs(service: ServerService, count: int) -> dict[str, str | None]:
    """Why runs have failed, None for those that passed, as soon as so many have ended."""

    async def ended() -> dict[str, str | None] | None:
        page = await service.runs.list(LOCAL, RunQuery(status=("failed", "passed")))
        return {run.id: run.error for run in page.runs} if len(page.runs) == count else None

    found: dict[str, str | None] = await wait_until(ended)
    return found


async def test_a_run_that_is_beyond_a_limit_of_this_version_fails_once(server: Server) -> None:
    await leave_run(server.settings, "old", NINE_AXES)
    for _ in range(2):
        async with server.open() as service:
            (reason,) = (await ended_runs(service, 1)).values()
            run = await service.runs.get(LOCAL, "old")
            ends = [event async for event in run.events() if event.kind == "run.ended"]

            assert reason is not None
            assert reason.startswith("cannot resume it: flow.yaml:2:13: " + TOO_MANY)
            assert len(ends) == 1


async def test_a_matrix_that_is_computed_fails_where_it_is_resumed(server: Server) -> None:
    computed = AXES.replace("[1, 2, 3, 4, 5, 6, 7, 8, 9, 10]", "'${{ [range(10)] }}'")
    await leave_run(server.settings, "old", f"steps: [{{matrix: {{{computed}}}, steps: [{{run: 'true'}}]}}]")
    async with server.open() as service:
        assert await ended_runs(service, 1) == {"old": f"LimitExceeded: {TOO_MANY}"}


async def test_what_is_wrong_with_one_run_is_not_that_of_the_others(server: Server) -> None:
    await leave_run(server.settings, "no-request", "steps: [{run: 'true'}]", request={"flow": 7})
    await leave_run(server.settings, "no-log", "steps: [{run: 'true'}]")
    await damage_log(server.settings, "no-log")
    await leave_run(server.settings, "good", "steps: [{run: 'true'}]")
    async with server.open() as service:
        reasons = await ended_runs(service, 3)

        assert reasons["good"] is None
        assert "cannot resume it: ValidationError" in str(reasons["no-request"])
        assert "cannot resume it: " in str(reasons["no-log"])


async def test_a_server_is_ready_while_it_resumes(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    recall, may_resume = RunMaker.recall, asyncio.Event()

    async def recall_later(self: RunMaker, *args: Any) -> Any:
        await may_resume.wait()
        return await recall(self, *args)

    await leave_run(server.settings, "old", "steps: [{run: 'true'}]")
    monkeypatch.setattr(RunMaker, "recall", recall_later)
    async with server.open() as service:
        assert service.owned.is_ready
        run = await service.runs.start(LOCAL, server.request("steps: [{run: 'true'}]"))
        assert (await run.wait()).status == "passed"
        await service.owned.renew_leases()  # of the run that is still to be resumed, too
        may_resume.set()

        assert len(await ended_runs(service, 2)) == 2


async def test_a_run_whose_end_cannot_be_stored_now_is_resumed_later(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def find_the_store_away(self: LiveRun, *args: Any) -> None:
        raise StoreUnavailable("away")

    with monkeypatch.context() as patched:
        patched.setattr(LiveRun, "_finish", find_the_store_away)
        async with server.open() as service:
            run = await service.runs.start(LOCAL, server.request("steps: [{run: 'true'}]"))
            with pytest.raises(StoreUnavailable):
                await run.wait()
    async with server.open() as service:
        assert await ended_runs(service, 1) == {run.id: None}


async def test_a_run_whose_end_cannot_be_made_fails_and_is_not_tried_again(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def explode(self: LiveRun, *args: Any) -> None:
        raise MemoryError("no more")

    monkeypatch.setattr(LiveRun, "_finish", explode)
    async with server.open() as service:
        await service.runs.start(LOCAL, server.request("steps: [{run: 'true'}]"))

        (reason,) = (await ended_runs(service, 1)).values()
        assert str(reason).startswith("cannot execute it: ")
        assert "MemoryError('no more')" in str(reason)
        assert await service.owned._store.claim("other", 1.0, 10) == []
