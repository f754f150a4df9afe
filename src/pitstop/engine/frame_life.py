"""The life of a frame: opened, run, rewound, ended."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence

from pitstop.engine.frame import Frame, FrameRewound, RunContext
from pitstop.engine.verdict import GoBack
from pitstop.events.outcome import Outcome
from pitstop.events.types import FrameEnded, FrameOpened, RewindUndone, Rewound
from pitstop.plan.scope import Scope


def open_frames(
    run: RunContext, names: Sequence[tuple[str, str]], parent: Frame | None, opener: str, *, is_waited_for: bool = True
) -> list[Frame]:
    """Make frames known, by id and name, before anything runs in any of them; `opener` is the occurrence that does."""
    frames = []
    for frame_id, name in names:
        frame = Frame(frame_id, name, parent, is_waited_for=is_waited_for)
        frame.recorded = run.recordings.pop(frame_id, frame.recorded)
        frames.append(frame)
        run.frames[frame_id] = frame
        if run.log is not None:
            parent_id = parent.id if parent is not None else None
            run.log.append(FrameOpened(run.now(), frame_id, name, parent_id, opener))
    if run.hook is not None:
        run.hook.frames_opened(frames, opener)
    return frames


async def live_frame(
    run: RunContext, frame: Frame, scope: Scope, body: Callable[[Frame], Awaitable[Outcome]]
) -> Outcome:
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


async def go_back(run: RunContext, frame: Frame, target: GoBack) -> None:
    """Cut the log, put the files back, and let the frame know what it need not do again."""
    where = (frame.id, target.point_frame, target.occurrence, target.position, target.after)
    what = (run.now(), *where, target.snapshot, target.since)
    event = Rewound(*what) if target.undoes is None else RewindUndone(*what, target.undoes)
    run.rewinds[frame.id] += 1
    if run.log is not None:
        run.log.append(event)
    await run.restart_frame(frame, target)
    if run.hook is not None:
        run.hook.frame_rewound(frame, event)


def end_frame(run: RunContext, frame: Frame) -> None:
    frame.is_done = True
    frame.catch_up()
    if run.log is not None:
        run.log.append(FrameEnded(run.now(), frame.id, frame.cancel_reason))
    if run.hook is not None:
        run.hook.frame_ended(frame)
