"""A part that runs beside the steps that need it, and is ended with them."""

import asyncio
from collections.abc import Mapping
from typing import Any

from pitstop.engine.flow.sequence import PASSED, run_body, take_over
from pitstop.engine.frame import Activation, Frame, FrameRewound
from pitstop.engine.frame_life import end_frame, live_frame, open_frames
from pitstop.engine.step import record_in_steps, run_step
from pitstop.events.outcome import Outcome
from pitstop.plan.plan import Step


async def run_background(activation: Activation, config: Mapping[str, Any]) -> Outcome:
    """The first child runs in a frame of its own, the others in this one. If it fails, so do they, at once."""
    part = _BackgroundPart(activation, activation.step.children[0])
    outcome = PASSED
    try:
        async with asyncio.TaskGroup() as group:
            await part.start(group)
            outcome = await _run_foreground(activation, part)
            if not activation.is_replayed:
                part.frame.cancel("the foreground steps have ended")
    finally:
        activation.run.frames.pop(part.frame.id, None)
        take_over(activation.scope, part.scope.own)
        activation.cancel_reason = None
    if part.rewound is not None:
        raise part.rewound
    return outcome if part.failure is None else Outcome(part.failure.status, error=part.failure.error)


async def _run_foreground(activation: Activation, part: "_BackgroundPart") -> Outcome:
    """Run the other children, until they end or the background part fails."""
    steps = activation.step.children[1:]
    try:
        async with part.foreground_limit:
            part.is_foreground_open = not activation.is_replayed
            if activation.is_replayed or not part.ends_foreground:
                return await run_body(activation, activation.frame, activation.scope, steps, activation.occurrence)
    except TimeoutError:
        if not part.foreground_limit.expired():
            raise
    except FrameRewound as going_back:
        part.rewound = going_back
    finally:
        part.is_foreground_open = False
    return PASSED


class _BackgroundPart:
    """The child that runs in a frame of its own, and how it ended."""

    def __init__(self, activation: Activation, step: Step) -> None:
        self.activation = activation
        self.step = step
        self.address = activation.address(step.local)
        self.scope = activation.scope.child(self.address)
        self.foreground_limit = asyncio.timeout(None)  # expires when this part has failed
        self.is_foreground_open = False
        self.failure: Outcome | None = None
        self.rewound: FrameRewound | None = None
        names, opener = [(self.address, step.title)], activation.occurrence
        (self.frame,) = open_frames(activation.run, names, activation.frame, opener, is_waited_for=False)

    @property
    def ends_foreground(self) -> bool:
        return self.failure is not None or self.rewound is not None

    async def start(self, group: asyncio.TaskGroup) -> None:
        """Begin; what an earlier process had done of it is there again when this returns."""
        frame = self.frame
        if frame.recorded:
            frame.caught_up_event = asyncio.Event()
        frame.task = group.create_task(self._live(), name=f"frame {frame.id}")
        frame.task.add_done_callback(self._end_if_it_never_began)
        if frame.caught_up_event is not None:
            await frame.caught_up_event.wait()

    async def _live(self) -> None:
        try:
            ended = await live_frame(self.activation.run, self.frame, self.scope, self._run_step)
            self.failure = ended if ended.is_failure and not self.step.continue_on_error else None
        except FrameRewound as going_back:
            self.rewound = going_back
        except asyncio.CancelledError:
            return
        if self.is_foreground_open and self.ends_foreground:
            self.activation.cancel_reason = f"its background step {self.step.title} failed"
            self.foreground_limit.reschedule(asyncio.get_running_loop().time())

    async def _run_step(self, frame: Frame) -> Outcome:
        return await run_step(self.activation, frame, self.scope, self.step, self.address, record_in_steps)

    def _end_if_it_never_began(self, _: asyncio.Task[None]) -> None:
        if not self.frame.is_done:
            end_frame(self.activation.run, self.frame)
