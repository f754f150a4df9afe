"""The service in this process. Without a server, its runs end with it."""

from functools import cache
from typing import TYPE_CHECKING, Any, Generic, Self, TypeVar

from pitstop.runs.flow_files import FlowFiles
from pitstop.runs.known_runs import Backends, KnownRuns
from pitstop.runs.local_runs import LocalRuns
from pitstop.runs.past_run import EndElsewhere
from pitstop.runs.run_maker import RunMaker
from pitstop.runs.stored_flows import StoredFlows
from pitstop.service.flows import Examine, Flows
from pitstop.store.port import RunStore

if TYPE_CHECKING:  # a run of a flow in YAML, without a server, need not load these
    from pitstop.runs.graphs import Graphs
    from pitstop.runs.server_runs import ServerRuns

R = TypeVar("R", bound="LocalRuns | ServerRuns")


class LocalService(Generic[R]):
    """A Service of two halves: each of its methods is one of theirs."""

    def __init__(self, flows: Flows, runs: R) -> None:
        self.flow_desk = flows
        self.run_desk = runs
        self.check = flows.check
        self.resolve = flows.resolve
        self.flows = flows.flows
        self.flow_text = flows.flow_text
        self.flow_breakpoints = flows.flow_breakpoints
        self.keep_flow_breakpoints = flows.keep_flow_breakpoints
        self.schema = flows.schema
        self.step_types = flows.step_types
        self.step_type = flows.step_type
        self.examine = flows.examine
        self.start = runs.start
        self.rerun = runs.rerun
        self.run = runs.run
        self.runs = runs.runs
        self.pin = runs.pin
        self.delete = runs.delete

    async def __aenter__(self) -> Self:
        await self.run_desk.__aenter__()
        return self

    async def __aexit__(self, *error: Any) -> None:
        await self.run_desk.__aexit__(*error)


def make_local_service(
    store: RunStore, backends: Backends, examine: Examine, end_elsewhere: EndElsewhere | None = None
) -> LocalService[LocalRuns]:
    """A service whose runs end with it. `end_elsewhere` ends a run of another process."""
    graphs = cache(_new_graphs)
    files, stored_flows = FlowFiles(lambda _, target: graphs().plan(target)), StoredFlows()
    maker = RunMaker(store, files, stored_flows, backends.new_masker)
    known = KnownRuns(store, files, maker, backends, end_elsewhere)
    flows = Flows(store, files, stored_flows, maker, backends.new_evaluator, examine)
    return LocalService(flows, LocalRuns(store, maker, known, backends))


def _new_graphs() -> "Graphs":
    from pitstop.runs.graphs import Graphs

    return Graphs()
