"""The service of a server: its runs outlive those who asked for them, and the server itself."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Collection, Sequence
from contextlib import AsyncExitStack, closing, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Self

from pitstop.engine.clock import SystemClock
from pitstop.engine.executor import Executor, Placement
from pitstop.engine.ports import Clock, Evaluator
from pitstop.errors import Elsewhere, GraphRefused, LogLost, PitstopError, RunExists
from pitstop.events.outcome import Outcome, Status, error_of
from pitstop.events.types import RunEnded
from pitstop.runs.graph_targets import GraphTarget
from pitstop.runs.past_run import PastRun
from pitstop.runs.planned_flow import PlannedFlow
from pitstop.runs.run_maker import PreparedRun
from pitstop.runs.run_snapshots import SnapshotKeeping
from pitstop.runs.run_watch import RunWatch
from pitstop.runs.server_run import ServerRun
from pitstop.runs.shared import Evaluators, Workplaces
from pitstop.runs.slots import Slots
from pitstop.runs.workplaces import NewExecutor, NewMasker
from pitstop.service.api import Finding
from pitstop.service.collecting import is_done_with, remove_old_snapshots, remove_old_workspaces
from pitstop.service.flow_secrets import used_secrets
from pitstop.service.local import LocalService
from pitstop.service.sealing import Seal
from pitstop.service.secrets import Secrets
from pitstop.service.server_identity import is_dead, new_server_id
from pitstop.settings import Settings
from pitstop.store.port import Claim, KeptRun, RunRecord, ServerRecord, ServerStore

BEATS_PER_LEASE = 3
TAKEN_AT_ONCE = 10_000
OPENED_AT_ONCE = 200
BEGIN_SECONDS = 5.0  # at most, between when a run is ours and when it begins
TAKE_UP_SECONDS = 10.0  # for a workspace that somebody else looks into at this moment

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerOptions:
    """How a server works. A run whose server was not heard of for `lease_seconds` is taken over by another.

    The workspace of a run is kept for `keep_seconds` after its end. Asked to end, a server gives the steps that are at
    work `drain_seconds` to end by themselves.
    """

    address: str = ""
    slots: int = 4
    lease_seconds: float = 15.0
    keep_seconds: float = 24 * 3600.0
    drain_seconds: float = 10.0
    collect_seconds: float = 60.0  # how often old files are looked for


class ServerService(LocalService):
    """A Service whose runs are kept in a database: any server that has it goes on with them."""

    def __init__(
        self,
        settings: Settings,
        store: ServerStore,
        seal: Seal,
        options: ServerOptions,
        secrets: Secrets,
        *,
        new_executor: NewExecutor,
        new_evaluator: Callable[[], Evaluator],
        new_masker: NewMasker,
        new_snapshots: Callable[[], SnapshotKeeping],
        examine: Callable[[], Awaitable[tuple[Finding, ...]]],
        flow_folders: Sequence[Path] = (),
        clock: Clock | None = None,
    ) -> None:
        super().__init__(
            store,
            new_executor=new_executor,
            new_evaluator=new_evaluator,
            new_masker=new_masker,
            new_snapshots=new_snapshots,
            examine=examine,
            flow_folders=flow_folders,
        )
        self.id = new_server_id()
        self.options = options
        self._clock = clock or SystemClock()
        self.slots = Slots(options.slots)
        self.is_ready = False
        self.events_appended = 0  # by the runs of this server, since it began
        self._live: dict[str, ServerRun] = {}  # type: ignore[assignment] # of a server all runs are
        self._settings = settings
        self._server_store = store
        self._seal = seal
        self._secrets = secrets
        self._new_masker = new_masker
        # What it started has ended before another server may take its runs over
        self._executor: Executor = new_executor(options.lease_seconds / 2)
        self._evaluators = Evaluators(new_evaluator)
        self._workplaces = Workplaces(self._executor, new_masker, 2 * options.lease_seconds, self._leave_lost)
        self._chores: list[asyncio.Task[None]] = []
        self._has_begun = asyncio.Event()  # whichever run is next to begin
        self._is_draining = False

    async def __aenter__(self) -> Self:
        await super().__aenter__()
        await self._server_store.register_server(self.id, self.options.address)
        await self._free_runs_of_the_dead()
        await self._take_over()
        self._chores = [
            self._tasks.create_task(self._keep_leases(), name="keep leases"),
            self._tasks.create_task(self._remove_old_files(), name="remove old files"),
        ]
        self.is_ready = True
        return self

    async def __aexit__(self, *error: Any) -> None:
        """Let steps that are at work end, then leave the runs to whoever goes on with them."""
        self.is_ready = False
        await self._drain()
        for run in list(self._live.values()):
            run.leave()
        for chore in self._chores:
            chore.cancel()
        async with AsyncExitStack() as stack:  # from the last to the first, whatever becomes of the others
            stack.push_async_callback(self._store.close)
            stack.push_async_callback(self._evaluators.close)
            stack.push_async_callback(self._executor.close, keep=True)
            stack.push_async_callback(self._server_store.forget_server, self.id)
            await self._tasks.__aexit__(None, None, None)

    # How it is doing

    @property
    def waiting_stops(self) -> int:
        """Stops that wait for somebody."""
        return sum(len(run.session.stops) for run in self._live.values() if run.session is not None and not run.is_over)

    # Runs

    async def _launch(self, prepared: PreparedRun) -> Any:
        """Begin a run; one whose id was reserved for a request that came before a crash may be there already."""
        secrets = {**await self._stored_secrets(prepared), **prepared.request.secrets}
        if secrets:
            sealed = self._seal.close(secrets)
            record = replace(prepared.record, sealed_secrets=sealed)
            prepared = replace(await self._maker.recall(record, secrets), events=prepared.events)
        before = self._live.get(prepared.record.from_run or "")
        if before is not None and before.is_over:  # it gives up its workspace yet, whose files may be wanted
            await before.wait_gone()
        lease_seconds = self.options.lease_seconds
        try:
            kept = await self._server_store.create(
                prepared.record, prepared.events, owner=self.id, lease_seconds=lease_seconds
            )
        except RunExists:
            return await self.run(prepared.record.id)
        if kept.id in self._live:  # we stood still for so long that its lease was over: it is taken over already
            return self._live[kept.id]
        return self._begin(kept, prepared)

    def _begin(self, kept: KeptRun, prepared: PreparedRun, left_at: float | None = None) -> ServerRun:
        record = prepared.record
        watch = RunWatch(record, prepared.plan, lambda **changes: self._note(kept, changes), self._count_event)
        run = ServerRun(
            self._evaluators.lend,
            self._store,
            kept,
            prepared,
            self._workplaces.open,
            watch=watch,
            slots=self.slots,
            new_snapshots=self._new_snapshots,
            keep_seconds=self.options.keep_seconds,
            clock=self._clock,
            left_at=left_at,
        )
        run.begin()
        if self._is_draining:  # it was claimed before
            run.stand_still()
        self._live[run.id] = run
        self._has_begun.set()
        self._has_begun = asyncio.Event()
        self._carrying_out[run.id] = self._tasks.create_task(self._carry_out_when_due(run, watch), name=run.id)
        return run

    async def _carry_out_when_due(self, run: ServerRun, watch: RunWatch) -> None:
        record = watch.record
        try:
            async with self.slots.taken(record.flow, record.priority, run.id) as slot:
                watch.slot = slot
                await run.carry_out()
        except LogLost:
            log.info("run %s was taken over by another server", run.id)
        except Exception:  # one run's trouble is not that of the others
            log.exception("run %s could not be executed", run.id)
        finally:
            del self._live[run.id], self._carrying_out[run.id]
            run.set_gone()

    async def run(self, run: str) -> PastRun:
        """One that is ours and has not begun, because it is just made or taken over, is waited for: it can be told
        what to do then.
        """
        is_late = False
        while run not in self._live:
            found = await super().run(run)
            record = await found.kept.record()
            owner = None if found.is_over else await self._server_store.owner_of(run)
            is_ours = owner is not None and owner.id == self.id
            if is_ours and self.is_ready and not is_late:
                try:
                    async with self._clock.timeout(BEGIN_SECONDS):
                        while run not in self._live:
                            await self._has_begun.wait()
                except TimeoutError:
                    is_late = True
            elif run not in self._live:
                return self._as_it_was_left(found, record, None if is_ours else owner)
        return self._live[run]

    def _as_it_was_left(self, found: PastRun, record: RunRecord, owner: ServerRecord | None) -> PastRun:
        found.take_files = lambda: self._files_left(record)
        if record.sealed_secrets:
            secrets = self._seal.open(record.sealed_secrets)
            found.mask = self._new_masker(secrets).mask_text
        if owner is not None:
            found.refusal = Elsewhere(found.id, owner.address)
        return found

    async def _files_left(self, record: RunRecord) -> str | None:
        """A snapshot of the workspace of a run that has ended, if it is still there."""
        if record.workspace is None or record.workspace not in await self._executor.kept():
            return None
        place = await self._executor.acquire(Placement(workspace=record.workspace, deadline_seconds=TAKE_UP_SECONDS))
        try:
            with closing(self._executor.snapshots(place)) as snapshots:
                return await snapshots.take(owner=record.id)
        finally:
            await self._executor.release(place, keep=True)

    async def _stored_secrets(self, prepared: PreparedRun) -> dict[str, str]:
        """The secrets of this server that the flow uses and may have."""
        planned = prepared.planned
        used = used_secrets(planned)
        if not used:
            return {}
        flow = self._stored.name_of(prepared.record.file, planned.texts.get(planned.flow.source.file, ""))
        return await self._secrets.values_for(None, flow, used)

    async def _known_secrets(self) -> Collection[str]:
        return await self._secrets.names()

    def _plan_graph(self, path: str, target: GraphTarget) -> PlannedFlow:
        """A server never imports the code of a user: it would run with the rights of every run."""
        raise GraphRefused(path)

    # Whatever happens to servers

    async def _free_runs_of_the_dead(self) -> None:
        """Servers of this machine whose process is gone need not be waited for."""
        for server in await self._server_store.servers():
            if server.id != self.id and is_dead(server.id):
                await self._server_store.forget_server(server.id)

    async def _take_over(self) -> None:
        """Go on with every run that has no server any more."""
        claims = await self._server_store.claim(self.id, self.options.lease_seconds, TAKEN_AT_ONCE)
        for first in range(0, len(claims), OPENED_AT_ONCE):  # the first go on while the next are read
            some = claims[first : first + OPENED_AT_ONCE]
            for claim, kept in zip(some, await self._server_store.open_claimed(some), strict=True):
                await self._go_on(claim, kept)

    async def _go_on(self, claim: Claim, kept: KeptRun) -> None:
        record = claim.record
        try:
            secrets = self._seal.open(record.sealed_secrets) if record.sealed_secrets else {}
            prepared = await self._maker.recall(record, secrets)
        except PitstopError as error:
            log.warning("cannot resume run %s: %s", record.id, error)
            outcome = Outcome(Status.FAILED, error=error_of(error, ""))
            now = self._clock.now()
            kept.log.append(RunEnded(now, outcome))
            await kept.update(status="failed", ended_at=now, error=f"cannot resume it: {error}")
            await kept.close()
        else:
            before = self._live.get(record.id)
            if before is not None:  # it was ours, and we were too late to say so
                before.leave()
                await before.wait_gone()
            self._begin(kept, prepared, claim.left_at)

    async def _keep_leases(self) -> None:
        while True:
            await self._clock.sleep(self.options.lease_seconds / BEATS_PER_LEASE)
            try:
                await self.renew_leases()
            except PitstopError:
                log.exception("cannot read leases from the database")

    async def renew_leases(self) -> None:
        """Hold on to our runs, leave those that are another's by now, and go on with those that nobody has."""
        held = list(self._live.values())  # what begins while the database is asked is not in its answer
        ours = await self._server_store.renew(self.id, [run.id for run in held], self.options.lease_seconds)
        for run in held:
            if run.id not in ours:
                run.leave()
        if self.is_ready:  # whoever is about to end takes nothing over
            await self._free_runs_of_the_dead()
            await self._take_over()

    def _leave_lost(self, run: str) -> None:
        """This server stood still for so long that what it had started was ended: the run is claimed anew."""
        if run in self._live:
            self._live[run].leave()

    async def _drain(self) -> None:
        """Start nothing more, and wait for what is at work."""
        self._is_draining = True
        for run in self._live.values():
            run.stand_still()
        with suppress(TimeoutError):
            async with self._clock.timeout(self.options.drain_seconds):
                for run in list(self._live.values()):
                    await run.wait_still()

    async def _remove_old_files(self) -> None:
        while True:
            try:
                await remove_old_workspaces(self._executor, self._is_done_with)
                await remove_old_snapshots(self._new_snapshots(), self._is_done_with, self._clock.now())
            except (PitstopError, OSError):
                log.exception("could not remove files of old runs")
            await self._clock.sleep(self.options.collect_seconds)

    async def _is_done_with(self, run: str) -> bool:
        if run in self._live:
            return False
        return await is_done_with(run, self._store, self._settings.runs, self._clock.now())

    def _count_event(self) -> None:
        self.events_appended += 1

    def _note(self, kept: KeptRun, changes: dict[str, Any]) -> None:
        with suppress(LogLost):
            kept.note(**changes)
