"""The desk for agents: which are installed on this machine, and the images that agent steps can run in."""

from typing import Literal, Protocol

from msgspec import Struct

from pitstop.service.caller import Caller

EngineName = Literal["docker", "podman"]
# What a stop at a tool call is worth: the call cannot run, may run if its hook fails, or there is no such stop
Stops = Literal["guarantee", "convenience", "none"]


class AgentInfo(Struct, frozen=True, kw_only=True):
    """An agent profile. One of `secrets` is needed; `path` is None if the program is not installed.

    `problem` says why an installed program has no version; `image` is the name of the image that can be built.
    """

    name: str
    title: str
    program: str
    install: str
    secrets: tuple[str, ...]
    stops: Stops
    path: str | None = None
    version: str | None = None
    problem: str | None = None
    image: str | None = None


class ImageBuild(Struct, frozen=True):
    """The command line that builds an image, and the name that the image will have."""

    image: str
    engine: EngineName
    argv: tuple[str, ...]


class Agents(Protocol):
    """Questions about the agents of this machine."""

    async def list(self, caller: Caller) -> tuple[AgentInfo, ...]:
        """The profiles, each with the program that was found for it."""
        ...

    async def images(self, caller: Caller) -> tuple[str, ...]:
        """The names of the images that can be built."""
        ...

    async def image_build(
        self, caller: Caller, name: str, *, engine: EngineName | None = None, image: str | None = None
    ) -> ImageBuild:
        """How to build the image of an agent, with the engine that steps run in unless one is named.

        CommandRefused if there is no such image; NoEngine; Unavailable if the engine's program is not installed.
        """
        ...
