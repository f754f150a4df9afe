"""What the engine asks of the world outside it."""

from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager
from typing import Protocol

from msgspec import Struct, field

from pitstop.engine.frame import Activation, Combine, PlanStep, StepType
from pitstop.events.log import EventLog
from pitstop.plan.expressions import Evaluator

__all__ = ["Clock", "Evaluator", "EventLog", "PlanStep", "Ports", "Snapshots", "StepLogs", "StepType", "Workspaces"]


class Clock(Protocol):
    """The time that events carry, and the waits of a server. A run waits by the event loop's own timers."""

    def now(self) -> float:
        """Seconds since the epoch."""
        ...

    async def sleep(self, seconds: float) -> None: ...

    def timeout(self, seconds: float) -> AbstractAsyncContextManager[object]:
        """A context that raises TimeoutError if it is not left within this time."""
        ...


class Snapshots(Protocol):
    """Where the files of the run's workspace are kept as they were, so that going back finds them again.

    What is written while a snapshot is taken may or may not be in it. What cannot be done is a PitstopError.
    """

    async def take(self, frame: str, occurrence: str) -> str | None:
        """Keep the workspace as it is; gives what `restore` takes, None where there are no files to keep."""
        ...

    async def restore(self, snapshot: str) -> None:
        """Make the workspace exactly what it was; asked again, it is the same again."""
        ...


class Workspaces(Protocol):
    """Where steps that ask for a workspace of their own get it. `home` is the address of such a step."""

    async def step_type(self, home: str, kind: str) -> StepType:
        """What works in that workspace, which is made when it is first asked for."""
        ...

    async def leave(self, home: str) -> None:
        """The step is over, and its workspace with it."""
        ...

    async def discard(self, home: str) -> None:
        """Remove that workspace with all that was left there: the step begins anew."""
        ...


class StepLogs(Protocol):
    """What has the end of each log that another step reads."""

    def take_log(self, activation: Activation) -> str | None:
        """The end of what the step wrote, without secrets; None if it wrote nothing. Called once, after its end."""
        ...


class Ports(Struct, frozen=True):
    """The parts that a run was given. `step_types` has the kinds that are not ways of combining steps.

    `mask` removes secrets from the messages of failures. `combining` has further ways of combining steps.
    """

    evaluator: Evaluator
    clock: Clock
    step_types: Mapping[str, StepType] = field(default_factory=dict)
    snapshots: Snapshots | None = None
    workspaces: Workspaces | None = None
    mask: Callable[[str], str] | None = None
    plan_step: PlanStep | None = None
    logs: StepLogs | None = None
    combining: Mapping[str, Combine] = field(default_factory=dict)
