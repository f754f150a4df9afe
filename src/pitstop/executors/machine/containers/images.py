"""The image of a container: whether it is there, pulling it with its progress told, and which one it is exactly."""

import asyncio
import time
from collections.abc import Callable
from typing import Any

from msgspec import Struct

from pitstop.engine.container import PullPolicy
from pitstop.executors.machine.containers.credentials import credentials_for
from pitstop.executors.machine.containers.engine import ContainerEngine, EngineRefused
from pitstop.executors.machine.containers.result import NotRun

TELL_SECONDS = 2.0
MEGABYTE = 1_000_000


class Image(Struct, frozen=True):
    """An image that is there. `digest` is that of the registry it came from, or its id where it came from none."""

    name: str
    id: str
    digest: str
    arch: str
    has_health_check: bool


class Images:
    """The images of an engine. One that several commands want at the same time is pulled once."""

    def __init__(self, engine: ContainerEngine) -> None:
        self._engine = engine
        self._pulling: dict[str, asyncio.Lock] = {}

    async def get(self, name: str, policy: PullPolicy, platform: str | None, say: Callable[[str], None]) -> Image:
        """The image, pulled if the policy says so; `say` is told how that goes. Raises NotRun."""
        async with self._pulling.setdefault(name, asyncio.Lock()):
            found = await self._find(name)
            if policy == "always" or (policy == "missing" and (found is None or not _is_for(found, platform))):
                await self._pull(name, platform, say)
                found = await self._find(name)
        if found is None:
            why = "`pull: never` does not allow pulling it" if policy == "never" else "it was pulled, but is missing"
            raise NotRun(f"image {name} is not on this machine: {why}")
        return _image(name, found)

    async def digest(self, name: str) -> str:
        """Of the image that is there under this name; nothing if none is."""
        try:
            found = await self._find(name)
        except NotRun:
            return ""
        return "" if found is None else _image(name, found).digest

    async def _find(self, name: str) -> dict[str, Any] | None:
        try:
            found: dict[str, Any] | None = await self._engine.find(f"/images/{name}/json")
        except EngineRefused as error:
            raise NotRun(f"cannot inspect image {name!r}: {error.message}") from error
        return found

    async def _pull(self, name: str, platform: str | None, say: Callable[[str], None]) -> None:
        say(f"pulling image {name}")
        began = time.monotonic()
        progress = Progress(name)
        query = {"fromImage": with_tag(name), "platform": platform}
        told_at = began
        try:
            headers = await credentials_for(name)
            async for message in self._engine.stream("POST", "/images/create", query, headers):
                if "error" in message:
                    raise NotRun(f"cannot pull image {name}: {message['error']}")
                progress.hear(message)
                if time.monotonic() - told_at >= TELL_SECONDS:
                    told_at = time.monotonic()
                    say(str(progress))
        except EngineRefused as error:
            raise NotRun(f"cannot pull image {name}: {error.message}") from error
        say(f"pulled image {name} in {time.monotonic() - began:.1f} s")


class Progress:
    """How far a pull has come, over all layers."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._layers: dict[str, tuple[int, int]] = {}

    def hear(self, message: dict[str, Any]) -> None:
        detail = message.get("progressDetail") or {}
        if message.get("status") == "Downloading" and detail.get("total"):
            self._layers[message["id"]] = detail.get("current", 0), detail["total"]
        elif message.get("id") in self._layers:  # it goes on to unpack what it has
            total = self._layers[message["id"]][1]
            self._layers[message["id"]] = total, total

    def __str__(self) -> str:
        done, total = (sum(column) for column in zip(*self._layers.values(), strict=True)) if self._layers else (0, 0)
        if not total:
            return f"pulling image {self._name}"
        return f"pulling image {self._name}: {done / MEGABYTE:.0f} of {total / MEGABYTE:.0f} MB"


def with_tag(name: str) -> str:
    """The name with a tag: without one, every tag that there is would be pulled."""
    return name if "@" in name or ":" in name.rpartition("/")[2] else f"{name}:latest"


def _is_for(found: dict[str, Any], platform: str | None) -> bool:
    if platform is None:
        return True
    system, _, rest = platform.partition("/")
    return system == found.get("Os") and rest.partition("/")[0] == found.get("Architecture")


def _image(name: str, found: dict[str, Any]) -> Image:
    digests = [entry.rpartition("@")[2] for entry in found.get("RepoDigests") or ()]
    config = found.get("Config") or {}
    return Image(
        name=name,
        id=found["Id"],
        digest=digests[0] if digests else found["Id"],
        arch=found.get("Architecture", ""),
        has_health_check=bool(config.get("Healthcheck")),
    )
