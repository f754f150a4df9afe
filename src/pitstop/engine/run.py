"""The life of one run: from its first step to the end of its cleanup, with nothing of it left alive."""

import asyncio
import re
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from pitstop.engine.flow.background import run_background
from pitstop.engine.flow.call import clean_up, clean_up_aside, run_call
from pitstop.engine.flow.conditional import run_conditional
from pitstop.engine.flow.graph import NodeType, run_graph
from pitstop.engine.flow.matrix import run_matrix
from pitstop.engine.flow.parallel import run_parallel
from pitstop.engine.flow.repeat import run_repeat
from pitstop.engine.flow.sequence import run_sequence
from pitstop.engine.frame import MAIN, Activation, Frame, FrameRewound, live_frame, open_frames
from pitstop.engine.hook import Force, GoBack, Hook, Point
from pitstop.engine.ports import Ports, StepType
from pitstop.engine.recover import NOTHING_RECORDED, Recorded, frames_under, recorded_in
from pitstop.errors import BadLog, UnknownStep
from pitstop.events.log import EventLog
from pitstop.events.outcome import Outcome, Status, StepError, error_of
from pitstop.events.types import RunEnded, RunStarted, StepFinished, StepRouted, StepStarted
from pitstop.plan.plan import Plan
from pitstop.plan.scope import Layer, Scope, Values

Combine = Callable[[Activation, Mapping[str, Any]], Awaitable[Outcome]]

COMBINING: dict[str, Combine] = {
    "sequence": run_sequence,
    "parallel": run_parallel,
    "matrix": run_matrix,
    "background": run_background,
    "repeat": run_repeat,
    "call": run_call,
    "conditional": run_conditional,
    "graph": run_graph,
}
_NODE_TYPE = NodeType()


class Run:
    """One execution of a plan. Given a log, it takes over what the log says and does the rest."""

    def __init__(
        self, plan: Plan, values: Values, ports: Ports, *, log: EventLog | None = None, hook: Hook | None = None
    ) -> None:
        self.plan = plan
        self.ports = ports
        self.log = log
        self.hook = hook
        self.now = ports.clock.now
        self.combining = COMBINING
        self.recordings: dict[str, Recorded] = {}  # by frame, until the frame is opened
        self.done: dict[str, Any] = {}  # the last outcome of each step, or just its update
        self.exception: BaseException | None = None  # behind the failure that the run ended with
        self.asked_failures: set[str] = set()  # the occurrences whose failure the hook was asked about
        self.acts = 0  # that were really done, and not taken from the log
        self.abort_reason: str | None = None
        self.is_aborting = False  # a step that starts now, because one before it took the cancel for its own, is not to
        self.scope = Scope((Layer("state" if plan.root.kind == "graph" else "run", values),))
        self._limit: asyncio.Timeout | None = None
        self._exceptions: dict[str, BaseException] = {}  # behind each failure, by the occurrence it began in
        self._main: Frame | None = None
        self._aborts = 0  # that came while an abort was under way
        if hook is not None:
            hook.attach(self)

    def step_type(self, kind: str) -> StepType:
        found = self.ports.step_types.get(kind)
        if found is not None:
            return found
        if kind == "node":
            return _NODE_TYPE
        raise UnknownStep(kind)

    def remember_again(self, frame: Frame) -> None:
        """Take from the log, which was cut, what a rewound frame and those under it need not do again."""
        if self.log is not None:
            events = self.log.read()
            recorded = recorded_in(events)
            for name in frames_under(events, frame.id):
                self.recordings.pop(name, None)
                if name in recorded:
                    self.recordings[name] = recorded[name]
            frame.recorded = self.recordings.pop(frame.id, NOTHING_RECORDED)

    def failed(self, exception: BaseException, occurrence: str) -> Outcome:
        """The failure of an occurrence as data; the exception is kept for whoever wants the original."""
        self._exceptions[occurrence] = exception
        outputs = getattr(exception, "outputs", None)  # what a failed command wrote before it failed
        return Outcome(Status.FAILED, outputs, error=error_of(exception, occurrence))

    def note_cancelled(self, activation: Activation) -> None:
        """Log that an occurrence was ended before its time, and by what."""
        if self.log is not None:
            frame, occurrence = activation.frame, activation.occurrence
            error = StepError("Cancelled", self.why_cancelled(frame, activation), occurrence)
            outcome = Outcome(Status.CANCELLED, error=error, paused_seconds=activation.meter.paused_seconds)
            self.log.append(StepFinished(self.now(), frame.id, activation.step.path, occurrence, outcome))

    def why_cancelled(self, frame: Frame, activation: Activation | None = None) -> str:
        around = activation
        while around is not None:
            if around.cancel_reason is not None:
                return around.cancel_reason
            if around.meter.is_over:
                return f"{around.step.title} took longer than {around.step.timeout_seconds:g} s"
            around = around.parent
        told = next((each.cancel_reason for each in frame.lineage() if each.cancel_reason is not None), None)
        return told or self.abort_reason or "the run was cancelled"

    def abort(self, reason: str) -> None:
        """End every frame as cancelled, then clean up; asked again while cleaning up, end that too."""
        self.abort_reason = reason
        self.is_aborting = True
        if self._limit is None:
            return
        if not self._limit.expired():
            self._limit.reschedule(asyncio.get_running_loop().time())
        elif self._main is not None and self._main.task is not None:  # it is cleaning up a sub-flow
            self._aborts += 1
            self._main.task.cancel()

    async def execute(self) -> Outcome:
        """Run the plan. What fails is in the outcome; only cancelling from outside is raised, after cleaning up."""
        if self.log is not None:
            self._check_log(self.log)
            self.recordings = recorded_in(self.log.read())
            self.log.append(RunStarted(self.now(), self.plan.name, self.scope.own.values))
        if self.hook is not None:
            self.hook.run_started()
        (main,) = open_frames(self, [(MAIN, self.plan.name)], None, "")
        outcome = Outcome(Status.CANCELLED, error=StepError("Cancelled", "the run was cancelled"))
        try:
            outcome = await live_frame(self, main, self.scope, self._live)
            if outcome.error is not None:
                self.exception = self._exceptions.get(outcome.error.origin)
        finally:
            if self.log is not None:
                self.log.append(RunEnded(self.now(), outcome))
            if self.hook is not None:
                self.hook.run_ended(outcome)
        return outcome

    async def _live(self, main: Frame) -> Outcome:
        root = Activation(self, main, self.plan.root, self.scope, "", None)
        main.activation = root
        self._main = main
        try:
            outcome: Outcome = await self._until_aborted(self._work(root))
        except asyncio.CancelledError:
            await clean_up_aside(root, self.scope, 0)
            raise
        if root.step.cleanup:
            cleaned = await self._until_aborted(clean_up(root, self.scope, outcome, 0))
            outcome = cleaned if outcome.status is Status.PASSED else outcome
        if self.hook is not None:
            verdict = await self._until_aborted(self.hook.run_ending(root, outcome))
            if isinstance(verdict, GoBack):
                raise FrameRewound(verdict)
        return outcome

    async def _work(self, root: Activation) -> Outcome:
        seconds = root.step.timeout_seconds
        limit = root.meter.limit(seconds)
        try:
            async with limit:
                outcome = await self.combining[root.step.kind](root, root.step.config)
        except Exception as exception:  # noqa: BLE001 - the timeout's own, or a failure of the root step itself
            outcome = self.failed(exception, root.occurrence)
        finally:
            root.meter.unlimit()
        if limit.expired():
            return Outcome(Status.TIMED_OUT, error=StepError("Timeout", f"the run took longer than {seconds:g} s"))
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
            while self._aborts and task is not None:
                self._aborts -= 1
                task.uncancel()
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
            raise BadLog(f"a run's log begins with run.started, this one with {type(first).__name__}")
        if first.plan != self.plan.name:
            raise BadLog(f"this log is of {first.plan!r}, it cannot be gone on with by {self.plan.name!r}")
        for event in events:
            if isinstance(event, StepStarted | StepFinished) and event.step.partition("+")[0] not in self.plan.steps:
                raise BadLog(f"the log has a step {event.step!r} that {self.plan.name!r} does not have")
            if isinstance(event, StepRouted):
                prefix = event.occurrence.rpartition(".")[0]
                gone = [each for each in event.targets if not self._has_node(prefix, each)]
                if gone:
                    raise BadLog(f"the log goes on from {event.step!r} to {gone[0]!r}, which is gone")

    def _has_node(self, address: str, name: str) -> bool:
        path = re.sub(r"[@#]\d+|\[\d+\]", "", address)
        return f"{path}.{name}" in self.plan.steps if path else name in self.plan.steps
