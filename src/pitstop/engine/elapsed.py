"""How long the steps that a log leaves open were at work: after a restart their clocks go on from there."""

from collections.abc import Sequence, Set

from msgspec import Struct, field

from pitstop.events.types import AnyEvent, Resumed, RunStarted, StepFinished, StepStarted, StopEnded, Stopped


class Elapsed(Struct, frozen=True):
    """What one attempt of a step has behind it. While it is paused it is not charged."""

    charged_seconds: float
    paused_seconds: float


class _Open(Struct):
    """A step at work. `alive` is the time in which a process had the run, `at` that of the calendar."""

    began_alive: float
    holds: int = 0
    held_since: tuple[float, float] = (0.0, 0.0)
    held_alive: float = 0.0
    paused_seconds: float = 0.0

    def hold(self, alive: float, at: float) -> None:
        self.holds += 1
        if self.holds == 1:
            self.held_since = (alive, at)

    def release(self, alive: float, at: float) -> None:
        self.holds -= 1
        if not self.holds:
            self.held_alive += alive - self.held_since[0]
            self.paused_seconds += max(0.0, at - self.held_since[1])

    def elapsed(self, alive: float, at: float) -> Elapsed:
        if self.holds:
            self.holds = 1
            self.release(alive, at)
        return Elapsed(alive - self.began_alive - self.held_alive, self.paused_seconds)


class _Ledger(Struct):
    """The clocks of a run as its events move them."""

    cleanup: Set[str]  # the paths of the steps that clean up after the run, for which its clock does not run
    alive: float = 0.0
    last: float | None = None  # when the process that has it was last known to be there
    steps: dict[str, _Open] = field(default_factory=dict)
    stops: dict[int, list[_Open]] = field(default_factory=dict)  # those whose clocks each of them holds

    def pass_to(self, at: float) -> None:
        if self.last is not None and at > self.last:
            self.alive += at - self.last
            self.last = at

    def pass_life(self, left_at: float | None, at: float) -> None:
        """A process ended, and the next one began: what lies between is nobody's time."""
        if left_at is not None:
            self.pass_to(min(left_at, at))

    def apply(self, event: AnyEvent) -> None:
        if not isinstance(event, RunStarted):
            self.pass_to(event.at)
        match event:
            case RunStarted():
                self.pass_life(event.left_at, event.at)
                self.last = event.at
                self.steps.setdefault("", _Open(self.alive))
            case StepStarted():
                self.steps[event.occurrence] = _Open(self.alive)
                if event.step in self.cleanup:
                    self.steps[""].hold(self.alive, event.at)
            case StepFinished():
                self.steps.pop(event.occurrence, None)
            case Stopped():
                held = [step for name, step in self.steps.items() if _is_in(event.occurrence, name)]
                self.stops[event.stop] = held
                for step in held:
                    step.hold(self.alive, event.at)
            case Resumed() | StopEnded():
                for step in self.stops.pop(event.stop, ()):
                    step.release(self.alive, event.at)
            case _:
                pass


def _is_in(occurrence: str, around: str) -> bool:
    """Whether it is that occurrence, or in it; the run is around all. Another attempt or visit is another one."""
    return not around or (occurrence.startswith(around) and occurrence[len(around) : len(around) + 1] in ("", ".", "["))


def elapsed_in(
    events: Sequence[AnyEvent],
    carried_over: int,
    now: float,
    *,
    left_at: float | None = None,
    cleanup: Set[str] = frozenset(),
) -> dict[str, Elapsed]:
    """By occurrence, that of the run itself being empty. The first `carried_over` events are those of another run.

    A process that was killed may have been at work for longer than its last event tells: until `left_at`, if known.
    """
    ledger = _Ledger(cleanup)
    for event in events[carried_over:]:
        ledger.apply(event)
    ledger.pass_life(left_at, now)
    return {name: step.elapsed(ledger.alive, now) for name, step in ledger.steps.items()}
