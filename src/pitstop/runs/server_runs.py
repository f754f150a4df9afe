"""The runs of a server: they outlive the clients that started them, and the server itself."""

import asyncio
import logging
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack, closing, suppress
from functools import partial
from pathlib import Path
from typing import Any, Protocol, Self

from msgspec import Struct
from msgspec.structs import replace

from pitstop.engine.clock import SystemClock
from pitstop.engine.executor import Executor, Placement, RunnerInfo
from pitstop.engine.ports import Clock
from pitstop.engine.workspace_files import NewScan
from pitstop.errors import Elsewhere, LogLost, NotRunning, PitstopError, RunExists, StoreProblem, UnknownRun
from pitstop.events.outcome import Outcome, Status, error_of
from pitstop.events.types import RunEnded
from pitstop.runs.collecting import is_done_with, remove_old_snapshots, remove_old_workspaces
from pitstop.runs.groups import Groups
from pitstop.runs.known_runs import Announce, Backends, KnownRuns
from pitstop.runs.live_run import LiveRun
from pitstop.runs.past_run import PastRun
from pitstop.runs.run_info import ENDED
from pitstop.runs.run_maker import PreparedRun, RunMaker
from pitstop.runs.run_request import RerunRequest, RunRequest
from pitstop.runs.server_identity import is_dead, new_server_id
from pitstop.runs.server_run import Ownership
from pitstop.runs.shared import Evaluators, Workplaces
from pitstop.runs.slots import Slots
from pitstop.store.port import Claim, KeptRun, RunRecord, ServerRecord, ServerStore

BEATS_PER_LEASE = 3
TAKEN_AT_ONCE = 10_000
OPENED_AT_ONCE = 200
BEGIN_SECONDS = 5.0  # at most, from when a run is ours until it begins
TAKE_UP_SECONDS = 10.0  # for a workspace that another client looks into at this moment

log = logging.getLogger(__name__)


class ServerOptions(Struct, frozen=True, kw_only=True):
    """How a server works. A run whose server was silent for `lease_seconds` is taken over by another.

    The workspace of a run is stored for `keep_seconds` after its end. A server that shuts down gives running steps
    `drain_seconds` to end.
    """

    address: str = ""
    home: str = ""  # the id of the folder where its repositories are
    slots: int = 4
    lease_seconds: float = 15.0
    keep_seconds: float = 24 * 3600.0
    drain_seconds: float = 10.0
    collect_seconds: float = 60.0  # how often old files are removed


class RunSecrets(Protocol):
    """The secrets of runs, which are stored sealed."""

    async def used_by(self, prepared: PreparedRun) -> Mapping[str, str]:
        """The stored secrets that the run uses and may have."""
        ...

    def seal(self, secrets: Mapping[str, str]) -> bytes: ...

    def of(self, record: RunRecord) -> Mapping[str, str]:
        """The secrets that were sealed with a run; SealBroken."""
        ...


class ServerRuns:
    """Owns the runs of a server. Other servers of the database resume those that this one leaves."""

    def __init__(
        self,
        store: ServerStore,
        maker: RunMaker,
        known: KnownRuns,
        secrets: RunSecrets,
        options: ServerOptions,
        backends: Backends,
        local_runs: Path,
        clock: Clock | None = None,
    ) -> None:
        self.id = new_server_id()
        self.slots = Slots(options.slots)
        self.is_ready = False
        self.store_trouble: str | None = None  # why the leases could not be renewed last time
        self.events_appended = 0  # by the runs of this server, since it began
        self._store = store
        self._maker = maker
        self._known = known
        self._secrets = secrets
        self._options = options
        self._backends = backends
        self._local_runs = local_runs
        self._clock = clock or SystemClock()
        # What it started has ended before another server may take its runs over
        self._executor: Executor = backends.new_executor(options.lease_seconds / 2)
        self._evaluators = Evaluators(backends.new_evaluator)
        self._workplaces = Workplaces(self._executor, backends.new_masker, 2 * options.lease_seconds, self._leave_lost)
        self._groups = Groups()
        self._owners: dict[str, Ownership] = {}  # of the live runs, by id
        self._claimed: set[str] = set()  # the runs that are ours and are to be resumed
        self._tasks = asyncio.TaskGroup()
        self._chores: list[asyncio.Task[None]] = []
        self._has_begun = asyncio.Event()  # set when the next run begins
        self._is_draining = False
        self.runs, self.pin, self.delete = known.runs, known.pin, known.delete

    async def __aenter__(self) -> Self:
        await self._tasks.__aenter__()
        await self._store.register_server(self.id, self._options.address, self._options.home)
        await self._free_runs_of_the_dead()
        claims = await self._claim()
        self._chores = [
            self._tasks.create_task(self._resume_first(claims), name="resume runs"),
            self._tasks.create_task(self._keep_leases(), name="keep leases"),
            self._tasks.create_task(self._remove_old_files(), name="remove old files"),
        ]
        self.is_ready = True
        return self

    async def __aexit__(self, *error: Any) -> None:
        """Let running steps end, then leave the runs to other servers."""
        self.is_ready = False
        await self._drain()
        for run in list(self._known.live.values()):
            run.leave()
        for chore in self._chores:
            chore.cancel()
        async with AsyncExitStack() as stack:  # from the last to the first, even if one fails
            stack.push_async_callback(self._store.close)
            stack.push_async_callback(self._evaluators.close)
            stack.push_async_callback(self._executor.close, keep=True)
            stack.push_async_callback(self._store.forget_server, self.id)
            await self._tasks.__aexit__(None, None, None)

    @property
    def waiting_stops(self) -> int:
        """How many stops of all runs wait for a command."""
        return sum(len(run.stops) for run in self._known.live.values() if not run.is_over)

    async def runners(self) -> list[RunnerInfo]:
        """The machines that run commands for this server."""
        return await self._executor.runners()

    # Runs

    async def start(self, request: RunRequest, announce: Announce) -> LiveRun | PastRun:
        return await self._launch(await self._maker.prepare(request), announce)

    async def rerun(self, run: str, request: RerunRequest, announce: Announce) -> LiveRun | PastRun:
        return await self._launch(await self._maker.prepare_rerun(run, request), announce)

    async def _launch(self, prepared: PreparedRun, announce: Announce) -> LiveRun | PastRun:
        """Begin a run; one whose id was reserved for a request that came before a crash may exist already."""
        secrets = {**await self._secrets.used_by(prepared), **prepared.request.secrets}
        if secrets:
            record = replace(prepared.record, sealed_secrets=self._secrets.seal(secrets))
            prepared = replace(await self._maker.recall(record, secrets), events=prepared.events)
        before = self._known.live.get(prepared.record.from_run or "")
        if before is not None and before.is_over:  # the new run may need files of the workspace that it releases
            await before.is_gone.wait()
        try:
            kept = await self._store.create(
                prepared.record, prepared.events, owner=self.id, lease_seconds=self._options.lease_seconds
            )
        except RunExists:
            await announce(prepared.record.id)
            return await self.run(prepared.record.id)
        try:
            await announce(kept.id)
        finally:  # it is owned by this server, which has to run it even if the caller is gone
            # It is live already if this server hung for so long that the lease expired
            run = self._known.live.get(kept.id) or self._begin(kept, prepared)
        return run

    def _begin(self, kept: KeptRun, prepared: PreparedRun, left_at: float | None = None) -> LiveRun:
        places = self.slots, self._groups
        owner = Ownership(kept, prepared, *places, self._options.keep_seconds, left_at, self._count_event)
        run: LiveRun = LiveRun(
            self._store,
            kept,
            prepared,
            new_evaluator=self._evaluators.lend,
            open_workplace=partial(self._workplaces.open, is_left=lambda: run.is_left),
            new_snapshots=self._backends.new_snapshots,
            combining=self._backends.combining,
            clock=self._clock,
            owner=owner,
        )
        run.begin()
        if self._is_draining:  # it was claimed before
            run.hold_steps()
        self._known.live[run.id] = run
        self._owners[run.id] = owner
        self._has_begun.set()
        self._has_begun = asyncio.Event()
        self._tasks.create_task(self._execute_in_slot(run, owner), name=run.id)
        return run

    async def _execute_in_slot(self, run: LiveRun, owner: Ownership) -> None:
        try:
            async with owner.in_slot(run.cancel_now):
                await run.execute()
        except LogLost:
            log.info("run %s was taken over by another server", run.id)
        except Exception as error:  # the trouble of one run is not that of the others
            log.exception("run %s could not be executed", run.id)
            if not _is_of_store(error):  # then its lease expires, and it is resumed
                await self._give_up(run.id, "execute", error)
        finally:
            del self._owners[run.id]
            self._known.forget(run)

    async def run(self, run: str) -> LiveRun | PastRun:
        """A run that is ours and has not begun, because it was just made or taken over, is waited for."""
        is_late = False
        while run not in self._known.live:
            kept, record = await self._known.read(run)
            owner = None if record.status in ENDED else await self._store.owner_of(run)
            is_ours = owner is not None and owner.id == self.id
            if is_ours and self.is_ready and not is_late:
                try:
                    async with self._clock.timeout(BEGIN_SECONDS):
                        while run not in self._known.live:
                            await self._has_begun.wait()
                except TimeoutError:
                    is_late = True
            else:
                past = await self._open_past(kept, record, None if is_ours else owner)
                if run not in self._known.live:
                    return past
        return self._known.live[run]

    async def leave(self, run: str) -> None:
        """Nothing is to be done: a run stays paused on its server. UnknownRun."""
        await self._known.read(run)

    async def take_up(self, run: str, secrets: Mapping[str, str]) -> LiveRun | PastRun:
        """The run as it is, with the secrets that it has. NotRunning when it has ended."""
        found = await self.run(run)
        if found.is_over:
            raise NotRunning
        return found

    async def _open_past(self, kept: KeptRun, record: RunRecord, owner: ServerRecord | None) -> PastRun:
        secrets = self._secrets.of(record)
        masker = self._backends.new_masker(secrets) if secrets else None
        return await self._known.past(
            kept,
            record,
            take_files=lambda: self._take_files(record, None if masker is None else masker.new_scan),
            mask=None if masker is None else masker.mask_text,
            refusal=None if owner is None else Elsewhere(record.id, owner.address),
        )

    async def _take_files(self, record: RunRecord, new_scan: NewScan | None) -> str | None:
        """A snapshot of the workspace of a run that has ended, if it is still there."""
        if record.workspace is None or record.workspace not in await self._executor.kept():
            return None
        place = await self._executor.acquire(Placement(workspace=record.workspace, deadline_seconds=TAKE_UP_SECONDS))
        try:
            with closing(self._executor.snapshots(place)) as snapshots:
                return await snapshots.take(owner=record.id, new_scan=new_scan)
        finally:
            await self._executor.release(place, keep=True)

    # Leases

    async def _free_runs_of_the_dead(self) -> None:
        """Forget servers of this machine whose process is gone: their leases need not expire first."""
        for server in await self._store.servers():
            if server.id != self.id and is_dead(server.id):
                await self._store.forget_server(server.id)

    async def _claim(self) -> Sequence[Claim]:
        """Make every run ours that has no server."""
        claims = await self._store.claim(self.id, self._options.lease_seconds, TAKEN_AT_ONCE)
        self._claimed.update(claim.record.id for claim in claims)
        return claims

    async def _resume_first(self, claims: Sequence[Claim]) -> None:
        """Resume the runs that were found at the start, while the server is ready for others."""
        try:
            await self._resume_all(claims)
        except StoreProblem:  # their leases expire, and they are claimed again
            log.exception("cannot resume runs")

    async def _resume_all(self, claims: Sequence[Claim]) -> None:
        try:
            for first in range(0, len(claims), OPENED_AT_ONCE):  # the first resume while the next are read
                some = claims[first : first + OPENED_AT_ONCE]
                for claim, kept in zip(some, await self._open(some), strict=True):
                    await asyncio.sleep(0)
                    if kept is not None:
                        await self._resume(claim, kept)
        finally:
            self._claimed.difference_update(claim.record.id for claim in claims)

    async def _open(self, claims: Sequence[Claim]) -> Sequence[KeptRun | None]:
        """The runs, to be resumed; None for one whose log cannot be read, which has failed then."""
        try:
            return await self._store.open_claimed(claims)
        except StoreProblem:
            raise
        except Exception as error:  # noqa: BLE001 - the trouble of one run is not that of the others
            if len(claims) == 1:
                await self._give_up(claims[0].record.id, "resume", error)
                return [None]
            return [kept for claim in claims for kept in await self._open([claim])]

    async def _resume(self, claim: Claim, kept: KeptRun) -> None:
        record = claim.record
        try:
            prepared = await self._maker.recall(record, self._secrets.of(record))
            before = self._known.live.get(record.id)
            if before is not None:  # it was ours, and we renewed its lease too late
                before.leave()
                await before.is_gone.wait()
            self._begin(kept, prepared, claim.left_at)
        except StoreProblem:
            raise
        except Exception as error:  # noqa: BLE001 - the trouble of one run is not that of the others
            with suppress(LogLost):
                kept.log.append(RunEnded(self._clock.now(), Outcome(Status.FAILED, error=error_of(error, ""))))
            await kept.close()
            await self._give_up(record.id, "resume", error)

    async def _give_up(self, run: str, what: str, error: Exception) -> None:
        """Store that a run has failed: it would fail in the same way the next time."""
        reason = str(error) if isinstance(error, PitstopError) else repr(error)
        log.warning("cannot %s run %s: %s", what, run, reason)
        with suppress(StoreProblem, UnknownRun):  # what cannot be stored is tried again, when its lease expires
            kept = await self._store.open(run, events=False)
            await kept.update(status="failed", ended_at=self._clock.now(), error=f"cannot {what} it: {reason}")

    async def _keep_leases(self) -> None:
        while True:
            await self._clock.sleep(self._options.lease_seconds / BEATS_PER_LEASE)
            try:
                await self.renew_leases()
                self.store_trouble = None
            except PitstopError as error:
                self.store_trouble = str(error)
                log.warning("cannot renew the leases of runs: %s", error)

    async def renew_leases(self) -> None:
        """Keep our runs, leave those that another server has by now, and resume those that have none."""
        held = list(self._known.live.values())  # one that begins meanwhile is not in the answer
        names = {*self._claimed, *(run.id for run in held)}
        ours = await self._store.renew(self.id, names, self._options.lease_seconds)
        for run in held:
            if run.id not in ours:
                run.leave()
        if self.is_ready:  # a server that shuts down takes nothing over
            await self._free_runs_of_the_dead()
            await self._resume_all(await self._claim())

    def _leave_lost(self, run: str) -> None:
        """This server hung for so long that what it had started was ended: the run is claimed again."""
        if run in self._known.live:
            self._known.live[run].leave()

    async def _drain(self) -> None:
        """Start no further step, and wait for those that run."""
        self._is_draining = True
        for run in self._known.live.values():
            run.hold_steps()
        with suppress(TimeoutError):
            async with self._clock.timeout(self._options.drain_seconds):
                for run in list(self._known.live.values()):
                    await self._wait_still(run)

    async def _wait_still(self, run: LiveRun) -> None:
        """Wait until no step runs: each frame has reached its next step, or a stop of its debugger."""
        owner = self._owners[run.id]
        while not run.is_over and owner.at_work - {stop.occurrence for stop in run.stops}:
            await owner.wait_change()

    # Old files

    async def _remove_old_files(self) -> None:
        while True:
            try:
                await remove_old_workspaces(self._executor, self._is_done_with)
                await remove_old_snapshots(self._backends.new_snapshots(), self._is_done_with, self._clock.now())
            except (PitstopError, OSError):
                log.exception("could not remove files of old runs")
            await self._clock.sleep(self._options.collect_seconds)

    async def _is_done_with(self, run: str) -> bool:
        return run not in self._known.live and await is_done_with(run, self._store, self._local_runs, self._clock.now())

    def _count_event(self) -> None:
        self.events_appended += 1


def _is_of_store(error: Exception) -> bool:
    """Whether the store is the reason, which may be in the group of a TaskGroup."""
    if isinstance(error, ExceptionGroup):
        return error.subgroup(StoreProblem) is not None
    return isinstance(error, StoreProblem)
