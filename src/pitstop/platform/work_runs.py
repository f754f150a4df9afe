"""The runs that do the work of cards and trials: how they pause, how they are cancelled, and how they ended."""

from collections.abc import Awaitable, Callable
from contextlib import suppress

from pitstop.engine.ports import Clock
from pitstop.errors import NotRunning, UnknownRun
from pitstop.platform.lives import RunOutcome
from pitstop.platform.repo_values import FiringRecord
from pitstop.platform.stored.firings import StoredFirings
from pitstop.runs.live_run import LiveRun
from pitstop.runs.past_run import PastRun
from pitstop.runs.run_request import BreakpointRequest, DebugRequest
from pitstop.runs.server_runs import ServerRuns
from pitstop.store.port import Status

CANCEL_SECONDS = 30.0  # how long a client waits for the run to end
LONGEST_LEASE_SECONDS = 4 * 3600.0
LONGEST_REASON = 2_000
LOST = "its run was deleted"
CANCELLED = "cancelled before it was started"


class WorkRuns:
    """Cancels and reads runs. One that has not begun when it is cancelled never does."""

    def __init__(self, firings: StoredFirings, clock: Clock) -> None:
        self._firings = firings
        self._clock = clock
        self._runs: ServerRuns | None = None
        self._refuse: Callable[[FiringRecord, str], Awaitable[bool]] | None = None

    def use(self, runs: ServerRuns, refuse: Callable[[FiringRecord, str], Awaitable[bool]]) -> None:
        """The runs of the server; `refuse` keeps a pending firing from being started."""
        self._runs = runs
        self._refuse = refuse

    async def get(self, run: str) -> LiveRun | PastRun:
        """UnknownRun."""
        assert self._runs is not None
        return await self._runs.run(run)

    async def cancel(self, run: str, reason: str) -> LiveRun | PastRun | None:
        """Let a run end, or not begin; the run if there is one."""
        assert self._refuse is not None
        firing = await self._firings.of_run(run)
        if firing is not None:
            await self._refuse(firing, CANCELLED)  # its run may have been created by a server that was killed then
        try:
            found = await self.get(run)
        except UnknownRun:
            return None
        with suppress(NotRunning):  # it has just ended
            await found.cancel(reason)
        return found

    async def end(self, run: str, reason: str) -> None:
        """Cancel a run and wait for its end, up to a limit."""
        with suppress(TimeoutError):
            async with self._clock.timeout(CANCEL_SECONDS):
                found = await self.cancel(run, reason)
                if found is not None:
                    await found.wait()


def paused_at(*points: BreakpointRequest, at_entry: bool = False) -> DebugRequest:
    """How a run is debugged that pauses only where its user wants that."""
    return DebugRequest(
        breakpoints=points,
        flow_breakpoints=False,
        remembers=False,
        stop_at_entry=at_entry,
        lease_seconds=LONGEST_LEASE_SECONDS,
    )


def outcome_of(status: Status | None, reason: str | None) -> tuple[RunOutcome, str | None]:
    """How a run ended, and why. One that never began has no status."""
    reason = None if reason is None else reason[:LONGEST_REASON]
    match status:
        case "passed":
            return "passed", None
        case "cancelled":
            return "cancelled", reason
        case None:
            return "cancelled" if reason == CANCELLED else "failed", reason or LOST
    return "failed", reason or "the run failed"
