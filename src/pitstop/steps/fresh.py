"""Workspaces of their own for the steps that ask for one, with the step types that work there."""

from collections.abc import Mapping
from typing import Any

from pitstop.engine.ports import StepType
from pitstop.steps.workplace import Workplace


class FreshWorkspaces:
    """Makes each step type anew for a workspace: a type knows the one that it was made for, and no other."""

    def __init__(self, workplace: Workplace, step_types: Mapping[str, StepType]) -> None:
        self._workplace = workplace
        self._step_types = step_types

    async def step_type(self, home: str, kind: str) -> StepType:
        make: Any = type(self._step_types[kind])
        made: StepType = make(await self._workplace.at(home))
        return made

    async def leave(self, home: str) -> None:
        await self._workplace.leave(home)

    async def discard(self, home: str) -> None:
        await self._workplace.discard(home)
