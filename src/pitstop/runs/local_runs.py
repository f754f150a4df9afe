"""The runs of a process without a server: they end with it."""

import asyncio
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any, Self

from pitstop.errors import CommandRefused, UnknownRun
from pitstop.events.types import Stopped
from pitstop.runs.known_runs import Announce, Backends, KnownRuns
from pitstop.runs.live_run import LiveRun
from pitstop.runs.run_maker import PreparedRun, RunMaker
from pitstop.runs.run_request import RerunRequest, RunRequest
from pitstop.runs.workplaces import make_workplace
from pitstop.store.port import RunStore

if TYPE_CHECKING:  # a run that is not debugged need not load these
    from pitstop.debugger.session import Session
    from pitstop.runs.past_run import PastRun

LEFT_ALONE = "the client that started it has disconnected"


class LocalRuns:
    """Owns the runs of a process. Leaving it cancels those that are not over, and waits for them."""

    def __init__(self, store: RunStore, maker: RunMaker, known: KnownRuns, backends: Backends) -> None:
        self._store = store
        self._maker = maker
        self._known = known
        self._backends = backends
        self._tasks = asyncio.TaskGroup()
        self.runs, self.pin, self.delete = known.runs, known.pin, known.delete

    async def __aenter__(self) -> Self:
        await self._tasks.__aenter__()
        return self

    async def __aexit__(self, *error: Any) -> None:
        for run in self._known.live.values():
            run.cancel_now(LEFT_ALONE)
            if run.session is not None:
                self._tasks.create_task(_pass_stops(run, run.session), name=f"stops of {run.id}")
        try:
            await self._tasks.__aexit__(None, None, None)
        except BaseExceptionGroup as group:  # of one run: the caller knows of no group
            raise group.exceptions[0] from None
        finally:
            await self._store.close()

    async def start(self, request: RunRequest, announce: Announce) -> LiveRun:
        return await self._launch(await self._maker.prepare(request), announce)

    async def rerun(self, run: str, request: RerunRequest, announce: Announce) -> LiveRun:
        return await self._launch(await self._maker.prepare_rerun(run, request), announce)

    async def _launch(self, prepared: PreparedRun, announce: Announce) -> LiveRun:
        """Begin a run. One that cannot begin, because there is no place for it, is deleted and raises why."""
        backends = self._backends
        run = LiveRun(
            self._store,
            await self._store.create(prepared.record, prepared.events),
            prepared,
            new_evaluator=backends.new_evaluator,
            open_workplace=partial(make_workplace, backends.new_executor, backends.new_masker),
            new_snapshots=backends.new_snapshots,
            combining=backends.combining,
        )
        self._known.live[run.id] = run
        self._tasks.create_task(self._execute(run), name=run.id)
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

    async def _execute(self, run: LiveRun) -> None:
        try:
            await run.execute()
        finally:
            self._known.forget(run)

    async def run(self, run: str) -> "LiveRun | PastRun":
        return self._known.live.get(run) or await self._known.past(*await self._known.read(run))


async def _pass_stops(run: LiveRun, session: "Session") -> None:
    """Continue from each stop, for example where cleanup has failed: no client is there to do so."""
    async for _, event in run.kept.log.follow(run.kept.log.carried_over):
        if isinstance(event, Stopped):
            with suppress(CommandRefused):  # it is over
                await session.continue_(event.stop)
