"""What a hook can answer at a point, and the positions of points."""

from typing import Any, Literal

from msgspec import Struct

from pitstop.engine.body import Restart
from pitstop.events.outcome import Outcome
from pitstop.plan.plan import Step
from pitstop.plan.scope import Edit

Position = Literal["before", "after", "error"]


class Proceed(Struct, frozen=True):
    """Go on. `inject` runs first; `config` takes the place of keys of the step's own.

    With `enters_code` the step, if it calls a function, is to wait there for whoever wants to step on in its language.
    """

    inject: tuple[Step, ...] = ()
    inject_after: tuple[Step, ...] = ()
    config: dict[str, Any] | None = None
    enters_code: bool = False


class Force(Struct, frozen=True):
    """The occurrence ends with this outcome, whatever it did or would have done; edits made here stay."""

    outcome: Outcome
    inject: tuple[Step, ...] = ()
    inject_after: tuple[Step, ...] = ()
    edits: tuple[Edit, ...] = ()


class Again(Struct, frozen=True):
    """The occurrence does not count: the next attempt, with the edits made here."""

    edits: tuple[Edit, ...] = ()
    config: dict[str, Any] | None = None
    delay_seconds: float = 0.0
    inject_after: tuple[Step, ...] = ()


class GoBack(Struct, frozen=True):
    """The frame is started again; the log, cut at the point, says how far it goes without running anything.

    With `restart` only the steps from there on start again.
    """

    frame: str
    point_frame: str
    occurrence: str
    position: Position
    after: int
    snapshot: str | None = None  # of the workspace as it was there
    restart: Restart | None = None
    undoes: int | None = None  # the number of the rewind that this undoes

    @property
    def since(self) -> int:
        """The event after which all that starts again began."""
        return 0 if self.restart is None else self.restart.start.after


Verdict = Proceed | Force | Again | GoBack
PROCEED = Proceed()
