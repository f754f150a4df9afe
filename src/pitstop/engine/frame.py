"""Frames, the lines of sequential execution in a run, and activations, the steps that are open in them."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, Any, Optional

from pitstop.engine.body import Body, Start
from pitstop.engine.clock import Meter
from pitstop.engine.hook import GoBack
from pitstop.engine.recover import NOTHING_RECORDED
from pitstop.events.outcome import Outcome
from pitstop.events.types import FrameEnded, FrameOpened, Rewound
from pitstop.plan.plan import Step
from pitstop.plan.scope import Scope

if TYPE_CHECKING:
    from pitstop.engine.run import Run

MAIN = "main"


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
        "name",
        "parent",
        "recorded",
        "recorded_since",
        "task",
    )

    def __init__(self, frame_id: str, name: str, parent: Optional["Frame"]) -> None:
        self.id = frame_id
        self.name = name
        self.parent = parent
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
        "run",
        "scope",
        "start",
        "step",
    )

    def __init__(
        self,
        run: "Run",
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
        self.home: str | None = base if step.workspace == "fresh" else None if parent is None else parent.home
        self.config: dict[str, Any] | None = None
        self.enters_code = False  # whether somebody wants to step on in the function that it calls
        self.cancel_reason: str | None = None  # why what is inside it was ended, when it was not the frame that was
        self.is_replayed: bool = parent is not None and parent.is_replayed  # its end, or one around it, is known
        self.meter = Meter()
        self.start: Start | None = None  # of the first attempt; known while there is a hook

    @property
    def occurrence(self) -> str:
        """The address of this execution: path, loop indices and attempt."""
        return self.base if self.attempt == 1 else f"{self.base}#{self.attempt}"

    def address(self, local: str) -> str:
        """The occurrence address of a step directly under this one."""
        own = self.occurrence
        return f"{own}.{local}" if own else local

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


def open_frames(
    run: "Run", names: Sequence[tuple[str, str]], parent: Frame | None, opener: str, *, is_waited_for: bool = True
) -> list[Frame]:
    """Make frames known, by id and name, before anything runs in any of them; `opener` is the occurrence that does."""
    frames = []
    for frame_id, name in names:
        frame = Frame(frame_id, name, parent)
        frame.recorded = run.recordings.pop(frame_id, frame.recorded)
        frames.append(frame)
        if run.log is not None:
            parent_id = parent.id if parent is not None else None
            run.log.append(FrameOpened(run.now(), frame_id, name, parent_id, opener))
    if run.hook is not None:
        run.hook.frames_opened(frames, opener, is_waited_for=is_waited_for)
    return frames


async def live_frame(run: "Run", frame: Frame, scope: Scope, body: Callable[[Frame], Awaitable[Outcome]]) -> Outcome:
    """Run a frame from its first step to its end; from the first step again whenever it is rewound."""
    start = scope.own.mark()
    frame.task = asyncio.current_task()
    frame.cancels_before = frame.task.cancelling() if frame.task is not None else 0
    if frame.task is not None:
        run.tasks[frame.task] = None
    try:
        while True:
            try:
                return await body(frame)
            except FrameRewound as rewound:
                if rewound.target.frame != frame.id or run.log is None:
                    raise
                await go_back(run, frame, rewound.target)
                scope.own.rewind(start)
    finally:
        if frame.task is not None:
            run.tasks.pop(frame.task, None)
        end_frame(run, frame)


async def go_back(run: "Run", frame: Frame, target: GoBack) -> None:
    """Cut the log, put the files back, and let the frame know what it need not do again."""
    where = (frame.id, target.point_frame, target.occurrence, target.position, target.after)
    event = Rewound(run.now(), *where, target.snapshot, target.since)
    if run.log is not None:
        run.log.append(event)
    await run.put_workspace_back(target.snapshot)
    run.remember_again(frame, target)
    if run.hook is not None:
        run.hook.frame_rewound(frame, event)


def end_frame(run: "Run", frame: Frame) -> None:
    frame.is_done = True
    frame.catch_up()
    if run.log is not None:
        run.log.append(FrameEnded(run.now(), frame.id, frame.cancel_reason))
    if run.hook is not None:
        run.hook.frame_ended(frame)
