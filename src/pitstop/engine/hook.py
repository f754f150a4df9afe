"""The one seam for those who may hold a run up."""

from collections.abc import Container, Sequence
from typing import TYPE_CHECKING, Any, Literal, Protocol

from pitstop.events.outcome import Outcome
from pitstop.events.types import Rewound
from pitstop.lazy_dataclass import dataclass
from pitstop.plan.plan import Step
from pitstop.plan.scope import Edit

if TYPE_CHECKING:
    from pitstop.engine.body import Restart
    from pitstop.engine.frame import Activation, Frame
    from pitstop.engine.run import Run

Position = Literal["before", "after", "error"]


@dataclass(frozen=True, slots=True)
class Point:
    """A place where the engine asks its hook."""

    activation: "Activation"
    position: Position
    outcome: Outcome | None = None
    will_run: bool = True  # at `before`: what the step's `if` says now
    is_propagated: bool = False  # at `error`: the failure began in a step under this one, which was asked about
    is_repeated: bool = False  # asked before, before steps were injected in front of it
    is_replayed: bool = False  # what comes of it is in the log
    is_interrupted: bool = False  # at `before`: the step was at work when the run's process ended


@dataclass(frozen=True, slots=True)
class Proceed:
    """Go on. `inject` runs first; `config` takes the place of keys of the step's own.

    With `enters_code` the step, if it calls a function, is to wait there for whoever wants to step on in its language.
    """

    inject: tuple[Step, ...] = ()
    inject_after: tuple[Step, ...] = ()
    config: dict[str, Any] | None = None
    enters_code: bool = False


@dataclass(frozen=True, slots=True)
class Force:
    """The occurrence ends with this outcome, whatever it did or would have done; edits made here stay."""

    outcome: Outcome
    inject: tuple[Step, ...] = ()
    inject_after: tuple[Step, ...] = ()
    edits: tuple[Edit, ...] = ()


@dataclass(frozen=True, slots=True)
class Again:
    """The occurrence does not count: the next attempt, with the edits made here."""

    edits: tuple[Edit, ...] = ()
    config: dict[str, Any] | None = None
    delay_seconds: float = 0.0
    inject_after: tuple[Step, ...] = ()


@dataclass(frozen=True, slots=True)
class GoBack:
    """The frame is started again; the log, cut at the point, says how far it goes without running anything.

    With `restart` only the steps from there on start again.
    """

    frame: str
    point_frame: str
    occurrence: str
    position: Position
    after: int
    snapshot: str | None = None  # of the workspace as it was there
    restart: "Restart | None" = None

    @property
    def since(self) -> int:
        """The event after which all that starts again began."""
        return 0 if self.restart is None else self.restart.start.after


Verdict = Proceed | Force | Again | GoBack
PROCEED = Proceed()


class Gate:
    """What a hook wants to be asked about, so cheap to look at that every node can.

    `paths` has the steps that it wants to hear of before or after them; `epoch` grows with each change, so that
    a node which was running meanwhile is looked up again when it ends.
    """

    __slots__ = ("epoch", "paths")

    def __init__(self) -> None:
        self.epoch = 0
        self.paths: Container[str] = frozenset()


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

    def attach(self, run: "Run") -> None:
        """The run is made, and this is its hook; a hook that has another one refuses."""
        ...

    def run_started(self) -> None: ...

    def frames_opened(self, frames: Sequence["Frame"], opener: str, *, is_waited_for: bool) -> None:
        """Frames were made by the occurrence `opener`, whose own frame goes on beside them or waits for them."""
        ...

    def frame_ended(self, frame: "Frame") -> None: ...

    def frame_rewound(self, frame: "Frame", event: Rewound) -> None:
        """The frame starts again. Of two that were asked for at the same time, this is the one that came about."""
        ...

    async def run_ending(self, root: "Activation", outcome: Outcome) -> Verdict:
        """The last look: all has run, cleanup too, and nothing is gone yet."""
        ...

    def run_ended(self, outcome: Outcome) -> None: ...
