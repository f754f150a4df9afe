"""Giving the files that a container wrote as another user to the owner of the workspace, who could not remove them."""

import asyncio
import secrets
from collections.abc import Iterable, Mapping
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

from pitstop.engine.executor import WorkspaceRef
from pitstop.executors.machine.containers.config import mounts_of, owner_of
from pitstop.executors.machine.containers.engine import ContainerEngine, EngineInfo, EngineRefused, ask_exit
from pitstop.executors.machine.containers.labels import remove_container
from pitstop.trees import entries_in

# An image may have no `chown`, so this machine's own programs are laid over what it has
PROGRAMS = ("/usr", "/bin", "/lib", "/lib64")


def has_others_files(folders: Iterable[str], owner: int) -> bool:
    """Whether somebody else owns a file there, or a folder that cannot be looked into."""
    for folder in folders:
        refused: list[OSError] = []
        for entry in entries_in(folder, refused):
            try:
                if entry.stat(follow_symlinks=False).st_uid != owner:
                    return True
            except OSError:
                return True
        if refused:
            return True
    return False


async def any_image(engine: ContainerEngine) -> str:
    """The id of some image; nothing of it is needed but that it is there."""
    images = await engine.ask("GET", "/images/json")
    return str(images[0]["Id"]) if images else ""


async def keep_owner(
    engine: ContainerEngine,
    info: EngineInfo,
    workspace: WorkspaceRef,
    image: str,
    labels: Mapping[str, str],
    *,
    since: float | None = None,
) -> str:
    """Give the workspace's owner what changed since then. Returns what went wrong, which is nothing if all is well.

    Without `since` it is everything in the folders that were made for the workspace, which the user's own was not. Root
    can do with everybody's files as he likes, so nothing is done for him.
    """
    owner = owner_of(workspace)
    folders = [mount["Source"] for mount in mounts_of(workspace)]
    if since is None:
        folders = [folder for folder in folders if Path(folder).parent == Path(workspace.home).parent]
    if owner.st_uid == 0 or not await asyncio.to_thread(has_others_files, folders, owner.st_uid):
        return ""
    name = f"pitstop-{workspace.id}-owner-{secrets.token_hex(4)}"
    try:
        config = _config(workspace, image, labels, info, folders, (owner.st_uid, owner.st_gid), since or 0.0)
        await engine.make("/containers/create", {"name": name}, config)
        async with AsyncExitStack() as stack:
            asked = await ask_exit(engine, info, name, stack)
            await engine.ask("POST", f"/containers/{name}/start")
            ended = await (asked.read_json() if asked else engine.ask("POST", f"/containers/{name}/wait"))
        return f"`find` ended with exit code {ended['StatusCode']}" if ended["StatusCode"] else ""
    except EngineRefused as error:
        return error.message
    finally:
        await remove_container(engine, name)


def _config(
    workspace: WorkspaceRef,
    image: str,
    labels: Mapping[str, str],
    info: EngineInfo,
    folders: list[str],
    owner: tuple[int, int],
    since: float,
) -> dict[str, Any]:
    user, group = (0, 0) if info.is_rootless else owner  # inside, the owner of a rootless engine is root
    changed = ("!", "-uid", str(user), "-newerct", f"@{since:.3f}")
    there = [each for each in PROGRAMS if Path(each).exists()]
    programs = [{"Type": "bind", "Source": each, "Target": each, "ReadOnly": True} for each in there]
    return {
        "Image": image,
        "Entrypoint": ["find", *folders, "-xdev", *changed, "-exec", "chown", "-h", f"{user}:{group}", "{}", "+"],
        "Cmd": [],
        "Env": ["PATH=/usr/bin:/bin"],
        "User": "0:0",
        "Labels": dict(labels),
        "HostConfig": {
            "LogConfig": {"Type": "none"},
            "NetworkMode": "none",
            "Mounts": mounts_of(workspace) + programs,
        },
    }
