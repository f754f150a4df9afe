"""An executor that is closed, or whose caller is cancelled, while something of it is under way."""

import asyncio
import threading
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from pitstop.engine.executor import Command, Placement, WorkspaceRef
from pitstop.errors import Unavailable, WorkspaceLost
from pitstop.executors.machine.containers.launcher import ContainerLauncher
from pitstop.executors.machine.placing import PlacingExecutor
from pitstop.executors.machine.processes.executor import ProcessExecutor
from pitstop.executors.machine.workspaces.held import Workspaces

DEAF = "trap '' TERM; echo up; while :; do sleep 0.1; done"

Executor = ProcessExecutor | PlacingExecutor


@pytest.fixture(params=["processes", "processes and containers"])
async def executor(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Executor]:
    processes = ProcessExecutor(tmp_path)
    executor = processes if request.param == "processes" else PlacingExecutor(processes, ContainerLauncher)
    yield executor
    await executor.close()


async def acquire_and_start(executor: Executor) -> WorkspaceRef:
    """A workspace with a command that takes a while to be ended."""
    workspace = await executor.acquire(Placement(workspace="mine"))
    command = await executor.start(workspace, Command(key="1", script=DEAF))
    async for _ in executor.logs(command):
        break
    return workspace


async def wait_left(executor: Executor, workspace: WorkspaceRef) -> None:
    """Until it is being released."""
    for key in range(2, 1_000_000):
        try:
            await executor.start(workspace, Command(key=str(key), argv=("true",)))
        except WorkspaceLost:
            return
        await asyncio.sleep(0)


async def test_who_closes_waits_for_a_release_and_what_that_keeps_is_kept(executor: Executor, tmp_path: Path) -> None:
    workspace = await acquire_and_start(executor)
    async with asyncio.TaskGroup() as group:
        group.create_task(executor.release(workspace, keep=True))
        await wait_left(executor, workspace)
        await executor.close()
        kept = await ProcessExecutor(tmp_path).kept()

    assert kept == ["mine"]


async def test_a_release_that_is_cancelled_can_be_repeated(executor: Executor, tmp_path: Path) -> None:
    workspace = await acquire_and_start(executor)
    async with asyncio.TaskGroup() as group:
        releasing = group.create_task(executor.release(workspace, keep=True))
        await wait_left(executor, workspace)
        releasing.cancel()

    await executor.release(workspace)

    assert releasing.cancelled()
    assert await executor.kept() == ["mine"]  # as it was to be
    assert (await executor.acquire(Placement(workspace="mine"))).id == "mine"


async def test_nobody_gets_a_workspace_of_an_executor_that_was_closed_meanwhile(
    executor: Executor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun, may_go_on, here = asyncio.Event(), threading.Event(), asyncio.get_running_loop()

    def clean_late(_workspaces: Workspaces) -> None:
        here.call_soon_threadsafe(begun.set)
        may_go_on.wait()

    monkeypatch.setattr(Workspaces, "_clean", clean_late)
    (tmp_path / "left.lock").touch()  # so there is something to clean
    async with asyncio.TaskGroup() as group:
        acquiring = group.create_task(refused(executor))
        await begun.wait()
        await executor.close()
        may_go_on.set()

    assert "closed" in acquiring.result()
    assert [path.name for path in files_in(tmp_path)] == ["left.lock"]


async def refused(executor: Executor) -> str:
    with pytest.raises(Unavailable) as refusal:
        await executor.acquire(Placement())
    return str(refusal.value)


def files_in(folder: Path) -> list[Path]:
    return list(folder.iterdir())
