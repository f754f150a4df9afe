"""The runs of a process without a server: they end with it, but for those that it leaves."""

import asyncio
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from functools import partial
from typing import TYPE_CHECKING, Any, Self

from msgspec.structs import replace

from pitstop.engine.executor import Executor
from pitstop.errors import (
    CommandRefused,
    InAnotherProcess,
    NotPaused,
    NotRunning,
    PitstopError,
    RunLeft,
    Unavailable,
    UnknownRun,
)
from pitstop.events.outcome import Outcome, Status, StepError
from pitstop.events.types import RunEnded, Stopped
from pitstop.runs.collecting import workspaces_of
from pitstop.runs.journal import end_in, had_session
from pitstop.runs.known_runs import Announce, Backends, KnownRuns
from pitstop.runs.live_run import LiveRun
from pitstop.runs.run_info import ENDED
from pitstop.runs.run_maker import PreparedRun, RunMaker
from pitstop.runs.run_request import DebugRequest, RerunRequest, RunRequest
from pitstop.runs.workplaces import make_workplace
from pitstop.store.port import KeptRun, LocalStore, RunFilter

if TYPE_CHECKING:  # a run that is not debugged need not load these
    from pitstop.debugger.session import Session
    from pitstop.runs.past_run import PastRun

LEFT_ALONE = "the client that started it has disconnected"
MOST_LEFT = 20
TOO_MANY_LEFT = f"it was left paused, and only the newest {MOST_LEFT} such runs are kept"


class LocalRuns:
    """Owns the runs of a process. Leaving it cancels those that are not over, and waits for them.

    A run that was left, or whose process was killed, is continued from its log by the process that takes it up.
    """

    def __init__(self, store: LocalStore, maker: RunMaker, known: KnownRuns, backends: Backends) -> None:
        self._store = store
        self._maker = maker
        self._known = known
        self._backends = backends
        self._tasks = asyncio.TaskGroup()
        self._taken_up: set[str] = set()
        self.runs, self.pin = known.runs, known.pin

    async def __aenter__(self) -> Self:
        await self._tasks.__aenter__()
        return self

    async def __aexit__(self, *error: Any) -> None:
        """End the runs, but leave one that was taken up and is paused: the client may have made a mistake."""
        for run in list(self._known.live.values()):
            if run.id in self._taken_up and run.stops and run.kept.problem is None:
                _leave(run)
            else:
                self._end(run, LEFT_ALONE)
        try:
            await self._tasks.__aexit__(None, None, None)
        except BaseExceptionGroup as group:  # of one run: the caller knows of no group
            raise group.exceptions[0] from None
        finally:
            await self._store.close()

    def _end(self, run: LiveRun, reason: str) -> None:
        run.cancel_now(reason)
        if run.session is not None:
            self._tasks.create_task(_pass_stops(run, run.session), name=f"stops of {run.id}")

    async def start(self, request: RunRequest, announce: Announce) -> LiveRun:
        return await self._launch(await self._maker.prepare(request), announce)

    async def rerun(self, run: str, request: RerunRequest, announce: Announce) -> LiveRun:
        return await self._launch(await self._maker.prepare_rerun(run, request), announce)

    async def _launch(self, prepared: PreparedRun, announce: Announce) -> LiveRun:
        """Begin a run. One that cannot begin, because there is no place for it, is deleted and raises why."""
        record = replace(prepared.record, workspace=prepared.record.id)  # the name by which it is taken up
        run = self._execute(await self._store.create(record, prepared.events), replace(prepared, record=record))
        try:
            await run.ready()
            await announce(run.id)
        except BaseException:
            run.cancel_now(LEFT_ALONE)  # if the caller is gone, nothing else would begin or end it
            await run.is_gone.wait()
            with suppress(UnknownRun):  # not even its record could be stored
                await self._store.delete(run.id)
            raise
        run.begin()
        return run

    def _execute(self, kept: KeptRun, prepared: PreparedRun) -> LiveRun:
        backends = self._backends
        new_executor, new_masker = backends.new_executor, backends.new_masker
        run: LiveRun = LiveRun(
            self._store,
            kept,
            prepared,
            new_evaluator=backends.new_evaluator,
            open_workplace=partial(
                make_workplace, new_executor, new_masker, is_left=lambda: run.is_left, is_resumable=True
            ),
            new_snapshots=backends.new_snapshots,
            combining=backends.combining,
        )
        self._known.live[run.id] = run
        self._tasks.create_task(self._execute_to_end(run), name=run.id)
        return run

    async def _execute_to_end(self, run: LiveRun) -> None:
        try:
            await run.execute()
        finally:
            self._known.forget(run)
        for old in await self._store.old_runs():
            if old != run.id:  # the client may still look at it
                with suppress(PitstopError, OSError):  # another process has deleted it, or taken it up
                    await self.delete(old)

    async def run(self, run: str) -> "LiveRun | PastRun":
        if run in self._known.live:
            return self._known.live[run]
        kept, record = await self._known.read(run)
        refusal = RunLeft(run) if record.status == "paused" else None
        return await self._known.past(kept, record, refusal=refusal, end_left=partial(self._end_left, run))

    async def delete(self, run: str) -> None:
        await self._known.delete(run)
        await self._release(run)

    # Runs that outlive their process

    async def leave(self, run: str) -> None:
        """Let a run be where it is paused until it is taken up; its running steps are interrupted.

        NotPaused, and CommandRefused for one that cannot be taken up because not all of it is stored.
        """
        live = self._known.live.get(run)
        if live is None:
            _, record = await self._known.read(run)
            if record.status != "paused":
                raise NotRunning if record.status in ENDED else InAnotherProcess(run)
            return
        if live.is_over:
            raise NotRunning
        if not live.stops:
            raise NotPaused(run)
        if live.kept.problem is not None:
            raise CommandRefused(f"run {run} cannot be left: {live.kept.problem}")
        _leave(live)
        await live.is_gone.wait()
        for record in (await self._store.find(RunFilter(status=("paused",), limit=1000)))[MOST_LEFT:]:
            if not record.is_pinned:
                with suppress(PitstopError):  # another process has taken it up, or ended it
                    await self._end_here(record.id, TOO_MANY_LEFT)

    async def take_up(self, run: str, secrets: Mapping[str, str]) -> LiveRun:
        """Continue a run that no process has from its log; one of this process is given as it is.

        One without a debug session is paused before its next step. NotRunning when it has ended, or its workspace is
        gone; InAnotherProcess; BadLog; and what is wrong with its flow by now.
        """
        if run in self._known.live:
            return self._known.live[run]
        kept = await self._store.claim(run)
        try:
            prepared = await self._recall(kept, secrets)
            is_ended = end_in(kept.log) is not None
            live = self._execute(kept, prepared)
        except BaseException:
            await kept.close()
            raise
        if is_ended:  # its process was killed before the record had the end
            await live.is_gone.wait()
            await self._release(run)
            raise NotRunning
        self._taken_up.add(run)
        try:
            await live.ready()
        except BaseException:  # it is as it was
            live.leave()
            live.begin()
            await live.is_gone.wait()
            raise
        live.begin()
        await _wait_restored(live)
        return live

    async def _recall(self, kept: KeptRun, secrets: Mapping[str, str]) -> PreparedRun:
        record = await kept.record()
        async with self._executor() as executor:
            if record.workspace not in await workspaces_of(executor, kept.id):
                raise NotRunning
        prepared = await self._maker.recall(record, secrets)
        if had_session(kept.log):
            return prepared
        debug = DebugRequest(stop_at_entry=True, flow_breakpoints=False)
        return replace(prepared, request=replace(prepared.request, debug=debug))

    async def _end_left(self, run: str, reason: str, at_once: bool) -> None:
        """End a run that was left, with its cleanup if it can be continued."""
        if not at_once:
            with suppress(PitstopError):
                self._end(await self.take_up(run, {}), reason)
                return
        await self._end_here(run, reason)

    async def _end_here(self, run: str, reason: str) -> None:
        """Store the end of a run that no process has, and remove its workspace."""
        now, kept = time.time(), await self._store.claim(run)
        kept.log.append(RunEnded(now, Outcome(Status.CANCELLED, error=StepError("Aborted", reason))))
        await kept.update(status="cancelled", ended_at=now, error=reason)
        await kept.close()
        await self._release(run)

    async def _release(self, run: str) -> None:
        async with self._executor() as executor:
            for workspace in await workspaces_of(executor, run):
                with suppress(Unavailable):  # another process has taken it up
                    await executor.remove_workspace(workspace)

    @asynccontextmanager
    async def _executor(self) -> AsyncIterator[Executor]:
        executor = self._backends.new_executor(None)
        try:
            yield executor
        finally:
            await executor.close()


async def _wait_restored(run: LiveRun) -> None:
    """Wait until its stops are back, or it has ended: its log may not fit its flow any more."""
    async with asyncio.TaskGroup() as group:
        waits = [group.create_task(run.wake().wait_restored()), group.create_task(run.is_gone.wait())]
        await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        for each in waits:
            each.cancel()


def _leave(run: LiveRun) -> None:
    where = ", ".join(f"{stop.occurrence or 'the end'} (stop {stop.id})" for stop in run.stops)
    run.kept.note(status="paused", error=f"paused at {where}")
    run.leave()


async def _pass_stops(run: LiveRun, session: "Session") -> None:
    """Continue from each stop, for example where cleanup has failed: no client is there to do so."""
    async for _, event in run.kept.log.follow(run.kept.log.carried_over):
        if isinstance(event, Stopped):
            with suppress(CommandRefused):  # it is over
                await session.continue_(event.stop)
