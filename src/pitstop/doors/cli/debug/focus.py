"""Which frame the person at the prompt is looking at."""

from collections.abc import Collection, Mapping, Sequence

from pitstop.service.debugging import FrameInfo, StopInfo

MAIN = "main"


def choose_frame(
    selected: str, frames: Sequence[FrameInfo], stops: Sequence[StopInfo], beside: Collection[str] = ()
) -> str:
    """The frame to look at now: the selected one, as long as it is alive.

    A frame that is gone leaves the choice to one that is stopped. One that waits for the frames that it opened gives
    way to the first of them that stops; those `beside` it, which it does not wait for, do not count.
    """
    stopped = [stop.frame for stop in stops]
    if selected in stopped:
        return selected
    by_id = {frame.id: frame for frame in frames}
    if not is_alive(by_id.get(selected)):
        return stopped[0] if stopped else _nearest_alive(selected, by_id)
    below = (frame for frame in stopped if selected in _waiting_for(frame, by_id, beside))
    return next(below, selected)


def is_alive(frame: FrameInfo | None) -> bool:
    return frame is not None and frame.state != "done"


def _waiting_for(frame: str, by_id: Mapping[str, FrameInfo], beside: Collection[str]) -> list[str]:
    """The frames above this one that cannot go on before it has ended."""
    above: list[str] = []
    while frame not in beside and frame in by_id and (parent := by_id[frame].parent) is not None:
        above.append(parent)
        frame = parent
    return above


def _nearest_alive(frame: str, by_id: Mapping[str, FrameInfo]) -> str:
    known: FrameInfo | None = by_id.get(frame)
    while known is not None and not is_alive(known):
        known = by_id.get(known.parent) if known.parent is not None else None
    return known.id if known is not None else MAIN
