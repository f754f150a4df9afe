"""The labels on everything that we make in an engine, by which it is found again, and what the dead have left."""

import os
import platform
import secrets

from pitstop.engine.executor import WorkspaceRef
from pitstop.executors.container_engine import ContainerEngine, EngineRefused
from pitstop.executors.process_table import start_of_process

RUN, WORKSPACE, OWNER = "pitstop.run", "pitstop.workspace", "pitstop.owner"


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
    """Remove the containers and networks whose owners died, and return their names."""
    wanted = {"filters": {"label": [OWNER]}}
    containers = [
        found["Names"][0].lstrip("/")
        for found in await engine.ask("GET", "/containers/json", {"all": True, **wanted})
        if is_dead(found["Labels"][OWNER]) and await remove_container(engine, found["Id"])
    ]
    networks = [
        found["Name"]
        for found in await engine.ask("GET", "/networks", wanted)
        if is_dead(found["Labels"][OWNER]) and await remove_network(engine, found["Id"])
    ]
    return containers + networks


async def remove_container(engine: ContainerEngine, name: str) -> bool:
    """Remove it with its anonymous volumes, running or not; False if it was not there, or somebody does it already."""
    return await _removed(engine, f"/containers/{name}", {"force": True, "v": True})


async def remove_network(engine: ContainerEngine, name: str) -> bool:
    return await _removed(engine, f"/networks/{name}", {})


async def _removed(engine: ContainerEngine, path: str, query: dict[str, object]) -> bool:
    try:
        await engine.ask("DELETE", path, query)
    except EngineRefused as error:
        if error.status in (404, 409):  # gone, or on its way
            return False
        raise
    return True
