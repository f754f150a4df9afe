"""Where the steps of a run work: a workspace of the machine, and what keeps secrets out of sight there."""

import os
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

from pitstop.engine.executor import Placement
from pitstop.service.parts import Parts
from pitstop.steps.approvals import Approvals, NoApprovals
from pitstop.steps.workplace import NoSecrets, OnOutput, Workplace

NOBODY_HERE = "run the flow in a terminal, where you can answer"


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
) -> AsyncIterator[Workplace]:
    """A workplace with a workspace of its own, in place where there is a folder. Leaving ends all that runs there."""
    masking = parts.new_masking(secrets) if secrets else None
    executor = parts.new_executor(workspaces)
    try:
        yield Workplace(
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
