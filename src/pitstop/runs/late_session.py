"""A hook that costs a run next to nothing: it remembers the frames, in case somebody comes to debug them."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from pitstop.engine.frame import Activation, Frame, Gate, Point, RunContext
from pitstop.engine.verdict import PROCEED, Position, Verdict
from pitstop.errors import NotRunning
from pitstop.events.outcome import Outcome
from pitstop.events.types import Rewound
from pitstop.plan.plan import Step

if TYPE_CHECKING:  # what a run that nobody debugs need not pay for
    from pitstop.runs.sessions import LocalSession


class LateSession:
    """The hook of a run that nobody asked to debug. `wake` makes a session of it, as if it had been there all along."""

    def __init__(self, make: Callable[[], "LocalSession"]) -> None:
        self.gate = Gate()
        self.session: LocalSession | None = None
        self._make = make
        self._run: RunContext | None = None
        self._is_started = False
        self._is_ended = False
        self._opened: list[tuple[Sequence[Frame], str, bool]] = []

    def wake(self) -> "LocalSession":
        """The session; NotRunning when the run has not begun, or has ended."""
        if self.session is None:
            if self._run is None or not self._is_started or self._is_ended:
                raise NotRunning
            session = self._make()
            session.gate = self.gate  # which the engine looks at
            session.attach(self._run)
            session.run_started()
            for frames, opener, is_waited_for in self._opened:
                session.frames_opened(frames, opener, is_waited_for=is_waited_for)
                for frame in frames:
                    if frame.is_done:
                        session.frame_ended(frame)
            self._opened.clear()
            self.session = session
        return self.session

    # What the engine asks

    def wants(self, step: Step, position: Position) -> bool:
        return self.session is not None and self.session.wants(step, position)

    def can_pause(self) -> bool:
        return self.session is not None and self.session.can_pause()

    def wants_snapshot(self, step: Step) -> bool:
        return self.session is not None and self.session.wants_snapshot(step)

    def returns_to(self, occurrence: str, position: Position) -> bool:
        return self.session is not None and self.session.returns_to(occurrence, position)

    async def at(self, point: Point) -> Verdict:
        return PROCEED if self.session is None else await self.session.at(point)

    def attach(self, run: RunContext) -> None:
        self._run = run

    def run_started(self) -> None:
        self._is_started = True

    def frames_opened(self, frames: Sequence[Frame], opener: str, *, is_waited_for: bool) -> None:
        if self.session is not None:
            self.session.frames_opened(frames, opener, is_waited_for=is_waited_for)
        else:
            self._opened.append((frames, opener, is_waited_for))

    def frame_ended(self, frame: Frame) -> None:
        if self.session is not None:
            self.session.frame_ended(frame)
        else:
            self._opened = [each for each in self._opened if not all(member.is_done for member in each[0])]

    def frame_rewound(self, frame: Frame, event: Rewound) -> None:
        if self.session is not None:
            self.session.frame_rewound(frame, event)

    async def run_ending(self, root: Activation, outcome: Outcome) -> Verdict:
        return PROCEED if self.session is None else await self.session.run_ending(root, outcome)

    def run_ended(self, outcome: Outcome) -> None:
        self._is_ended = True
        if self.session is not None:
            self.session.run_ended(outcome)
