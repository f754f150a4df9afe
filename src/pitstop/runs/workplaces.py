"""Where the steps of a run work: a workspace of the machine, and what keeps secrets out of sight there."""

import asyncio
import os
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from types import MappingProxyType
from typing import Any, Protocol

from pitstop.engine.executor import CommandRef, Executor, Placement, WorkspaceRef
from pitstop.engine.frame import Combine
from pitstop.engine.ports import Clock, Evaluator, PlanStep, Ports, Snapshots, StepType
from pitstop.engine.workspace_files import SecretScan
from pitstop.errors import WorkspaceLost
from pitstop.steps.approvals import Approvals
from pitstop.steps.artifact_secrets import ArtifactScan
from pitstop.steps.fresh import FreshWorkspaces
from pitstop.steps.step_logs import StoredLog
from pitstop.steps.workplace import BringFiles, MaskedStream, OnOutput, Settle, StoredOutput, Workplace, Workshop

OpenWorkplace = Callable[..., AbstractAsyncContextManager["KillableWorkplace"]]  # what `make_workplace` takes by name

NewExecutor = Callable[[float | None], Executor]  # with the lease after which others may take over
NewMasker = Callable[[Mapping[str, str]], "StreamMasker"]  # of these secrets

NewCombine = Callable[[Workplace], Combine]  # a way of combining steps that works in the workplace of a run
EMPTY: Mapping[str, NewCombine] = MappingProxyType({})

RECORDINGS = "recordings"  # of shells: apart from the artifacts of steps, which going back puts back


class StreamMasker(Protocol):
    """Takes the secrets of one run out of texts and out of streams."""

    def mask_text(self, text: str) -> str: ...

    def new_stream(self) -> MaskedStream: ...

    def new_scan(self) -> SecretScan: ...


class KillableWorkplace(Workplace, frozen=True, kw_only=True):
    """A workplace whose commands can all be ended at once."""

    async def kill_commands(self) -> None:
        """End whatever runs, and take away the time that it was given to end by itself."""
        async with asyncio.TaskGroup() as group:
            for key in self.keys():
                group.create_task(self._kill(CommandRef(self.workspace.id, key)))
            for place in self._homes.values():
                group.create_task(place.kill_commands())

    async def _kill(self, command: CommandRef) -> None:
        with suppress(WorkspaceLost):  # and what ran there with it
            await self.executor.cancel(command, 0)


@asynccontextmanager
async def make_workplace(
    new_executor: NewExecutor,
    new_masker: NewMasker,
    *,
    folder: str | None,
    workspace: str | None = None,
    is_left: Callable[[], bool] = bool,
    **more: Any,
) -> AsyncIterator[KillableWorkplace]:
    """A workplace with a workspace of its own, in place where there is a folder. Leaving ends all that runs there.

    `workspace` is the id of one to make, or to take up again; it is not removed in the end if `is_left` says so.
    `more` is what `workplace_in` takes.
    """
    executor = new_executor(None)
    try:
        place = await executor.acquire(Placement(folder=folder, workspace=workspace))
        yield workplace_in(executor, place, new_masker, folder=folder, is_left=is_left, **more)
    finally:
        await executor.close(keep=is_left())


def workplace_in(
    executor: Executor,
    workspace: WorkspaceRef,
    new_masker: NewMasker,
    *,
    folder: str | None,
    run: str = "run",
    is_resumable: bool = False,
    is_left: Callable[[], bool] = bool,
    secrets: Mapping[str, str],
    approvals: Approvals | None = None,
    on_output: OnOutput | None = None,
    settle: Settle | None = None,
    stored_output: StoredOutput | None = None,
    stored_log: StoredLog | None = None,
    bring_files: BringFiles | None = None,
    workshop: Workshop | None = None,
) -> KillableWorkplace:
    """What the steps of a run work with in a workspace, with its secrets kept out of sight."""
    masker = new_masker(secrets) if secrets else None
    return KillableWorkplace(
        executor=executor,
        workspace=workspace,
        run=run,
        is_resumable=is_resumable,
        is_left=is_left,
        env=_environment(folder),
        secrets=secrets,
        mask=str if masker is None else masker.mask_text,
        masked_stream=None if masker is None else masker.new_stream,
        artifact_scan=None if masker is None else ArtifactScan(masker.new_scan),
        approvals=approvals or Approvals(),
        on_output=on_output,
        settle=settle,
        stored_output=stored_output,
        stored_log=stored_log,
        bring_files=bring_files,
        workshop=workshop,
    )


def mask_in(workplace: Workplace) -> Callable[[str], str] | None:
    """What takes the secrets of the run out of texts, if it has any."""
    return workplace.mask if workplace.secrets else None


def ports_in(
    workplace: Workplace,
    step_types: Mapping[str, StepType],
    evaluator: Evaluator,
    clock: Clock,
    snapshots: Snapshots | None = None,
    plan_step: PlanStep | None = None,
    combining: Mapping[str, NewCombine] = EMPTY,
) -> Ports:
    """What the engine needs to run steps in a workplace."""
    workspaces = FreshWorkspaces(workplace, step_types)
    made = {kind: make(workplace) for kind, make in combining.items()}
    return Ports(evaluator, clock, step_types, snapshots, workspaces, mask_in(workplace), plan_step, workplace, made)


def _environment(folder: str | None) -> dict[str, str]:
    """What commands see beside what the executor gives them. In the user's own folder they have the user's own home."""
    return {"HOME": os.environ["HOME"]} if folder is not None and "HOME" in os.environ else {}
