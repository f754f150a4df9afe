"""How long a run, a frame or a step ran and was paused: one definition for all of them.

What is open is paused while everything that lives in it is, and runs otherwise. While no process has the run, what was
paused stays paused, and nothing runs.
"""

from collections.abc import Iterable

from msgspec import Struct


class Durations(Struct, frozen=True):
    """Seconds that something ran, was paused, and lasted in all. The rest of the total had no process."""

    ran: float
    paused: float
    total: float


class Clock(Struct):
    """The time of one thing, up to `since`. It goes on from there unless `ended_at` says when it ended."""

    began_at: float
    since: float
    ran_seconds: float = 0.0
    paused_seconds: float = 0.0
    is_paused: bool = False
    ended_at: float | None = None

    def pass_to(self, at: float) -> None:
        """Count the time since the last event. A clock of the machine that was set back counts nothing."""
        passed = max(0.0, at - self.since)
        if self.ended_at is not None:
            return
        if self.is_paused:
            self.paused_seconds += passed
        else:
            self.ran_seconds += passed
        self.since = at

    def set_paused(self, is_paused: bool, at: float) -> None:
        if is_paused != self.is_paused:
            self.pass_to(at)
            self.is_paused = is_paused

    def end(self, at: float) -> None:
        self.pass_to(at)
        self.is_paused = False
        self.ended_at = at if self.ended_at is None else self.ended_at

    def go_on(self, at: float, *, is_paused: bool = False) -> None:
        """Continue what had ended, or what its process left behind. The time in between is not counted."""
        if self.ended_at is not None or not self.is_paused:
            self.since = at
            self.is_paused = is_paused
        self.ended_at = None

    def durations(self, now: float) -> Durations:
        """Up to now, or up to the end."""
        passed = 0.0 if self.ended_at is not None else max(0.0, now - self.since)
        ran = self.ran_seconds + (0.0 if self.is_paused else passed)
        paused = self.paused_seconds + (passed if self.is_paused else 0.0)
        return Durations(ran, paused, (now if self.ended_at is None else self.ended_at) - self.began_at)


class LiveFrame(Struct, frozen=True, gc=False):
    """A frame that has not ended: what opened it, its open steps from the outermost, and whether it is at a stop."""

    id: str
    parent: str | None
    opener: str | None
    steps: tuple[str, ...]
    is_at_stop: bool


def paused_in(frames: Iterable[LiveFrame]) -> tuple[set[str], set[str]]:
    """The frames, and the open steps, in which everything that lives is paused."""
    children: dict[str | None, list[LiveFrame]] = {}
    for frame in frames:
        children.setdefault(frame.parent, []).append(frame)
    paused_frames: set[str] = set()
    paused_steps: set[str] = set()

    def look(frame: LiveFrame) -> bool:
        below = children.get(frame.id)
        if below is None:
            if frame.is_at_stop:
                paused_frames.add(frame.id)
                paused_steps.update(frame.steps)
            return frame.is_at_stop
        inside = [(child.opener, look(child)) for child in below]
        innermost = frame.steps[-1] if frame.steps else None
        is_waiting = any(innermost in (None, opener) for opener, _ in inside)
        is_paused = frame.is_at_stop or is_waiting
        for step in reversed(frame.steps):  # each has in it what those before it have
            is_paused = is_paused and all(paused for opener, paused in inside if opener == step)
            if is_paused:
                paused_steps.add(step)
        if is_paused and all(paused for _, paused in inside):
            paused_frames.add(frame.id)
            return True
        return False

    for top in children.get(None, ()):
        look(top)
    return paused_frames, paused_steps
