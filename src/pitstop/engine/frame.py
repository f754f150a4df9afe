"""Frames, activations, and the one hook that is asked about them.

These types refer to each other: an activation belongs to a run, the run has a hook, and the hook is asked about
activations. `RunContext` is what all of them may use of a run.
"""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Container, Mapping, Sequence, Sized
from typing import Any, Literal, Optional, Protocol, runtime_checkable

import msgspec

from pitstop.engine.body import Body, Start
from pitstop.engine.clock import Meter
from pitstop.engine.elapsed import Elapsed
from pitstop.engine.recover import NOTHING_RECORDED, Recorded
from pitstop.engine.verdict import GoBack, Position, Verdict
from pitstop.errors import LogLost, NoteTooLarge
from pitstop.events.counting import Counting
from pitstop.events.log import EventLog
from pitstop.events.outcome import Outcome, Status, StepError
from pitstop.events.types import Rewound, StepFinished, StepNoted
from pitstop.plan.expressions import Evaluator
from pitstop.plan.plan import Plan, Step
from pitstop.plan.scope import Scope
from pitstop.plan.values import as_json

MAIN = "main"
LARGEST_NOTE_BYTES = 64 * 1024


class FrameRewound(BaseException):
    """A frame is to be started again. No Exception, so that nothing on the way takes it for a failure."""

    def __init__(self, target: GoBack) -> None:
        super().__init__(target.frame)
        self.target = target


class Frame:
    """One line of sequential execution. `activation` is the innermost step that is open in it."""

    __slots__ = (
        "activation",
        "bodies",
        "cancel_reason",
        "cancels_before",
        "caught_up_event",
        "id",
        "is_caught_up",
        "is_done",
        "is_only_replayed",
        "is_waited_for",
        "name",
        "parent",
        "recorded",
        "recorded_since",
        "task",
    )

    def __init__(self, frame_id: str, name: str, parent: Optional["Frame"], *, is_waited_for: bool = True) -> None:
        self.id = frame_id
        self.name = name
        self.parent = parent
        self.is_waited_for = is_waited_for  # by its parent, which otherwise runs steps at the same time
        self.activation: Activation | None = parent.activation if parent is not None else None
        self.bodies: list[Body] = []  # that are open in it, the innermost last
        self.recorded = NOTHING_RECORDED
        self.recorded_since: int = 0 if parent is None else parent.recorded_since  # the event after which that began
        self.is_caught_up = False  # it does what its log does not know
        self.is_only_replayed = self.activation is not None and self.activation.is_replayed  # what opened it has ended
        self.is_done = False
        self.cancel_reason: str | None = None
        self.cancels_before = 0  # that its task was asked for, and that are none of this run's business
        self.caught_up_event: asyncio.Event | None = None
        self.task: asyncio.Task[Any] | None = None

    @property
    def is_cancelled(self) -> bool:
        """Whether somebody wants the frame ended, also when a step has swallowed the news of it."""
        task = asyncio.current_task()
        if task is None:
            return False
        return task.cancelling() > (self.cancels_before if task is self.task else 0)

    @property
    def is_replaying(self) -> bool:
        """Whether it is on its way back to where it was, and not there yet."""
        return not self.is_caught_up and (self.is_only_replayed or bool(self.recorded))

    def catch_up(self) -> None:
        """From here on the frame, and with it those around it, does what its log does not know."""
        frame: Frame | None = self
        while frame is not None:
            frame.is_caught_up = True
            if frame.caught_up_event is not None:
                frame.caught_up_event.set()
            frame = frame.parent

    async def leave_if_cancelled_before(self) -> None:
        """End the frame that its log says somebody has ended: this one, or one that it came from."""
        frame: Frame | None = self
        while frame is not None:
            if frame.recorded.cancelled is not None:
                if frame.cancel_reason is None:
                    frame.cancel(frame.recorded.cancelled)
                await asyncio.Event().wait()  # until the news of it is here
            frame = frame.parent

    def lineage(self) -> list["Frame"]:
        """This frame and those it came from, up to main."""
        frames: list[Frame] = []
        frame: Frame | None = self
        while frame is not None:
            frames.append(frame)
            frame = frame.parent
        return frames

    def why_cancelled(self, abort_reason: str | None) -> str:
        """Why this frame is to end: it or one that it came from was cancelled, or the run was."""
        reasons = (frame.cancel_reason for frame in self.lineage())
        return next((each for each in reasons if each is not None), None) or abort_reason or "the run was cancelled"

    def cancel(self, reason: str) -> None:
        """End the frame and all that runs in it; `reason` is told to whoever asks."""
        if not self.is_done and self.task is not None:
            self.cancel_reason = reason
            self.task.cancel()


class Activation:
    """One attempt of a step while it is open: where it is, what it sees, and what encloses it."""

    __slots__ = (
        "attempt",
        "base",
        "cancel_reason",
        "config",
        "enters_code",
        "frame",
        "home",
        "is_replayed",
        "meter",
        "parent",
        "phase",
        "run",
        "scope",
        "start",
        "step",
        "stop_cancels",
        "stop_reason",
        "takes_result",
    )

    def __init__(
        self,
        run: "RunContext",
        frame: Frame,
        step: Step,
        scope: Scope,
        base: str,
        parent: Optional["Activation"],
        attempt: int = 1,
    ) -> None:
        self.run = run
        self.frame = frame
        self.step = step
        self.scope = scope
        self.base = base
        self.parent = parent
        self.attempt = attempt
        # The step whose workspace it works in; None for that of the run
        self.home: str | None = None if parent is None else parent.home
        if step.workspace == "fresh":
            self.home = f"{base}:r{self.rewinds}"
        self.config: dict[str, Any] | None = None
        self.enters_code = False  # whether somebody wants to step on in the function that it calls
        self.cancel_reason: str | None = None  # why what is inside it was ended, when it was not the frame that was
        self.is_replayed: bool = parent is not None and parent.is_replayed  # its end, or one around it, is known
        self.takes_result = False  # what it started has ended while no process had the run: it is not started again
        self.meter = Meter()
        self.start: Start | None = None  # of the first attempt; known while there is a log
        self.phase: Literal["waiting", "acting", "over"] = "waiting"
        self.stop_reason: str | None = None
        self.stop_cancels = 0  # of its task, by `stop`

    @property
    def occurrence(self) -> str:
        """The address of this execution: path, loop indices and attempt."""
        return self.base if self.attempt == 1 else f"{self.base}#{self.attempt}"

    @property
    def rewinds(self) -> int:
        """How often its frame, or one that this came from, was rewound: the log determines it."""
        return sum(self.run.rewinds[frame.id] for frame in self.frame.lineage())

    def address(self, local: str) -> str:
        """The occurrence address of a step directly under this one."""
        own = self.occurrence
        return f"{own}.{local}" if own else local

    def note(self, note: str, data: Mapping[str, Any]) -> None:
        """Log what the step reports while it runs. NoteTooLarge if it is more than a log should carry."""
        plain = as_json(data)
        size = len(msgspec.json.encode(plain))
        if size > LARGEST_NOTE_BYTES:
            raise NoteTooLarge(note, size, LARGEST_NOTE_BYTES)
        if self.run.log is not None and isinstance(plain, dict):
            self.run.log.append(StepNoted(self.run.now(), self.frame.id, self.occurrence, note, plain))

    def note_cancelled(self) -> None:
        """Log that the step was ended before its time, and by what."""
        run, occurrence = self.run, self.occurrence
        if run.log is not None:
            error = StepError("Cancelled", self._why_cancelled(), occurrence)
            outcome = Outcome(Status.CANCELLED, error=error, paused_seconds=self.meter.paused_seconds)
            run.log.append(StepFinished(run.now(), self.frame.id, self.step.path, occurrence, outcome))

    def _why_cancelled(self) -> str:
        around: Activation | None = self
        while around is not None:
            if around.cancel_reason is not None:
                return around.cancel_reason
            if around.meter.is_over:
                return f"{around.step.title} timed out after {around.step.timeout_seconds:g} s"
            around = around.parent
        return self.frame.why_cancelled(self.run.abort_reason)

    def stop(self, reason: str) -> None:
        """Let the step fail for this reason: at once, or as soon as it acts. A second call gives it no time to end."""
        self.stop_reason = reason
        if self.phase == "acting" and self.frame.task is not None:
            self.stop_cancels += 1
            self.frame.task.cancel()

    def hold(self) -> None:
        """Stop the clocks of this step and of all that enclose it, in this frame and above."""
        now = asyncio.get_running_loop().time()
        activation: Activation | None = self
        while activation is not None:
            activation.meter.hold(now)
            activation = activation.parent

    def release(self) -> None:
        now = asyncio.get_running_loop().time()
        activation: Activation | None = self
        while activation is not None:
            activation.meter.release(now)
            activation = activation.parent


class Point(msgspec.Struct, frozen=True):
    """A place where the engine asks its hook."""

    activation: Activation
    position: Position
    outcome: Outcome | None = None
    will_run: bool = True  # at `before`: what the step's `if` says now
    is_propagated: bool = False  # at `error`: the failure began in a step under this one, which was asked about
    is_repeated: bool = False  # asked before, before steps were injected in front of it
    is_replayed: bool = False  # what comes of it is in the log
    is_interrupted: bool = False  # at `before`: the step was at work when the run's process ended
    reason: str | None = None  # why the step itself asks for a user


# Takes the path of a step, its frame, the position and the values there
Passes = Callable[[str, str, Position, Mapping[str, Any]], bool]


def never_passes(path: str, frame: str, position: Position, values: Mapping[str, Any]) -> bool:
    """The hook has to be asked."""
    return False


class Paths(Container[str], Sized, Protocol):
    """The paths of steps."""


class Gate:
    """What a hook wants to be asked about, so cheap to look at that every node can.

    `paths` has the steps that it wants to hear of before or after them; `epoch` grows with each change, so that
    a node which was running meanwhile is looked up again when it ends. `passes` is for the steps in `paths`: whether
    the values at a point are enough to know that the hook would let the step proceed. `calls` has the steps whose calls
    it wants to be asked about.
    """

    __slots__ = ("calls", "epoch", "passes", "paths")

    def __init__(self) -> None:
        self.epoch = 0
        self.paths: Paths = frozenset()
        self.calls: Paths = frozenset()
        self.passes: Passes = never_passes


class Hook(Protocol):
    """Whoever may hold a run up: to pause it, it just does not answer yet. All but `at` return at once."""

    gate: Gate

    def wants(self, step: Step, position: Position) -> bool: ...

    def can_pause(self) -> bool:
        """Whether somebody is there to decide, so that a step may wait for it."""
        ...

    def wants_snapshot(self, step: Step) -> bool:
        """Whether the workspace is to be kept as it is before this step, so that it can be gone back to."""
        ...

    def returns_to(self, occurrence: str, position: Position) -> bool:
        """Whether a point whose outcome comes from the log is one to be asked about all the same."""
        ...

    async def at(self, point: Point) -> Verdict: ...

    def attach(self, run: "RunContext") -> None:
        """Become the hook of a run, which may have frames already; a hook that has another run refuses."""
        ...

    def run_started(self) -> None: ...

    def frames_opened(self, frames: Sequence[Frame], opener: str) -> None:
        """Frames were made by the occurrence `opener`."""
        ...

    def frame_ended(self, frame: Frame) -> None: ...

    def frame_rewound(self, frame: Frame, event: Rewound) -> None:
        """The frame starts again. Of two that were asked for at the same time, this is the one that came about."""
        ...

    async def run_ending(self, root: Activation, outcome: Outcome) -> Verdict:
        """The last look: all has run, cleanup too, and nothing is gone yet."""
        ...

    def run_ended(self, outcome: Outcome) -> None: ...


class StepType(Protocol):
    """What a step of one kind does. Raising is failing; what it returns is the step's outputs."""

    async def act(self, activation: Activation, config: Mapping[str, Any]) -> Any: ...


class PlanStep(Protocol):
    """Reads and plans a step that a user adds to a run."""

    def __call__(self, given: Mapping[str, Any], path: str, host: Step) -> Step:
        """The step with this path, to run next to `host`. BadEdit has every mistake in it."""
        ...


@runtime_checkable
class ResumableStepType(StepType, Protocol):
    """A step type whose work outlives the run's process."""

    async def has_ended(self, activation: Activation) -> bool:
        """Whether what the interrupted step started has ended: then `act` only takes its result. Never raises."""
        ...


Combine = Callable[[Activation, Mapping[str, Any]], Awaitable[Outcome]]


class RunContext(Protocol):
    """What frames, steps and the hook may use of the run that they belong to."""

    plan: Plan
    scope: Scope
    log: EventLog | None  # None once the run is another server's
    hook: "Hook | None"  # None until one joins
    evaluator: Evaluator
    plan_step: PlanStep | None
    now: Callable[[], float]
    is_stored: bool  # a step waits until its log and its files are
    combining: Mapping[str, Combine]
    carried_over: int
    frames: dict[str, Frame]  # those that are open, and the ones that were opened together with them
    recordings: dict[str, Recorded]
    elapsed: dict[str, Elapsed]
    rewinds: Counter[str]
    done: dict[str, Any]
    asked_failures: set[str]
    acts: int
    tasks: dict[asyncio.Task[Any], None]
    abort_reason: str | None
    is_aborting: bool
    ends_at_once: bool
    holds_steps: bool
    lost: LogLost | None
    workspace_problem: str | None

    def can_pause(self) -> bool:
        """Whether a step may wait for a decision, because there is a hook to make it."""
        ...

    def step_type(self, kind: str) -> StepType:
        """What a step of this kind does; UnknownStep."""
        ...

    async def fresh_step_type(self, home: str, kind: str) -> StepType:
        """The same, in the workspace of the step at `home`."""
        ...

    async def leave_fresh(self, home: str) -> None:
        """The step at `home` is over, and its workspace with it."""
        ...

    async def discard_fresh(self, home: str) -> None:
        """The step at `home` begins anew: its workspace is removed with all that was left there."""
        ...

    async def keep_workspace(self, activation: Activation, position: str = "before") -> str | None: ...

    def what_counts(self) -> Counting: ...

    async def restart_frame(self, frame: Frame, target: GoBack) -> None: ...

    def failed(self, exception: BaseException, occurrence: str) -> Outcome: ...

    def take_log(self, activation: Activation) -> str | None:
        """The end of what the step wrote; None if it wrote nothing, or there is nothing that has it."""
        ...

    async def settle(self) -> None: ...

    def abort(self, reason: str) -> None: ...
