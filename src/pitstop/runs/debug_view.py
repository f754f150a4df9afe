"""What a debugger shows of a run besides its stops: the frames, and the session of a run that has ended."""

from pitstop.events.view import RunView
from pitstop.runs.run_info import SessionState
from pitstop.runs.stop_info import FrameInfo, FrameState


def session_in(view: RunView) -> SessionState:
    """How the session of a run that has ended was in the end."""
    if not view.last_stop and not view.had_session:
        return "none"
    return "timeout" if view.timed_out_stop == view.last_stop else "ended"


def frames_in(view: RunView) -> tuple[FrameInfo, ...]:
    stops = {stop.frame: stop for stop in view.stops.values()}
    frames = []
    for frame in view.frames.values():
        occurrence, step = next(reversed(view.running.get(frame.id, {"": ""}).items()), (None, None))
        if frame.id in stops:
            occurrence, step = stops[frame.id].occurrence, stops[frame.id].step
        state: FrameState = frame.state  # type: ignore[assignment]
        frames.append(FrameInfo(frame.id, frame.name, frame.parent, state, step or None, occurrence or None))
    return tuple(frames)
