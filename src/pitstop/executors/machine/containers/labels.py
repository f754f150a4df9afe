"""The labels on everything that we make in an engine, by which it is found again, and what the dead have left."""

import asyncio
import os
import platform
import secrets
import time
from contextlib import suppress

from pitstop.engine.executor import WorkspaceRef
from pitstop.executors.machine.containers.engine import NOT_THERE, ContainerEngine, EngineRefused
from pitstop.executors.machine.process_table import start_of_process

RUN, WORKSPACE, OWNER = "pitstop.run", "pitstop.workspace", "pitstop.owner"
ON_ITS_WAY = 409  # what an engine answers when somebody else removes it at this moment
OTHERS_SECONDS = 30.0
LOOK_SECONDS = 0.05


def labels_of(owner: str, workspace: WorkspaceRef, key: str = "") -> dict[str, str]:
    """`key` is an execution key, which begins with the run."""
    return {RUN: key.partition(":")[0], WORKSPACE: workspace.id, OWNER: owner}


def new_owner() -> str:
    """Host, id and start of this process, by which anybody can tell whether it still lives; and who of it it is."""
    pid = os.getpid()
    return f"{platform.node()}:{pid}:{start_of_process(pid)}:{secrets.token_hex(4)}"


def is_dead(owner: str) -> bool:
    """Whether the owner has died. One on another host cannot be judged from here."""
    host, pid, started, *_ = [*owner.split(":"), "", ""]
    return host == platform.node() and pid.isdigit() and str(start_of_process(int(pid))) != started


async def remove_all_in(engine: ContainerEngine, workspace: str) -> None:
    """Remove whatever there is of a workspace, whoever made it."""
    wanted = {"filters": {"label": [f"{WORKSPACE}={workspace}"]}}
    for found in await engine.ask("GET", "/containers/json", {"all": True, **wanted}):
        await remove_container(engine, found["Id"])
    for found in await engine.ask("GET", "/networks", wanted):
        await remove_network(engine, found["Id"])


async def remove_orphans(engine: ContainerEngine) -> None:
    """Remove the containers and networks whose owners died.

    One that the engine does not remove is left for another time: it holds up nobody.
    """
    wanted = {"filters": {"label": [OWNER]}}
    for found in await engine.ask("GET", "/containers/json", {"all": True, **wanted}):
        with suppress(EngineRefused):
            if is_dead(found["Labels"][OWNER]):
                await remove_container(engine, found["Id"])
    for found in await engine.ask("GET", "/networks", wanted):
        with suppress(EngineRefused):
            if is_dead(found["Labels"][OWNER]):
                await remove_network(engine, found["Id"])


async def remove_container(engine: ContainerEngine, name: str) -> None:
    """Remove it with its anonymous volumes, running or not, if it is there.

    Another program that removes it is waited for: as long as it is there, so is the network that it is on.
    """
    give_up_at = time.monotonic() + OTHERS_SECONDS
    while True:
        try:
            return await _remove(engine, f"/containers/{name}", {"force": True, "v": True})
        except EngineRefused as error:
            if error.status != ON_ITS_WAY:
                raise
        if time.monotonic() > give_up_at:
            return None
        await asyncio.sleep(LOOK_SECONDS)


async def remove_network(engine: ContainerEngine, name: str) -> None:
    """Remove it, if it is there."""
    await _remove(engine, f"/networks/{name}", {})


async def _remove(engine: ContainerEngine, path: str, query: dict[str, object]) -> None:
    try:
        await engine.ask("DELETE", path, query)
    except EngineRefused as error:
        if error.status != NOT_THERE:
            raise
