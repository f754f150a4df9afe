"""The service of a server, whose runs are in its database."""

from collections.abc import Sequence
from pathlib import Path

from pitstop.engine.ports import Clock
from pitstop.errors import GraphRefused
from pitstop.runs.flow_files import FlowFiles
from pitstop.runs.graph_targets import GraphTarget
from pitstop.runs.known_runs import Backends, KnownRuns
from pitstop.runs.planned_flow import PlannedFlow
from pitstop.runs.run_maker import RunMaker
from pitstop.runs.server_runs import ServerOptions, ServerRuns
from pitstop.runs.stored_flows import StoredFlows
from pitstop.service.flows import Examine, Flows
from pitstop.service.local import LocalService
from pitstop.service.sealing import Seal
from pitstop.service.secrets import Secrets
from pitstop.service.server_secrets import ServerSecrets
from pitstop.settings import Settings
from pitstop.store.port import ServerStore

ServerService = LocalService[ServerRuns]


def make_server_service(
    settings: Settings,
    store: ServerStore,
    seal: Seal,
    options: ServerOptions,
    secrets: Secrets,
    backends: Backends,
    examine: Examine,
    flow_folders: Sequence[Path] = (),
    clock: Clock | None = None,
) -> ServerService:
    """A service whose runs outlive it."""
    files, stored_flows = FlowFiles(_refuse_graph), StoredFlows(flow_folders)
    maker = RunMaker(store, files, stored_flows, backends.new_masker)
    known = KnownRuns(store, files, maker, backends)
    run_secrets = ServerSecrets(secrets, seal, stored_flows)
    runs = ServerRuns(store, maker, known, run_secrets, options, backends, settings.runs, clock)
    flows = Flows(store, files, stored_flows, maker, backends.new_evaluator, examine, secrets.names)
    return LocalService(flows, runs)


def _refuse_graph(path: str, target: GraphTarget) -> PlannedFlow:
    """A server never imports the code of a user: it would run with the rights of every run."""
    raise GraphRefused(path)
