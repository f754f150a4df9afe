"""The files of runs that have ended are kept for a while, and then they go; what is pinned stays."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from pitstop.app import open_server_service
from pitstop.engine.executor import Placement
from pitstop.executors.machine.snapshots.store import SnapshotStore
from pitstop.runs.collecting import is_done_with, remove_old_snapshots, remove_old_workspaces
from pitstop.runs.live_run import LiveRun
from pitstop.runs.server_runs import ServerOptions
from pitstop.service.caller import LOCAL
from pitstop.service.in_memory import MemorySecrets
from pitstop.service.local.server import ServerService
from pitstop.service.runs import DebugRequest, RerunRequest, RunInfo, RunRequest
from pitstop.service.sealing import read_seal
from pitstop.service.secrets import Secrets
from pitstop.settings import Settings
from pitstop.steps.workplace import fresh_workspace
from pitstop.store.sql.store import open_sql_store
from tests.executors.trees import size_of
from tests.moved_clock import MovedClock

KEEP_SECONDS = 3600.0
FLOW = "steps: [{id: a, run: echo one > file}, {id: b, run: echo two > file}]"


@asynccontextmanager
async def server(home: Path, clock: MovedClock) -> AsyncIterator[ServerService]:
    settings = Settings(home)
    settings.home.mkdir(exist_ok=True)
    store = await open_sql_store(settings.database)
    options = ServerOptions(keep_seconds=KEEP_SECONDS, drain_seconds=0.0)
    seal = read_seal(settings.key_file)
    secrets = Secrets(MemorySecrets(), seal)
    async with open_server_service(settings, store, seal, options, secrets, clock=clock) as service:
        yield service


async def debugged(service: ServerService) -> RunInfo:
    """A run that was debugged, has ended, and has given its workspace up."""
    run = await service.runs.start(LOCAL, RunRequest(flow="flow.yaml", text=FLOW, debug=DebugRequest()))
    assert isinstance(run, LiveRun)
    await run.wait()
    await run.is_gone.wait()
    return await run.info()


async def keep_workspace(service: ServerService, id: str) -> None:
    executor = service.owned._executor
    await executor.release(await executor.acquire(Placement(workspace=id)), keep=True)


async def collect(service: ServerService, home: Path, now: float) -> tuple[int, int]:
    async def is_done(run: str) -> bool:
        return await is_done_with(run, service.owned._store, home / "runs", now)

    snapshots = SnapshotStore(home / "snapshots")
    workspaces = await remove_old_workspaces(service.owned._executor, is_done)
    return workspaces, await remove_old_snapshots(snapshots, is_done, now)


async def test_the_files_of_a_run_are_kept_for_a_while_after_its_end(tmp_path: Path) -> None:
    clock = MovedClock()
    async with server(tmp_path, clock) as service:
        info = await debugged(service)
        assert info.kept_until == clock.now() + KEEP_SECONDS

        assert await collect(service, tmp_path, clock.now() + KEEP_SECONDS) == (0, 0)

        again = await service.runs.rerun(LOCAL, info.id, RerunRequest(from_step="b", debug=DebugRequest()))
        assert (await again.wait()).status == "passed"


async def test_then_they_go_unless_the_run_is_pinned(tmp_path: Path) -> None:
    clock = MovedClock()
    later = clock.now() + KEEP_SECONDS + 1
    async with server(tmp_path, clock) as service:
        done, pinned = await debugged(service), await debugged(service)
        await service.runs.pin(LOCAL, pinned.id)
        snapshots = SnapshotStore(tmp_path / "snapshots")

        for run in (done, pinned):
            await keep_workspace(service, fresh_workspace(run.id, "a step"))

        assert (await collect(service, tmp_path, later))[0] == 2

        assert sorted(await service.owned._executor.kept()) == [pinned.id, fresh_workspace(pinned.id, "a step")]
        assert await snapshots.owners() == {pinned.id}
        assert await snapshots.snapshots() != []
        await service.runs.pin(LOCAL, pinned.id, pinned=False)
        removed, freed = await collect(service, tmp_path, later)
        assert removed == 2
        assert freed > 0
        assert (await snapshots.snapshots(), size_of(snapshots)) == ([], 0)
        assert await service.owned._executor.kept() == []


async def test_what_a_run_without_a_server_has_kept_is_left_alone(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "file").write_text("kept")
    snapshots = SnapshotStore(tmp_path / "snapshots")
    await snapshots.take(folder, owner="20260101-000000-local")
    (tmp_path / "runs" / "20260101-000000-local").mkdir(parents=True)
    clock = MovedClock()
    async with server(tmp_path, clock) as service:
        await collect(service, tmp_path, clock.now() + KEEP_SECONDS + 1)
        assert await snapshots.owners() == {"20260101-000000-local"}
