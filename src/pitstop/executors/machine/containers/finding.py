"""Finding the container engine of this machine: where it was named, else where Docker and Podman are usually found."""

import hashlib
import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path

from pitstop.errors import NoEngine
from pitstop.executors.machine.containers.engine import ContainerEngine, EngineGone, EngineInfo, EngineRefused

UNIX = "unix://"
INSTALL = (
    "install Docker (https://docs.docker.com/engine/install/) or Podman (https://podman.io/docs/installation), and "
    "give your user access to its socket: for Podman `systemctl --user enable --now podman.socket`, "
    "for Docker the group `docker`"
)


async def find_engine(environment: Mapping[str, str] = os.environ) -> tuple[ContainerEngine, EngineInfo]:
    """The engine, and what it tells of itself. Raises NoEngine, with what was tried and what can be installed.

    $DOCKER_HOST or $CONTAINER_HOST name its socket; then only that one is tried.
    """
    tried = []
    for where, path in candidates(environment):
        engine = ContainerEngine(path)
        try:
            return engine, await engine.info()
        except (EngineGone, EngineRefused) as error:
            tried.append(f"{where}: {error}")
    raise NoEngine(tried, INSTALL)


async def describe_engine() -> str:
    """Which engine answers; NoEngine."""
    engine, info = await find_engine()
    rootless = ", rootless" if info.is_rootless else ""
    return f"{info.name} {info.version}{rootless} ({engine.path})"


def candidates(environment: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Who names a socket, and its path; the first that answers is taken."""
    for name in ("DOCKER_HOST", "CONTAINER_HOST"):
        if address := environment.get(name):
            yield f"${name}", _path_of(address, f"${name}")
            return
    home = Path(environment.get("HOME") or "~").expanduser()
    if address := _address_of_context(home, environment.get("DOCKER_CONTEXT")):
        yield "the Docker context", _path_of(address, "the Docker context")
    runtime = environment.get("XDG_RUNTIME_DIR") or f"/run/user/{os.getuid()}"
    for path in (
        Path("/var/run/docker.sock"),
        Path(runtime, "docker.sock"),
        home / ".docker/run/docker.sock",
        home / ".docker/desktop/docker.sock",
        Path(runtime, "podman/podman.sock"),
        Path("/run/podman/podman.sock"),
    ):
        if path.is_socket():
            yield "a socket is there", str(path)


def _path_of(address: str, named_by: str) -> str:
    if not address.startswith(UNIX):
        raise NoEngine(
            [f"{named_by} is {address}"],
            "the files of a step are mounted into its container, so the engine has to be on this machine, at a socket: "
            "unix:///var/run/docker.sock",
        )
    return address.removeprefix(UNIX)


def _address_of_context(home: Path, named: str | None) -> str | None:
    """Where the `docker` command would look: Docker Desktop, Colima and rootless Docker are told by a context."""
    try:
        name = named or json.loads((home / ".docker/config.json").read_bytes()).get("currentContext")
        if not name or name == "default":
            return None
        folder = hashlib.sha256(name.encode()).hexdigest()
        meta = json.loads((home / ".docker/contexts/meta" / folder / "meta.json").read_bytes())
        return str(meta["Endpoints"]["docker"]["Host"])
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None  # no context that can be read: the usual places are next
