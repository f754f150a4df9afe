"""What the engine is told to make: the container of a command or a shell, as values only."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from msgspec import Struct

from pitstop.engine.container import ContainerOptions
from pitstop.engine.executor import WorkspaceRef
from pitstop.executors.machine.containers.engine import EngineInfo
from pitstop.executors.machine.containers.images import Image
from pitstop.executors.machine.workspaces.protected import Protected
from pitstop.executors.machine.workspaces.workspace import path_in_repo

USER_OF_IMAGE = "image"
NO_NETWORK = "none"
NANO = 1_000_000_000
NOTHING_PROTECTED = Protected()


class ContainerRequest(Struct, frozen=True, kw_only=True):
    """What is wanted of a container, whatever runs in it."""

    image: Image
    argv: tuple[str, ...]
    cwd: str
    env: Mapping[str, str]
    options: ContainerOptions
    labels: Mapping[str, str]
    has_input: bool = False
    is_terminal: bool = False
    read_only: bool = False
    protected: Protected = NOTHING_PROTECTED
    networks: tuple[str, ...] = ()
    most_processes: int | None = None


def container_config(request: ContainerRequest, workspace: WorkspaceRef, info: EngineInfo) -> dict[str, Any]:
    """The body of the request that creates it. The folders of the workspace are where they are outside.

    An init process comes first, so that signals end the command, also where it does not handle them, and zombies are
    reaped. What the container writes is not kept by the engine: we are attached, and keep it.
    """
    options = request.options
    given = {"HOME": workspace.home, "PITSTOP_ARTIFACTS": workspace.artifacts, "TINI_KILL_PROCESS_GROUP": "1"}
    started = {"Cmd": list(request.argv)} if options.entrypoint else {"Entrypoint": list(request.argv), "Cmd": []}
    return {
        "Image": request.image.id,
        **started,
        "Env": [f"{name}={value}" for name, value in {**given, **request.env}.items()],
        "WorkingDir": request.cwd,
        "User": user_of(options.user, owner_of(workspace), info),
        "Labels": dict(request.labels),
        "Tty": request.is_terminal,
        "AttachStdout": True,
        "AttachStderr": True,
        "AttachStdin": request.has_input,
        "OpenStdin": request.has_input,
        "StdinOnce": request.has_input,
        **({"Healthcheck": {"Test": ["NONE"]}} if request.image.has_health_check else {}),
        "HostConfig": {
            "Init": True,
            "LogConfig": {"Type": "none"},
            "Mounts": mounts_of(workspace, request.protected, read_only=request.read_only),
            **limits_of(options),
            **({"PidsLimit": request.most_processes} if request.most_processes else {}),
            **_isolation(options.user, info),
            **({"NetworkMode": request.networks[0]} if request.networks else {}),
        },
    }


def owner_of(workspace: WorkspaceRef) -> os.stat_result:
    """Who made the workspace, which the user's own folder may not tell."""
    return Path(workspace.home).stat()


def user_of(named: str | None, owner: os.stat_result, info: EngineInfo) -> str:
    """Whom the container runs as; empty is the user of the image.

    Unless somebody else is asked for, files stay those of the workspace's owner. A rootless Docker maps that owner to
    root inside; Podman is told to keep the ids.
    """
    if named == USER_OF_IMAGE:
        return ""
    if named is not None:
        return named
    if info.is_rootless and not info.is_podman:
        return "0:0"
    return f"{owner.st_uid}:{owner.st_gid}"


def folder_in_repo(workspace: WorkspaceRef, relative: str) -> str:
    """The folder to work in, with every link on the way followed. Raises ValueError if it is none of the workspace."""
    path = path_in_repo(Path(workspace.repo), relative)
    if not path.is_dir():  # the engine would make one, which would be root's
        raise ValueError("there is no such folder")
    return str(path)


def mounts_of(
    workspace: WorkspaceRef, protected: Protected = NOTHING_PROTECTED, *, read_only: bool = False
) -> list[dict[str, Any]]:
    """The folders of the workspace, and what is protected in them: a mount cannot be renamed, nor its parents."""
    folders = (workspace.repo, workspace.home, workspace.artifacts, workspace.control)
    is_read_only = {
        **dict.fromkeys(folders, read_only),
        **dict.fromkeys(map(str, protected.parents), read_only),
        **dict.fromkeys(map(str, protected.paths), True),
    }
    return [{"Type": "bind", "Source": path, "Target": path, "ReadOnly": is_so} for path, is_so in is_read_only.items()]


def limits_of(options: ContainerOptions) -> dict[str, Any]:
    """CPU and memory; no swap beyond the memory, which would only put off the end."""
    limits: dict[str, Any] = {}
    if options.cpus is not None:
        limits["NanoCpus"] = int(options.cpus * NANO)
    if options.memory_bytes is not None:
        limits["Memory"] = limits["MemorySwap"] = options.memory_bytes
    return limits


def _isolation(user: str | None, info: EngineInfo) -> dict[str, Any]:
    isolation: dict[str, Any] = {}
    if info.is_podman and info.is_rootless and user is None:
        isolation["UsernsMode"] = "keep-id"
    elif info.remaps_users:
        isolation["UsernsMode"] = "host"
    if info.has_selinux:  # the folders have the labels of the user's files, which a container may not touch
        isolation["SecurityOpt"] = ["label=disable"]
    return isolation
