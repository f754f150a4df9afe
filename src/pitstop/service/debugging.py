"""What a door can say to a debugger: one protocol, which the session in this process fits as it is."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal, Protocol

from pitstop.debugger.breakpoints import Breakpoint
from pitstop.debugger.inspection import ConfigPreview, Variable
from pitstop.debugger.stops import FrameInfo, Stop
from pitstop.debugger.time_travel import HistoryPoint
from pitstop.events.outcome import Outcome
from pitstop.plan.values import Change, Json, as_json
from pitstop.service.api import ActiveRun, BreakPosition

__all__ = [
    "Breakpoint",
    "Change",
    "ConfigPreview",
    "DebuggedRun",
    "Debugger",
    "FrameInfo",
    "HistoryPoint",
    "Json",
    "Outcome",
    "Stop",
    "Variable",
    "as_json",
]


class Debugger(Protocol):
    """The debugger of one run. A command is applied before it returns, or refused whole with a CommandRefused.

    A stop is named by its id. What is looked up without waiting is what the door knows already: over a wire that is
    the fold of the events.
    """

    @property
    def frames(self) -> Sequence[FrameInfo]: ...

    @property
    def stops(self) -> Sequence[Stop]:
        """The stops that last, in the order in which they came."""
        ...

    @property
    def breakpoints(self) -> Sequence[Breakpoint]: ...

    @property
    def watches(self) -> Sequence[str]: ...

    @property
    def is_ended(self) -> bool: ...

    # Moving

    async def continue_(self, stop: int) -> None: ...

    async def continue_all(self) -> None: ...

    async def step_into(self, stop: int) -> None: ...

    async def step_over(self, stop: int) -> None: ...

    async def step_out(self, stop: int) -> None: ...

    async def run_to(self, stop: int, step: str) -> None: ...

    async def pause(self, frame: str | None = None) -> None: ...

    async def detach(self) -> None: ...

    async def abort(self, reason: str = ...) -> None: ...

    # Changing

    async def skip(self, stop: int, outputs: Mapping[str, Any] | None = None) -> None: ...

    async def force(self, stop: int, status: str, outputs: Mapping[str, Any] | None = None) -> None: ...

    async def retry(self, stop: int) -> None: ...

    async def inject(self, stop: int, step: Mapping[str, Any], position: Literal["before", "after"]) -> str: ...

    async def set(self, stop: int, path: str, value: Any, *, layer: str | None = None) -> None: ...

    async def unset(self, stop: int, path: str, *, layer: str | None = None) -> None: ...

    async def undo(self, stop: int) -> None: ...

    async def override_config(self, stop: int, config: Mapping[str, Any]) -> None: ...

    # Going back

    async def step_back(self, stop: int, *, external: bool = False) -> None: ...

    async def rewind(self, stop: int, point: int, *, external: bool = False) -> None: ...

    async def restart_frame(self, stop: int, *, external: bool = False) -> None: ...

    # Breakpoints and watches

    def add_breakpoint(
        self,
        step: str | None = None,
        position: BreakPosition = "before",
        *,
        kind: str | None = None,
        file: str | None = None,
        line: int | None = None,
        condition: str | None = None,
        hits: str | None = None,
        log: str | None = None,
        once: bool = False,
        group: str | None = None,
        state: str | None = None,
        equals: Any = ...,
    ) -> Breakpoint: ...

    def remove_breakpoint(self, breakpoint: int) -> None: ...

    def enable_breakpoint(self, breakpoint: int, enabled: bool = True) -> None: ...

    def enable_group(self, group: str, enabled: bool = True) -> None: ...

    def watch(self, expression: str) -> None: ...

    def unwatch(self, expression: str) -> None: ...

    # Looking

    async def evaluate_all(self, stop: int, expression: str) -> list[Any]: ...

    async def watch_values(self, stop: int) -> dict[str, Any]: ...

    def variables(self, stop: int) -> list[Variable]: ...

    async def config(self, stop: int) -> ConfigPreview: ...

    def history(self) -> list[HistoryPoint]: ...

    def diff(self, stop: Stop) -> list[Change]:
        """What changed since the stop that its frame had before."""
        ...

    async def diff_points(self, before: int, after: int) -> list[Change]: ...

    # The session itself

    async def extend(self, seconds: float) -> None: ...

    def export(self) -> dict[str, Any]: ...


class DebuggedRun(ActiveRun, Protocol):
    """A run with a debugger.

    Values that the debugger gives are as the steps see them; a door that shows them takes the secrets out.
    """

    @property
    def session(self) -> Debugger: ...

    @property
    def carried_over(self) -> int:
        """How many events it began with: those of the run that it goes on from."""
        ...
