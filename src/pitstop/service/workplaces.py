"""Where the steps of a run work: a workspace of the machine, and what keeps secrets out of sight there."""

import asyncio
import os
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from pitstop.engine.executor import CommandRef, Placement
from pitstop.engine.frame import Activation
from pitstop.service.parts import Parts
from pitstop.steps.approvals import Approvals, NoApprovals
from pitstop.steps.workplace import NoSecrets, OnOutput, Workplace

NOBODY_HERE = "run the flow in a terminal, where you can answer"


@dataclass(frozen=True, slots=True, kw_only=True)
class KillableWorkplace(Workplace):
    """A workplace that remembers its commands, so that all of them can be ended at once."""

    _keys: set[str] = field(default_factory=set, init=False, repr=False)

    def next_key(self, activation: Activation) -> str:
        key = Workplace.next_key(self, activation)
        self._keys.add(key)
        return key

    async def kill_commands(self) -> None:
        """End whatever runs, and take away the time that it was given to end by itself."""
        async with asyncio.TaskGroup() as group:
            for key in self._keys:
                group.create_task(self.executor.cancel(CommandRef(self.workspace.id, key), 0))


@asynccontextmanager
async def make_workplace(
    parts: Parts,
    workspaces: Path,
    *,
    folder: str | None,
    secrets: Mapping[str, str],
    run: str = "run",
    approvals: Approvals | None = None,
    on_output: OnOutput | None = None,
) -> AsyncIterator[KillableWorkplace]:
    """A workplace with a workspace of its own, in place where there is a folder. Leaving ends all that runs there."""
    masking = parts.new_masking(secrets) if secrets else None
    executor = parts.new_executor(workspaces)
    try:
        yield KillableWorkplace(
            executor=executor,
            workspace=await executor.acquire(Placement(folder=folder)),
            run=run,
            env=_environment(folder, secrets),
            masker=NoSecrets() if masking is None else masking.masker,
            masked_stream=None if masking is None else masking.new_stream,
            approvals=NoApprovals(NOBODY_HERE) if approvals is None else approvals,
            on_output=on_output,
        )
    finally:
        await executor.close()


def _environment(folder: str | None, secrets: Mapping[str, str]) -> dict[str, str]:
    """What commands see beside what the executor gives them. In the user's own folder they have the user's own home."""
    own_home = {"HOME": os.environ["HOME"]} if folder is not None and "HOME" in os.environ else {}
    return {**secrets, **own_home}
