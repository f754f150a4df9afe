"""The service in this process: it needs no server and no database, and keeps runs as folders."""

import asyncio
import os
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pitstop.engine.clock import SystemClock
from pitstop.engine.executor import Placement, WorkspaceRef
from pitstop.engine.ports import Ports
from pitstop.engine.run import COMBINING, Run
from pitstop.events.types import AnyEvent
from pitstop.plan.plan import Plan
from pitstop.plan.planner import first_values
from pitstop.service.api import FlowInfo, RunRequest, StepTypeHelp
from pitstop.service.flow_files import FlowFiles, PlannedFlow
from pitstop.service.info import tell_flow
from pitstop.service.kept_log import KeptLog
from pitstop.service.local_run import LocalRun, Outputs
from pitstop.service.parts import Masking, Parts
from pitstop.service.preview import resolved_configs
from pitstop.service.run_folder import RunFolder, create_run_folder, forget_old_runs
from pitstop.service.selection import events_before, inputs_in, known_steps, last_events, only_step, paths_of
from pitstop.settings import Settings
from pitstop.steps.approvals import MemoryApprovals, NoApprovals
from pitstop.steps.workplace import NoSecrets, Workplace

HOW_TO_APPROVE = "answer y or n in the terminal that runs the flow"
NOBODY_HERE = "run the flow in a terminal, where you can answer"


@dataclass(frozen=True, slots=True)
class _Prepared:
    """A request, checked: what would run, and what it begins with."""

    planned: PlannedFlow
    plan: Plan
    values: dict[str, Any]
    carried_over: list[AnyEvent]


class LocalService:
    """A Service whose runs are in this process and end with it."""

    def __init__(self, parts: Parts, settings: Settings) -> None:
        self._parts = parts
        self._settings = settings
        self._files = FlowFiles(parts)

    # Questions

    async def check(self, flow: str) -> FlowInfo:
        evaluator = self._parts.new_evaluator()
        try:
            planned = await self._files.check(flow, evaluator)
        finally:
            await evaluator.close()
        return tell_flow(planned.flow, planned.plan)

    async def resolve(self, request: RunRequest) -> FlowInfo:
        prepared = self._prepare(request, "dry-run")
        evaluator = self._parts.new_evaluator()
        try:
            configs = await resolved_configs(prepared.plan, prepared.values, evaluator)
        finally:
            await evaluator.close()
        return tell_flow(prepared.planned.flow, prepared.plan, lambda step: configs[step.path])

    async def schema(self) -> dict[str, Any]:
        return self._parts.new_reference().schema()

    async def step_types(self) -> tuple[StepTypeHelp, ...]:
        return self._parts.new_reference().step_types()

    async def step_type(self, name: str) -> StepTypeHelp:
        return self._parts.new_reference().step_type(name)

    # Runs

    @asynccontextmanager
    async def start(self, request: RunRequest) -> AsyncIterator[LocalRun]:
        folder = create_run_folder(self._settings.runs)
        try:
            prepared = self._prepare(request, folder.id)
            run_context = self._started(request, prepared, folder)
        except BaseException:
            folder.remove()
            raise
        async with run_context as run:
            yield run

    def _prepare(self, request: RunRequest, run_id: str) -> _Prepared:
        """BadFlow, BadInputs, UnknownStep, BadLog."""
        flow_file = Path(request.flow).resolve()
        needs_past = request.from_step is not None or request.only is not None
        past = last_events(self._settings.runs, flow_file) if needs_past else []
        inputs = {**inputs_in(past), **request.inputs} if past else request.inputs
        planned = self._files.plan(request.flow, inputs)
        plan = planned.plan if request.only is None else only_step(planned.plan, request.only)
        about = {"id": run_id, "flow": planned.flow.name}
        values = first_values(planned.flow, inputs, secrets=request.secrets, run=about)
        if request.only is not None:
            values["steps"] = known_steps(planned.plan, past)
        if request.debug is not None:
            for each in request.debug.breakpoints:
                if each.step is not None:
                    paths_of(plan, each.step)
        carried_over = [] if request.from_step is None else events_before(plan, past, request.from_step)
        return _Prepared(planned, plan, values, carried_over)

    @asynccontextmanager
    async def _started(self, request: RunRequest, prepared: _Prepared, folder: RunFolder) -> AsyncIterator[LocalRun]:
        parts = self._parts
        masking = parts.new_masking(request.secrets) if request.secrets else None
        about = {"flow": str(Path(request.flow).resolve()), "name": prepared.plan.name, "started_at": time.time()}
        folder.write_description(**about, status=None)
        async with AsyncExitStack() as stack:
            stack.callback(folder.close)
            evaluator = parts.new_evaluator()
            stack.push_async_callback(evaluator.close)
            executor = parts.new_executor(self._settings.workspaces)
            stack.push_async_callback(executor.close)
            workspace = await executor.acquire(Placement(folder=request.folder))
            stack.callback(folder.take_artifacts, Path(workspace.artifacts))
            log = KeptLog(folder, None if masking is None else masking.masker.mask_text, prepared.carried_over)
            outputs = Outputs(folder)
            approvals = MemoryApprovals(HOW_TO_APPROVE) if request.can_ask else None
            workplace = Workplace(
                executor=executor,
                workspace=workspace,
                run=folder.id,
                env=_environment(request),
                masker=NoSecrets() if masking is None else masking.masker,
                masked_stream=None if masking is None else masking.new_stream,
                approvals=NoApprovals(NOBODY_HERE) if approvals is None else approvals,
                on_output=outputs.take,
            )
            kinds = {step.kind for step in prepared.plan.steps.values()} - set(COMBINING)
            step_types = prepared.planned.types.for_run(workplace, kinds)
            session = None if request.debug is None else parts.new_session(request.debug)
            ports = Ports(evaluator, SystemClock(), step_types)
            run = LocalRun(
                flow=tell_flow(prepared.planned.flow, prepared.plan),
                texts=prepared.planned.texts,
                run=Run(prepared.plan, prepared.values, ports, log=log, hook=session),
                log=log,
                workplace=workplace,
                folder=folder,
                outputs=outputs,
                session=session,
                approvals=approvals,
            )
            try:
                async with _living(run):
                    yield run
            finally:
                status = run.status
                folder.write_description(**about, status=status, ended_at=time.time())
                forget_old_runs(self._settings.runs)


@asynccontextmanager
async def _living(run: LocalRun) -> AsyncIterator[None]:
    """The run as a task, for as long as the context lasts: leaving it ends a run that is not over."""
    try:
        async with asyncio.TaskGroup() as group:
            group.create_task(run.execute(), name=run.id)
            try:
                yield
            finally:
                if not run.is_over:
                    run.cancel("nobody is there any more who wanted it")
    except BaseExceptionGroup as group_of_one:  # what the one who used it raised: they know of no group
        raise group_of_one.exceptions[0] from None


def _environment(request: RunRequest) -> dict[str, str]:
    """What commands see beside what the executor gives them. In the user's own folder they have the user's own home."""
    env = dict(request.secrets)
    if request.folder is not None and "HOME" in os.environ:
        env["HOME"] = os.environ["HOME"]
    return env
