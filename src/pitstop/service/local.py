"""The service in this process: it needs no server and no database, and keeps runs as folders."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pitstop.engine.clock import SystemClock
from pitstop.engine.ports import Ports
from pitstop.engine.run import Run
from pitstop.events.types import AnyEvent
from pitstop.plan.plan import Plan
from pitstop.plan.planner import first_values
from pitstop.service.api import Finding, FlowInfo, RunRequest, StepTypeHelp
from pitstop.service.examination import examine_machine
from pitstop.service.flow_files import FlowFiles, PlannedFlow
from pitstop.service.info import tell_flow
from pitstop.service.kept_log import KeptLog
from pitstop.service.local_run import LocalRun, Outputs
from pitstop.service.parts import Parts
from pitstop.service.preview import resolved_configs
from pitstop.service.run_folder import RunFolder, create_run_folder, forget_old_runs
from pitstop.service.selection import events_before, inputs_in, known_steps, last_events, only_step, paths_of
from pitstop.service.workplaces import make_workplace
from pitstop.settings import Settings
from pitstop.steps.approvals import MemoryApprovals

if TYPE_CHECKING:
    from pitstop.service.sessions import LocalSession

HOW_TO_APPROVE = "answer y or n in the terminal that runs the flow"


@dataclass(frozen=True, slots=True)
class _Prepared:
    """A request, checked: what would run, and what it begins with."""

    file: Path
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
        told = tell_flow(prepared.planned.flow, prepared.plan, lambda step: configs[step.path])
        given = prepared.values["inputs"]
        inputs = tuple(replace(each, default=given[each.name], is_required=False) for each in told.inputs)
        return replace(told, inputs=inputs)

    async def schema(self) -> dict[str, Any]:
        return self._parts.new_reference().schema()

    async def step_types(self) -> tuple[StepTypeHelp, ...]:
        return self._parts.new_reference().step_types()

    async def step_type(self, name: str) -> StepTypeHelp:
        return self._parts.new_reference().step_type(name)

    async def examine(self) -> tuple[Finding, ...]:
        return await examine_machine(self._parts, self._settings)

    # Runs

    @asynccontextmanager
    async def start(self, request: RunRequest) -> AsyncIterator[LocalRun]:
        folder = create_run_folder(self._settings.runs)
        try:
            prepared = self._prepare(request, folder.id)
            session = None if request.debug is None else self._parts.new_session(request.debug)
        except BaseException:
            folder.remove()
            raise
        async with self._running(request, prepared, folder, session) as run:
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
        return _Prepared(flow_file, planned, plan, values, carried_over)

    @asynccontextmanager
    async def _running(
        self, request: RunRequest, prepared: _Prepared, folder: RunFolder, session: "LocalSession | None"
    ) -> AsyncIterator[LocalRun]:
        parts = self._parts
        about = {
            "flow": str(prepared.file),
            "name": prepared.plan.name,
            "is_partial": request.only is not None,
            "started_at": time.time(),
        }
        folder.write_description(**about, status=None)
        outputs = Outputs(folder)
        approvals = MemoryApprovals(HOW_TO_APPROVE) if request.can_ask else None
        async with AsyncExitStack() as stack:
            stack.callback(folder.close)
            evaluator = parts.new_evaluator()
            stack.push_async_callback(evaluator.close)
            workplace = await stack.enter_async_context(
                make_workplace(
                    parts,
                    self._settings.workspaces,
                    folder=request.folder,
                    secrets=request.secrets,
                    run=folder.id,
                    approvals=approvals,
                    on_output=outputs.take,
                )
            )
            stack.callback(folder.take_artifacts, Path(workplace.workspace.artifacts))
            log = KeptLog(folder, workplace.masker.mask_text if request.secrets else None, prepared.carried_over)
            types, kinds = prepared.planned.types, prepared.planned.kinds
            step_types = types.for_run(workplace, kinds if session is None else {*kinds, *types.names})
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
                folder.write_description(**about, status=run.status, ended_at=time.time())
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
