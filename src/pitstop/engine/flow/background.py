"""A part that runs beside the steps that need it, and is ended with them."""

import asyncio
from collections.abc import Mapping
from typing import Any

from pitstop.engine.flow.sequence import PASSED, run_body, take_over
from pitstop.engine.frame import Activation, FrameRewound
from pitstop.engine.frame_life import end_frame, live_frame, open_frames
from pitstop.engine.step import record_in_steps, run_step
from pitstop.events.outcome import Outcome


async def run_background(activation: Activation, config: Mapping[str, Any]) -> Outcome:
    """The first child runs in a frame of its own, the others in this one. If it fails, so do they, at once."""
    run = activation.run
    beside, *foreground = activation.step.children
    address = activation.address(beside.local)
    scope = activation.scope.child(address)
    (frame,) = open_frames(run, [(address, beside.title)], activation.frame, activation.occurrence, is_waited_for=False)
    limit = asyncio.timeout(None)  # ends the foreground when the part beside it has failed
    is_foreground_open = False
    outcome = PASSED
    failure: Outcome | None = None
    rewound: FrameRewound | None = None

    async def live() -> None:
        nonlocal failure, rewound
        try:
            ended = await live_frame(
                run, frame, scope, lambda frame: run_step(activation, frame, scope, beside, address, record_in_steps)
            )
            failure = ended if ended.is_failure and not beside.continue_on_error else None
        except FrameRewound as going_back:
            rewound = going_back
        except asyncio.CancelledError:
            return
        if is_foreground_open and (failure is not None or rewound is not None):
            activation.cancel_reason = f"its background step {beside.title} failed"
            limit.reschedule(asyncio.get_running_loop().time())

    def end_if_it_never_began(task: asyncio.Task[None]) -> None:
        if not frame.is_done:
            end_frame(run, frame)

    try:
        async with asyncio.TaskGroup() as group:
            if frame.recorded:
                frame.caught_up_event = asyncio.Event()
            frame.task = group.create_task(live(), name=f"frame {frame.id}")
            frame.task.add_done_callback(end_if_it_never_began)
            if frame.caught_up_event is not None:
                await frame.caught_up_event.wait()  # what it had done before is there when the foreground begins
            try:
                async with limit:
                    is_foreground_open = not activation.is_replayed
                    if activation.is_replayed or (failure is None and rewound is None):
                        outcome = await run_body(
                            activation, activation.frame, activation.scope, foreground, activation.occurrence
                        )
            except TimeoutError:
                if not limit.expired():
                    raise
            except FrameRewound as going_back:
                rewound = going_back
            finally:
                is_foreground_open = False
            if not activation.is_replayed:
                frame.cancel("the foreground steps have ended")
    finally:
        run.frames.pop(frame.id, None)
        take_over(activation.scope, scope.own)
        activation.cancel_reason = None
    if rewound is not None:
        raise rewound
    return outcome if failure is None else Outcome(failure.status, error=failure.error)
