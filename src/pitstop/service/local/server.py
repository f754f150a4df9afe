"""Opens the service of a server, whose runs are in its database."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, nullcontext
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
from pitstop.service.access import Access
from pitstop.service.audit import Audit
from pitstop.service.caller import record_nothing
from pitstop.service.desks import Service
from pitstop.service.local.flows import Examine, FlowDesk
from pitstop.service.local.runs import RunDesks
from pitstop.service.sealing import Seal
from pitstop.service.secrets import Secrets
from pitstop.service.server_secrets import ServerSecrets
from pitstop.settings import Settings
from pitstop.store.port import ServerStore


class ServerService(Service, frozen=True, kw_only=True):
    """A Service, and what owns its runs."""

    owned: ServerRuns


@asynccontextmanager
async def open_server_service(
    settings: Settings,
    store: ServerStore,
    seal: Seal,
    options: ServerOptions,
    secrets: Secrets,
    backends: Backends,
    examine: Examine,
    flow_folders: Sequence[Path] = (),
    *,
    access: Access | None = None,
    audit: Audit | None = None,
    clock: Clock | None = None,
) -> AsyncIterator[ServerService]:
    """A service whose runs outlive it."""
    stored_flows = StoredFlows(flow_folders)
    files = FlowFiles(_refuse_graph, limits=settings.limits, may_quote=stored_flows.holds, in_threads=True)
    maker = RunMaker(store, files, stored_flows, backends.new_masker, backends.new_evaluator)
    known = KnownRuns(store, files, maker, backends)
    run_secrets = ServerSecrets(secrets, seal, stored_flows)
    server_runs = ServerRuns(store, maker, known, run_secrets, options, backends, settings.runs, clock)
    evaluators, record = backends.new_evaluator, record_nothing if audit is None else audit.record
    async with server_runs as owned, nullcontext() if audit is None else audit.open():
        runs = RunDesks(owned, record)
        yield ServerService(
            flows=FlowDesk(store, files, stored_flows, maker, evaluators, examine, record, secrets.names),
            runs=runs,
            debugging=runs,
            workspaces=runs,
            access=access,
            secrets=secrets,
            audit=audit,
            owned=owned,
        )


def _refuse_graph(path: str, target: GraphTarget) -> PlannedFlow:
    """A server never imports the code of a user: it would run with the rights of every run."""
    raise GraphRefused(path)
