"""The desk for agents, in this process."""

import os
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from pitstop.service.caller import Caller

if TYPE_CHECKING:  # a run need not load it
    from pitstop.service.agents import AgentInfo, EngineName, ImageBuild

FindEngine = Callable[[], Awaitable[tuple["EngineName", str]]]  # the engine that steps run in, and its socket


class AgentDesk:
    """The Agents of this machine."""

    def __init__(self, find_engine: FindEngine) -> None:
        self._find_engine = find_engine

    async def list(self, caller: Caller) -> "tuple[AgentInfo, ...]":
        from pitstop.service.installed_agents import find_agents

        return await find_agents()

    async def images(self, caller: Caller) -> tuple[str, ...]:
        from pitstop.steps.agents.image_recipes import image_recipes

        return tuple(image_recipes())

    async def image_build(
        self, caller: Caller, name: str, *, engine: "EngineName | None" = None, image: str | None = None
    ) -> "ImageBuild":
        from pitstop.service.agent_images import build_of, recipe_named

        recipe, socket = recipe_named(name), None
        if engine is None:
            engine, socket = await self._find_engine()
        return build_of(recipe, engine, socket, image, os.environ)
