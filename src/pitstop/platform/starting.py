"""Starts the runs of firings, each once: a firing has the id of its run before the run exists."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from weakref import WeakValueDictionary

from pitstop.errors import GitProblem, PitstopError, ServerTrouble, StoreProblem, Unavailable
from pitstop.platform.repo_values import FiringRecord
from pitstop.platform.stored.firings import StoredFirings
from pitstop.runs.run_request import RunRequest
from pitstop.runs.server_runs import ServerRuns

AT_ONCE = 8
TAKEN = 500
AGAIN_SECONDS = 5.0  # after which one that could not be started is tried again

_LATER = (StoreProblem, ServerTrouble, Unavailable, GitProblem)  # what may be over in a moment

Complete = Callable[[FiringRecord, RunRequest], Awaitable[RunRequest]]  # adds what the firing itself does not have

log = logging.getLogger(__name__)


class Starter:
    """Starts every pending firing, also those that a crash has left."""

    def __init__(self, firings: StoredFirings, complete: Complete, runs: ServerRuns, home: str) -> None:
        self._firings = firings
        self._complete = complete
        self._runs = runs
        self._home = home
        self._wanted = asyncio.Event()
        self._turns: WeakValueDictionary[int, asyncio.Lock] = WeakValueDictionary()

    def wake(self) -> None:
        """There may be something to start."""
        self._wanted.set()

    async def start_for_ever(self) -> None:
        while True:
            try:
                is_done = await self.start_pending()
            except StoreProblem as error:
                log.warning("cannot start what is pending: %s", error)
                is_done = False
            try:
                async with asyncio.timeout(None if is_done else AGAIN_SECONDS):
                    await self._wanted.wait()
            except TimeoutError:
                pass
            self._wanted.clear()

    async def start_pending(self) -> bool:
        """Start every pending firing; False when some could not be started now."""
        failed: set[int] = set()
        while True:
            found = [each for each in await self._firings.pending(self._home, TAKEN) if each.id not in failed]
            if not found:
                return not failed
            places = asyncio.Semaphore(AT_ONCE)
            async with asyncio.TaskGroup() as group:
                tasks = [(each, group.create_task(self._start_in(places, each))) for each in found]
            failed |= {each.id for each, task in tasks if not task.result()}

    async def _start_in(self, places: asyncio.Semaphore, firing: FiringRecord) -> bool:
        async with places:
            try:
                await self.start(firing)
            except _LATER as error:
                log.warning("cannot start flow %s of %s now: %s", firing.flow, firing.repo, error)
                return False
        return True

    async def start(self, firing: FiringRecord) -> None:
        """Start its run, or store why that is impossible. A run that exists already is the one of this firing."""
        async with self._turn(firing):
            present = await self._firings.get(firing.id)
            if present is not None and present.outcome == "pending":
                await self._start(firing)

    async def refuse(self, firing: FiringRecord, reason: str) -> bool:
        """Keep a firing from being started; False when its run exists, or may exist."""
        async with self._turn(firing):
            return await self._firings.settle(firing, "refused", reason)

    def _turn(self, firing: FiringRecord) -> asyncio.Lock:
        return self._turns.setdefault(firing.id, asyncio.Lock())

    async def _start(self, firing: FiringRecord) -> None:
        try:
            await self._runs.start(await self._complete(firing, request_of(firing)), _announced)
        except _LATER:
            raise
        except PitstopError as error:
            await self._firings.settle(firing, "refused", str(error))
        except Exception as error:
            log.exception("cannot start flow %s of %s", firing.flow, firing.repo)
            await self._firings.settle(firing, "refused", f"internal error: {error!r}")
        else:
            await self._firings.settle(firing, "started")


def request_of(firing: FiringRecord) -> RunRequest:
    return RunRequest(
        flow=firing.flow,
        repo=firing.repo,
        ref=firing.ref,
        commit=firing.sha,
        inputs=firing.subject.get("inputs", {}),
        trigger={name: value for name, value in firing.subject.items() if name != "inputs"},
        by=started_by(firing),
        can_ask=True,
        run_id=firing.run,
    )


def started_by(firing: FiringRecord) -> str:
    """Who or what started the run, as lists show it."""
    what = "merge" if firing.subject.get("via") == "merge" else firing.kind
    return f"{what} by {firing.who}" if firing.who else what


async def _announced(run: str) -> None:
    """The firing says what was started: there is no client to be told."""
