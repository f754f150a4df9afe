"""The life of one run: from its first step to the end of its cleanup, with nothing of it left alive."""

import asyncio
import re
from collections import Counter, deque
from collections.abc import Awaitable, Callable, Mapping
from functools import cache
from importlib import import_module
from typing import Any

from pitstop.engine.elapsed import Elapsed, elapsed_in
from pitstop.engine.flow.call import clean_up, clean_up_aside, run_call
from pitstop.engine.flow.sequence import run_sequence
from pitstop.engine.frame import MAIN, Activation, Combine, Frame, FrameRewound, Hook, Point
from pitstop.engine.frame_life import live_frame, open_frames
from pitstop.engine.ports import Ports, StepType
from pitstop.engine.recover import NOTHING_RECORDED, Recorded, recorded_in
from pitstop.engine.verdict import Force, GoBack
from pitstop.errors import BadLog, LogLost, NotRunning, PitstopError, UnknownStep
from pitstop.events.counting import Counting, events_that_count
from pitstop.events.log import EventLog
from pitstop.events.outcome import Outcome, Status, StepError, error_of
from pitstop.events.types import (
    AllContinued,
    Rewound,
    RunEnded,
    RunStarted,
    SnapshotTaken,
    StepFinished,
    StepRouted,
    StepStarted,
    StopEnded,
    Stopped,
)
from pitstop.events.view import fold
from pitstop.plan.addresses import planned_path
from pitstop.plan.plan import Plan
from pitstop.plan.scope import Layer, Scope, Values


def _when_used(kind: str) -> Combine:
    """A way of combining whose module is loaded for the first step of that kind: a short flow starts faster."""

    async def combine(activation: Activation, config: Mapping[str, Any]) -> Outcome:
        module = import_module(f"pitstop.engine.flow.{kind}")
        outcome: Outcome = await getattr(module, f"run_{kind}")(activation, config)
        return outcome

    return combine


@cache
def _node_type() -> StepType:
    node_type: StepType = import_module("pitstop.engine.flow.graph").NodeType()
    return node_type


COMBINING: Mapping[str, Combine] = {
    "sequence": run_sequence,
    "call": run_call,
    **{each: _when_used(each) for each in ("parallel", "matrix", "background", "repeat", "conditional", "graph")},
}


class Run:
    """One execution of a plan. Given a log, it takes over what the log says and does the rest."""

    def __init__(
        self,
        plan: Plan,
        values: Values,
        ports: Ports,
        *,
        log: EventLog | None = None,
        hook: Hook | None = None,
        call_hook: Callable[[], object] | None = None,
        left_at: float | None = None,
    ) -> None:
        """`call_hook` lets a hook `join` when a step waits for a decision and there is none yet."""
        self.plan = plan
        self.ports = ports
        self.log = log
        self._barrier: Callable[[], Awaitable[None]] | None = getattr(log, "settled", None)
        self.carried_over: int = getattr(log, "carried_over", 0)  # the events that are those of another run
        self.hook = hook
        self.evaluator = ports.evaluator
        self.plan_step = ports.plan_step
        self.is_stored = self._barrier is not None or ports.snapshots is not None
        self.now = ports.clock.now
        self.combining: Mapping[str, Combine] = {**COMBINING, **ports.combining} if ports.combining else COMBINING
        self.frames: dict[str, Frame] = {}
        self.recordings: dict[str, Recorded] = {}  # by frame, until the frame is opened
        self.elapsed: dict[str, Elapsed] = {}  # by occurrence, until the clock of that goes on
        self.rewinds: Counter[str] = Counter()  # how often each frame was rewound
        self.done: dict[str, Any] = {}  # the last outcome of each step, or just its update
        self.exception: BaseException | None = None  # behind the failure that the run ended with
        self.asked_failures: set[str] = set()  # the occurrences whose failure the hook was asked about
        self.acts = 0  # that were really done, and not taken from the log
        self.tasks: dict[asyncio.Task[Any], None] = {}  # in which something of it goes on, in their order
        self.abort_reason: str | None = None
        self.is_aborting = False  # a step that starts now, because one before it took the cancel for its own, is not to
        self.ends_at_once = False  # nothing is to start any more, cleanup neither
        self.holds_steps = False
        self.lost: LogLost | None = None  # the run is another's now
        self.workspace_problem: str | None = None  # why the workspace is not what it was where the run went back to
        self.scope = Scope((Layer("state" if plan.root.kind == "graph" else "run", values),))
        self._call_hook = call_hook
        self._left_at = left_at  # when the process that had the run before was last known to be there
        self._limit: asyncio.Timeout | None = None
        self._exceptions: dict[str, BaseException] = {}  # behind each failure, by the occurrence it began in
        self._main: Frame | None = None
        self._counting = Counting()
        self._is_aborted = False
        self._own_cancels = 0  # of the task that `execute` runs in, by this run
        if hook is not None:
            hook.attach(self)

    def join(self, hook: Hook) -> None:
        """Ask this hook from now on. NotRunning before the first step and after the last.

        A log with a barrier is needed: without one, a graph runs nodes that it need not ask about in a loop of its own.
        """
        if not self.frames:
            raise NotRunning
        self.hook = hook
        hook.attach(self)
        hook.run_started()

    def can_pause(self) -> bool:
        if self._call_hook is not None and self.hook is None:
            self._call_hook()
        return self.hook is not None and self.hook.can_pause()

    def hold_steps(self) -> None:
        """Begin no further step; those that run already go on to their ends."""
        self.holds_steps = True

    def step_type(self, kind: str) -> StepType:
        found = self.ports.step_types.get(kind)
        if found is not None:
            return found
        if kind == "node":
            return _node_type()
        raise UnknownStep(kind)

    async def fresh_step_type(self, home: str, kind: str) -> StepType:
        workspaces = self.ports.workspaces
        return self.step_type(kind) if workspaces is None else await workspaces.step_type(home, kind)

    async def leave_fresh(self, home: str) -> None:
        if self.ports.workspaces is not None:
            await self.ports.workspaces.leave(home)

    async def discard_fresh(self, home: str) -> None:
        if self.ports.workspaces is not None:
            await self.ports.workspaces.discard(home)

    def what_counts(self) -> Counting:
        """What counts of the log as it is now."""
        if self.log is not None:
            self._counting.follow(self.log.read(self._counting.last_event))
        return self._counting

    async def restart_frame(self, frame: Frame, target: GoBack) -> None:
        """Put the files back, and take from the log, which was cut, what the frame and those under it need not redo."""
        await self._put_workspace_back(target.snapshot)
        counting, restart = self.what_counts(), target.restart
        base = "" if restart is None else restart.base
        recorded = recorded_in(counting.after(target.since), self.carried_over, base)
        for name in counting.under(frame.id):
            self.recordings.pop(name, None)
            if name in recorded:
                self.recordings[name] = recorded[name]
        frame.recorded = self.recordings.pop(frame.id, NOTHING_RECORDED)
        frame.recorded_since = target.since
        frame.is_caught_up = False
        if frame is self._main and restart is None:
            self._is_aborted = False  # it was gone back from its cleanup: the next abort is the first again

    def failed(self, exception: BaseException, occurrence: str) -> Outcome:
        """The failure of an occurrence as data; the exception is kept for whoever wants the original."""
        self._exceptions[occurrence] = exception
        outputs = getattr(exception, "outputs", None)  # what a failed command wrote before it failed
        error = error_of(exception, occurrence)
        if self.ports.mask is not None:
            trace = None if error.trace is None else self.ports.mask(error.trace)
            error = StepError(error.type, self.ports.mask(error.message), error.origin, trace)
        return Outcome(Status.FAILED, outputs, error=error)

    def take_log(self, activation: Activation) -> str | None:
        return None if self.ports.logs is None else self.ports.logs.take_log(activation)

    def abort(self, reason: str) -> None:
        """End every frame as cancelled, then clean up; asked again, end all that still goes on, wherever it is."""
        self.abort_reason = reason
        self.is_aborting = True
        is_cleaning_up_aside = self._limit is None and bool(self.tasks)  # after a cancel from outside
        if self._is_aborted or is_cleaning_up_aside:
            self._end_at_once()
        elif self._limit is not None:
            self._limit.reschedule(asyncio.get_running_loop().time())
        self._is_aborted = True

    def lose(self, lost: LogLost) -> None:
        """End all at once, without cleaning up or writing anything: another server has the run now."""
        if self.lost is None:
            self.lost = lost
            self.log = None
            self.abort_reason = str(lost)
            self._end_at_once()

    def _end_at_once(self) -> None:
        self.ends_at_once = self.is_aborting = True
        self._cancel_tasks()
        loop = asyncio.get_running_loop()  # who has heard of it only now is given no time to end either
        loop.call_soon(loop.call_soon, self._cancel_tasks)

    def _cancel_tasks(self) -> None:
        main, limit = self._main.task if self._main is not None else None, self._limit
        for task in self.tasks:
            if task is main and limit is not None and not limit.expired():
                limit.reschedule(asyncio.get_running_loop().time())
            elif task is not asyncio.current_task():  # which sees for itself that it is to end
                self._own_cancels += task is main
                task.cancel()

    async def settle(self) -> None:
        """Wait until the log keeps what it was told, so that a step acts only after its start is known for good."""
        if self._barrier is not None:
            try:
                await self._barrier()
            except LogLost as lost:
                self.lose(lost)
                raise asyncio.CancelledError from lost

    async def execute(self) -> Outcome:
        """Run the plan. What fails is in the outcome; only cancelling from outside is raised, after cleaning up.

        LogLost when the log is not this run's any more: then nothing of it was done after that was known.
        """
        if self.log is not None:
            self._check_log(self.log)
            self.recordings = recorded_in(events_that_count(self.log.read()), self.carried_over)
            self.elapsed = elapsed_in(
                self.log.read(),
                self.carried_over,
                self.now(),
                left_at=self._left_at,
                cleanup={step.path for step in self.plan.root.cleanup},
            )
            self.rewinds.update(event.frame for event in self.log.read() if isinstance(event, Rewound))
            self.log.append(RunStarted(self.now(), self.plan.name, self.scope.own.values, self._left_at))
            await self._put_back_again(self.log)
        if self.hook is not None:
            self.hook.run_started()
        else:
            self._end_stops()
        (main,) = open_frames(self, [(MAIN, self.plan.name)], None, "")
        outcome = Outcome(Status.CANCELLED, error=StepError("Cancelled", "the run was cancelled"))
        try:
            outcome = await live_frame(self, main, self.scope, self._live)
            if outcome.error is not None:
                self.exception = self._exceptions.get(outcome.error.origin)
        finally:
            self._take_back_cancels()
            if self.log is not None:
                self.log.append(RunEnded(self.now(), outcome))
            self.frames.clear()
            if self.hook is not None:
                self.hook.run_ended(outcome)
        if self.lost is not None:
            raise self.lost
        return outcome

    async def keep_workspace(self, activation: Activation, position: str = "before") -> str | None:
        """Take a snapshot of the workspace, if there is where to, and log it; gives what keeps it from being taken."""
        if self.ports.snapshots is not None and self.log is not None:
            frame, step, occurrence = activation.frame.id, activation.step.path, activation.occurrence
            try:
                snapshot = await self.ports.snapshots.take(frame, occurrence)
            except PitstopError as error:
                return f"the workspace files are not stored at this point: {error}"
            if snapshot is not None and self.log is not None:
                self.log.append(SnapshotTaken(self.now(), frame, step, occurrence, snapshot, position))
        return None

    async def _put_workspace_back(self, snapshot: str | None) -> None:
        """Restore a snapshot before a frame starts again; who stops where it leads is told what is not as it was."""
        if self.ports.snapshots is None:
            return
        self.workspace_problem = None
        try:
            if snapshot is None:
                self.workspace_problem = "the workspace files were not restored: none are stored for this point"
            else:
                await self.ports.snapshots.restore(snapshot)
        except PitstopError as error:
            self.workspace_problem = f"could not restore the workspace: {error}"

    async def _put_back_again(self, log: EventLog) -> None:
        """The process may have ended after the log was cut, and before the workspace was what it had been."""
        acts = (event for event in reversed(log.read()) if isinstance(event, Rewound | StepStarted | Stopped))
        last = next(acts, None)
        if isinstance(last, Rewound):
            await self._put_workspace_back(last.snapshot)

    def _end_stops(self) -> None:
        """Say of the stops that a session has left in the log that nobody takes them up again."""
        view = fold(self.log.read()) if self.log is not None and len(self.log) > 1 else None
        are_pausing = view is not None and any(each.own_state == "pausing" for each in view.frames_before.values())
        if self.log is not None and view is not None and (view.stops or are_pausing):
            self.log.append(AllContinued(self.now()))
            for stop in view.stops.values():
                self.log.append(StopEnded(self.now(), stop.stop, stop.frame, "the run continues without a debugger"))

    def _take_back_cancels(self) -> None:
        """Let the task that `execute` runs in know only of the cancels that are not this run's own."""
        task = self._main.task if self._main is not None else None
        while self._own_cancels and task is not None:
            self._own_cancels -= 1
            task.uncancel()

    async def _live(self, main: Frame) -> Outcome:
        root = Activation(self, main, self.plan.root, self.scope, "", None)
        main.activation = root
        self._main = main
        acts_before, left = self.acts, deque(root.step.cleanup)
        try:
            outcome: Outcome = await self._until_aborted(self._work(root))
            while left and not self.ends_at_once:  # an abort ends the one that runs, and then the rest is done
                cleaned = await self._until_aborted(clean_up(root, self.scope, outcome, acts_before, left))
                outcome = cleaned if outcome.status is Status.PASSED else outcome
        except asyncio.CancelledError:
            await clean_up_aside(root, self.scope, acts_before, left)
            raise
        if self.hook is not None and not self.ends_at_once:
            verdict = await self._until_aborted(self.hook.run_ending(root, outcome))
            if isinstance(verdict, GoBack):
                raise FrameRewound(verdict)
        return outcome

    async def _work(self, root: Activation) -> Outcome:
        seconds = root.step.timeout_seconds
        if "" in self.elapsed:
            root.meter.go_on(self.elapsed.pop(""))
        limit = root.meter.limit(seconds)
        try:
            async with limit:
                outcome = await self.combining[root.step.kind](root, root.step.config)
        except Exception as exception:  # noqa: BLE001 - the timeout's own, or a failure of the root step itself
            outcome = self.failed(exception, root.occurrence)
        finally:
            root.meter.unlimit()
        if limit.expired():
            return Outcome(Status.TIMED_OUT, error=StepError("Timeout", f"the run timed out after {seconds:g} s"))
        is_own_failure = outcome.error is not None and outcome.error.origin not in self.asked_failures
        if is_own_failure and self.hook is not None and self.hook.wants(root.step, "error"):
            verdict = await self.hook.at(Point(root, "error", outcome))
            if isinstance(verdict, GoBack):
                raise FrameRewound(verdict)
            outcome = verdict.outcome if isinstance(verdict, Force) else outcome
        return outcome

    async def _until_aborted(self, work: Awaitable[Any]) -> Any:
        """The work's result, or the outcome of an aborted run as soon as somebody aborts it."""
        limit = self._limit = asyncio.timeout(None)
        cancels_before = self._main.cancels_before if self._main is not None else 0
        try:
            async with limit:
                result = await work
                return result if not self.is_aborting else self._aborted()
        except TimeoutError:
            if not limit.expired():
                raise
            return self._aborted()
        except asyncio.CancelledError:
            task = asyncio.current_task()
            self._take_back_cancels()
            if not self.is_aborting or task is None or task.cancelling() > cancels_before:
                raise
            return self._aborted()  # a step that was about to start has seen it before the loop did
        finally:
            self._limit = None

    def _aborted(self) -> Outcome:
        self.is_aborting = False
        return Outcome(Status.CANCELLED, error=StepError("Aborted", self.abort_reason or "aborted"))

    def _check_log(self, log: EventLog) -> None:
        events = log.read()
        first = next(iter(events), None)
        if first is None:
            return
        if not isinstance(first, RunStarted):
            raise BadLog(f"a run's log must start with run.started, not {type(first).__name__}")
        if first.plan != self.plan.name:
            raise BadLog(f"this log belongs to {first.plan!r}, so {self.plan.name!r} cannot resume it")
        for event in events:
            if isinstance(event, StepStarted | StepFinished) and planned_path(event.step) not in self.plan.steps:
                raise BadLog(f"the log has a step {event.step!r} that {self.plan.name!r} does not have")
            if isinstance(event, StepRouted):
                prefix = event.occurrence.rpartition(".")[0]
                gone = [each for each in event.targets if not self._has_node(prefix, each)]
                if gone:
                    raise BadLog(f"the log continues from {event.step!r} to {gone[0]!r}, which no longer exists")

    def _has_node(self, address: str, name: str) -> bool:
        path = re.sub(r"[@#]\d+|\[\d+\]", "", address)
        return f"{path}.{name}" in self.plan.steps if path else name in self.plan.steps
