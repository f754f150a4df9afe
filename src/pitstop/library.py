"""Pitstop as a Python library: the public Graph and `run_flow`."""

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pitstop.app import new_executor, new_masker
from pitstop.definition.graph import GraphDefinition
from pitstop.engine.clock import SystemClock
from pitstop.events.log import EventLog, MemoryLog
from pitstop.executors.jq_worker import JqWorker
from pitstop.plan.graph_planner import plan_graph
from pitstop.plan.planner import first_values
from pitstop.runs.in_memory import GraphApp, RunResult, run_in_memory
from pitstop.settings import read_settings

if TYPE_CHECKING:  # a graph need not load these
    from pitstop.debugger.session import Session
    from pitstop.steps.workplace import OnOutput


class Graph(GraphDefinition):
    """A graph of nodes that share one state: build it, `compile` it, `invoke` it."""

    __slots__ = ()

    def compile(self, *, recursion_limit: int = 10_000) -> GraphApp:
        """Validate and freeze the graph. Raises BadGraph, which lists every mistake."""
        return GraphApp(self.copy(), plan_graph(self, recursion_limit), JqWorker)


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
    from pitstop.runs.flow_files import FlowFiles, plan_added_step
    from pitstop.runs.planned_flow import step_kinds
    from pitstop.runs.workplaces import make_workplace, ports_in

    settings = read_settings()
    planned = await FlowFiles(limits=settings.limits).plan(str(path), inputs or {})
    values = first_values(planned.flow, inputs or {}, secrets=secrets or {}, run={"flow": planned.flow.name})
    async with make_workplace(
        partial(new_executor, settings),
        new_masker,
        folder=None if folder is None else str(folder),
        secrets=secrets or {},
        on_output=on_output,
    ) as workplace:
        kinds = step_kinds(planned.plan)
        kinds = kinds if debug is None else {*kinds, *planned.types.names}
        step_types = planned.types.for_run(workplace, kinds)
        plan_step = partial(plan_added_step, planned)
        ports = ports_in(workplace, step_types, JqWorker(), SystemClock(), plan_step=plan_step)
        return await run_in_memory(planned.plan, values, ports, log=MemoryLog() if log is None else log, debug=debug)
