"""Opens the service of a server, whose runs are in its database."""

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, nullcontext
from pathlib import Path

from pitstop.engine.clock import SystemClock
from pitstop.engine.ports import Clock, Evaluator
from pitstop.errors import GraphRefused
from pitstop.platform.workshop import Workshop
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
from pitstop.service.local.cards import CardDesk
from pitstop.service.local.feed import FollowedFeed
from pitstop.service.local.flows import Examine, FlowDesk
from pitstop.service.local.hooks import HookDesk
from pitstop.service.local.playground import PlaygroundDesk
from pitstop.service.local.repos import RepoDesk
from pitstop.service.local.runs import RunDesks
from pitstop.service.local.test_history import TestDesk
from pitstop.service.local.triggers import TriggerDesk
from pitstop.service.sealing import Seal
from pitstop.service.secrets import Secrets
from pitstop.service.server_secrets import ServerSecrets
from pitstop.settings import Settings
from pitstop.store.port import ServerStore

NewWorkshop = Callable[[FlowFiles, Callable[[], Evaluator], Clock], Workshop]


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
    new_workshop: NewWorkshop | None = None,
) -> AsyncIterator[ServerService]:
    """A service whose runs outlive it. It has repositories if it is told how to make the workshop for them."""
    clock = clock or SystemClock()
    stored_flows = StoredFlows(flow_folders)
    files = FlowFiles(_refuse_graph, limits=settings.limits, may_quote=stored_flows.holds, in_threads=True)
    workshop = None if new_workshop is None else new_workshop(files, backends.new_evaluator, clock)
    repositories = None if workshop is None else workshop.flows
    maker = RunMaker(store, files, stored_flows, backends.new_masker, backends.new_evaluator, repositories)
    known = KnownRuns(store, files, maker, backends)
    run_secrets = ServerSecrets(secrets, seal, stored_flows)
    server_runs = ServerRuns(store, maker, known, run_secrets, options, backends, settings.runs, clock)
    evaluators, record = backends.new_evaluator, record_nothing if audit is None else audit.record
    async with (
        server_runs as owned,
        nullcontext() if audit is None else audit.open(),
        nullcontext() if workshop is None else workshop.open(owned),
    ):
        runs = RunDesks(owned, record)
        repos = None if workshop is None else RepoDesk(workshop, clock, record)
        cards = None if workshop is None else CardDesk(workshop, record)
        hooks = None if workshop is None else HookDesk(workshop, seal, clock, record)
        yield ServerService(
            flows=FlowDesk(store, files, stored_flows, maker, evaluators, examine, record, secrets.names),
            runs=runs,
            debugging=runs,
            workspaces=runs,
            access=access,
            secrets=secrets,
            audit=audit,
            repos=repos,
            git=repos,
            cards=cards,
            playground=None if workshop is None or cards is None else PlaygroundDesk(workshop, cards, clock, record),
            hooks=hooks,
            test_history=None if workshop is None else TestDesk(workshop),
            deliveries=hooks,
            feed=None if workshop is None else FollowedFeed(workshop),
            triggers=None if workshop is None or repos is None else TriggerDesk(workshop, repos, clock, record),
            owned=owned,
        )


def _refuse_graph(path: str, target: GraphTarget) -> PlannedFlow:
    """A server never imports the code of a user: it would run with the rights of every run."""
    raise GraphRefused(path)
