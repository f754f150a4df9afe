"""Puts the house together: the public Graph and `run_flow`, the services, and what runs their commands."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pitstop.definition.graph import GraphDefinition
from pitstop.definition.mermaid import to_mermaid
from pitstop.engine.clock import SystemClock
from pitstop.engine.ports import Clock, Ports
from pitstop.engine.run import Run
from pitstop.errors import BadLog
from pitstop.events.log import EventLog, MemoryLog
from pitstop.events.outcome import Outcome, Status, StepError
from pitstop.events.types import AnyEvent, Event, RunStarted
from pitstop.events.view import interventions_in
from pitstop.executors.jq_worker import JqWorker
from pitstop.lazy_dataclass import dataclass
from pitstop.plan.plan import Plan
from pitstop.plan.planner import plan_graph
from pitstop.settings import Settings, read_settings

if TYPE_CHECKING:  # what a run, or `--help`, need not pay for
    from pitstop.debugger.session import Session
    from pitstop.engine.executor import Executor
    from pitstop.executors.machine.containers.launcher import ContainerLauncher
    from pitstop.executors.machine.processes.keeper_process import KeeperProcess
    from pitstop.executors.machine.snapshots.store import SnapshotStore
    from pitstop.executors.masking import Masker
    from pitstop.service.api import Finding
    from pitstop.service.local import LocalService
    from pitstop.service.sealing import Seal
    from pitstop.service.secrets import Secrets
    from pitstop.service.server import ServerOptions, ServerService
    from pitstop.settings import Settings
    from pitstop.steps.workplace import OnOutput
    from pitstop.store.port import ServerStore


@dataclass(frozen=True, slots=True)
class RunResult:
    """How a run ended."""

    status: Status
    state: dict[str, Any]  # the last values of the scope
    error: StepError | None = None
    exception: BaseException | None = field(default=None, repr=False)  # the first one that was raised
    intervened: tuple[Event, ...] = ()  # what was changed in the debugger; empty for a clean run
    _done: Mapping[str, Any] = field(default_factory=dict, repr=False)

    @property
    def steps(self) -> dict[str, Outcome]:
        """The last outcome of each step, by path."""
        return {
            path: ended if isinstance(ended, Outcome) else Outcome(Status.PASSED, ended)
            for path, ended in self._done.items()
        }


class Graph(GraphDefinition):
    """A graph of nodes that share one state: build it, `compile` it, `invoke` it."""

    __slots__ = ()

    def compile(self, *, recursion_limit: int = 10_000) -> "GraphApp":
        """Validate and freeze the graph. Raises BadGraph, which lists every mistake."""
        return GraphApp(self.copy(), plan_graph(self, recursion_limit))


class GraphApp:
    """A compiled graph. It can run any number of times, also concurrently."""

    def __init__(self, definition: GraphDefinition, plan: Plan) -> None:
        self.definition = definition
        self.plan = plan

    async def invoke(
        self, state: Mapping[str, Any] | None, *, debug: "Session | None" = None, log: EventLog | None = None
    ) -> RunResult:
        """Run to the end. A failing node is reported in the result, not raised.

        With a log that has events, the run resumes where they end, and finished nodes do not run again. A `state` of
        None is then the state that the log starts with.
        """
        if debug is not None and log is None:
            log = MemoryLog()
        values = _first_state(log) if state is None else dict(state)
        intervened = interventions_in(log.read()) if log is not None else ()
        async with contextlib.AsyncExitStack() as parts:
            evaluator = JqWorker()
            parts.push_async_callback(evaluator.close)
            run = Run(self.plan, values, Ports(evaluator, SystemClock()), log=log, hook=debug)
            outcome = await run.execute()
            intervened = tuple(debug.interventions) if debug is not None else intervened
        return RunResult(outcome.status, run.scope.own.values, outcome.error, run.exception, intervened, run.done)

    async def stream(
        self, state: Mapping[str, Any] | None, *, debug: "Session | None" = None, log: MemoryLog | None = None
    ) -> AsyncIterator[AnyEvent]:
        """Run, and yield every event as it happens. Leaving the loop early cancels the run."""
        log = MemoryLog() if log is None else log
        before = len(log)
        try:
            async with asyncio.TaskGroup() as group:
                run = group.create_task(self.invoke(state, debug=debug, log=log))
                try:
                    async for event in log.follow(before):
                        yield event
                except GeneratorExit:
                    run.cancel()
        except BaseExceptionGroup as group_of_one:  # ours alone: the caller knows of no group
            raise group_of_one.exceptions[0] from None

    def to_mermaid(self) -> str:
        """The graph as a Mermaid flowchart."""
        return to_mermaid(self.definition)


def _first_state(log: EventLog | None) -> dict[str, Any]:
    first = next(iter(log.read()), None) if log is not None else None
    if not isinstance(first, RunStarted):
        raise BadLog("no initial state: pass one, or a log that has one")
    return dict(first.inputs)


# --- Flows, and the service ------------------------------------------------------------------------------------------


async def run_flow(
    path: str | Path,
    *,
    inputs: Mapping[str, Any] | None = None,
    secrets: Mapping[str, str] | None = None,
    folder: str | Path | None = ".",
    debug: "Session | None" = None,
    log: EventLog | None = None,
    on_output: "OnOutput | None" = None,
) -> RunResult:
    """Run a flow file to its end. A failing step is reported in the result; BadFlow and BadInputs are raised.

    Commands run in `folder`; None makes a fresh one and removes it afterwards. With a log that has events, the run
    resumes where they end. `on_output` gets the occurrence and each chunk a step writes. Cancelling ends every command
    and runs cleanup.
    """
    from pitstop.plan.planner import first_values
    from pitstop.runs.flow_files import FlowFiles
    from pitstop.runs.workplaces import make_workplace
    from pitstop.steps.fresh import FreshWorkspaces

    planned = FlowFiles().plan(str(path), inputs or {})
    values = first_values(planned.flow, inputs, secrets=secrets, run={"flow": planned.flow.name})
    log = MemoryLog() if log is None else log
    intervened = interventions_in(log.read())
    async with make_workplace(
        partial(new_executor, read_settings()),
        _new_masker,
        folder=None if folder is None else str(folder),
        secrets=secrets or {},
        on_output=on_output,
    ) as workplace:
        step_types = planned.types.for_run(workplace, planned.kinds)
        async with contextlib.AsyncExitStack() as stack:
            evaluator = JqWorker()
            stack.push_async_callback(evaluator.close)
            workspaces = FreshWorkspaces(workplace, step_types)
            mask = workplace.masker.mask_text if secrets else None
            ports = Ports(evaluator, SystemClock(), step_types, workspaces=workspaces, mask=mask)
            run = Run(planned.plan, values, ports, log=log, hook=debug)
            outcome = await run.execute()
            intervened = tuple(debug.interventions) if debug is not None else intervened
    return RunResult(outcome.status, run.scope.own.values, outcome.error, run.exception, intervened, run.done)


def open_service(
    settings: Settings | None = None, *, new_keeper: "Callable[[], KeeperProcess] | None" = None
) -> "LocalService":
    """The service in this process, with folders to keep runs in and the machine's own processes to run commands in."""
    from pitstop.service.local import LocalService
    from pitstop.store.folder import FolderStore

    settings = settings or read_settings()
    store = FolderStore(settings.home)
    return LocalService(
        store,
        new_executor=partial(new_executor, settings, new_keeper=new_keeper),
        new_evaluator=JqWorker,
        new_masker=_new_masker,
        new_snapshots=partial(new_snapshots, settings),
        examine=partial(_examine, settings),
        end_elsewhere=store.end_elsewhere,
    )


def open_server_service(
    settings: Settings,
    store: "ServerStore",
    seal: "Seal",
    options: "ServerOptions",
    secrets: "Secrets",
    flow_folders: Sequence[Path] = (),
    *,
    clock: Clock | None = None,
) -> "ServerService":
    """The service of a server, whose runs are kept in `store`."""
    from pitstop.service.server import ServerService

    return ServerService(
        settings,
        store,
        seal,
        options,
        secrets,
        new_executor=partial(new_executor, settings),
        new_evaluator=JqWorker,
        new_masker=_new_masker,
        new_snapshots=partial(new_snapshots, settings),
        examine=partial(_examine, settings),
        flow_folders=flow_folders,
        clock=clock,
    )


def new_executor(
    settings: Settings,
    lease_seconds: float | None = None,
    *,
    new_keeper: "Callable[[], KeeperProcess] | None" = None,
) -> "Executor":
    """An executor of this machine's processes and containers. What it runs ends when it is silent for the lease."""
    from pitstop.executors.machine.placing import PlacingExecutor
    from pitstop.executors.machine.processes.executor import ProcessExecutor
    from pitstop.executors.machine.processes.keeper_process import spawn_keeper

    processes = ProcessExecutor(
        settings.workspaces,
        lease_seconds=lease_seconds,
        new_keeper=new_keeper or spawn_keeper,
        new_snapshots=partial(new_snapshots, settings),
    )
    return PlacingExecutor(processes, _new_launcher)


def _new_launcher() -> "ContainerLauncher":
    from pitstop.executors.machine.containers.launcher import ContainerLauncher

    return ContainerLauncher()


def new_snapshots(settings: Settings) -> "SnapshotStore":
    """Where snapshots of workspaces are kept on this machine."""
    from pitstop.executors.machine.snapshots.store import SnapshotStore

    return SnapshotStore(
        settings.snapshots,
        snapshot_limit_bytes=settings.snapshot_limit_bytes,
        snapshot_limit_files=settings.snapshot_limit_files,
    )


def _new_masker(secrets: Mapping[str, str]) -> "Masker":
    from pitstop.executors.masking import Masker

    return Masker(secrets)


async def _examine(settings: Settings) -> "tuple[Finding, ...]":
    from pitstop.executors.machine.containers.finding import describe_engine
    from pitstop.service.examination import examine_machine

    return await examine_machine(
        settings,
        new_executor=partial(new_executor, settings),
        new_evaluator=JqWorker,
        describe_containers=describe_engine,
    )
