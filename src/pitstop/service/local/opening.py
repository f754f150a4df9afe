"""Opens the service in this process. Without a server, its runs end with it."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, nullcontext
from typing import TYPE_CHECKING

from msgspec.structs import replace

from pitstop.limits import DEFAULTS, Limits
from pitstop.runs.flow_files import FlowFiles
from pitstop.runs.graph_targets import GraphTarget
from pitstop.runs.known_runs import Backends, KnownRuns
from pitstop.runs.local_runs import LocalRuns
from pitstop.runs.planned_flow import PlannedFlow
from pitstop.runs.run_maker import RunMaker
from pitstop.runs.stored_flows import StoredFlows
from pitstop.service.caller import record_nothing
from pitstop.service.desks import Service
from pitstop.service.local.agents import AgentDesk, FindEngine
from pitstop.service.local.flows import Examine, FlowDesk
from pitstop.service.local.runs import RunDesks
from pitstop.store.port import LocalStore

if TYPE_CHECKING:  # a run need not load these
    from pitstop.runs.past_run import EndElsewhere
    from pitstop.service.attaching import Attaching
    from pitstop.service.audit import Audit


@asynccontextmanager
async def open_local_service(
    store: LocalStore,
    backends: Backends,
    examine: Examine,
    find_engine: FindEngine,
    end_elsewhere: "EndElsewhere | None" = None,
    audit: "Audit | None" = None,
    new_attaching: "Callable[[Service], Attaching] | None" = None,
    *,
    limits: Limits = DEFAULTS,
) -> AsyncIterator[Service]:
    """A service whose runs end with it. `end_elsewhere` ends a run of another process."""
    files, stored_flows = FlowFiles(_plan_graph, limits=limits), StoredFlows()
    maker = RunMaker(store, files, stored_flows, backends.new_masker, backends.new_evaluator)
    known = KnownRuns(store, files, maker, backends, end_elsewhere)
    record = record_nothing if audit is None else audit.record
    async with LocalRuns(store, maker, known, backends) as owned, nullcontext() if audit is None else audit.open():
        runs = RunDesks(owned, record)
        service = Service(
            flows=FlowDesk(store, files, stored_flows, maker, backends.new_evaluator, examine, record),
            runs=runs,
            debugging=runs,
            workspaces=runs,
            audit=audit,
            agents=AgentDesk(find_engine),
        )
        yield service if new_attaching is None else replace(service, attaching=new_attaching(service))


def _plan_graph(_path: str, target: GraphTarget) -> PlannedFlow:
    from pitstop.runs.graphs import plan_target

    return plan_target(target)
