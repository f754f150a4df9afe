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


async def remove_orphans(engine: ContainerEngine) -> list[str]:
    """Remove the containers and networks whose owners died, and return their names.

    One that the engine does not remove is left for another time: it holds up nobody.
    """
    wanted = {"filters": {"label": [OWNER]}}
    removed = []
    for found in await engine.ask("GET", "/containers/json", {"all": True, **wanted}):
        with suppress(EngineRefused):
            if is_dead(found["Labels"][OWNER]) and await remove_container(engine, found["Id"]):
                removed.append(found["Names"][0].lstrip("/"))
    for found in await engine.ask("GET", "/networks", wanted):
        with suppress(EngineRefused):
            if is_dead(found["Labels"][OWNER]) and await remove_network(engine, found["Id"]):
                removed.append(found["Name"])
    return removed


async def remove_container(engine: ContainerEngine, name: str) -> bool:
    """Remove it with its anonymous volumes, running or not; False if it was not there, or somebody else removes it.

    He is waited for: as long as it is there, so is the network that it is on.
    """
    give_up_at = time.monotonic() + OTHERS_SECONDS
    while True:
        try:
            return await _removed(engine, f"/containers/{name}", {"force": True, "v": True})
        except EngineRefused as error:
            if error.status != ON_ITS_WAY:
                raise
        if time.monotonic() > give_up_at:
            return False
        await asyncio.sleep(LOOK_SECONDS)


async def remove_network(engine: ContainerEngine, name: str) -> bool:
    """Remove it; False if it was not there."""
    return await _removed(engine, f"/networks/{name}", {})


async def _removed(engine: ContainerEngine, path: str, query: dict[str, object]) -> bool:
    try:
        await engine.ask("DELETE", path, query)
    except EngineRefused as error:
        if error.status == NOT_THERE:
            return False
        raise
    return True
