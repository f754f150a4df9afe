"""What a door can say to the debugger of a run, and the plain values that it answers with, none with a secret in it."""

from collections.abc import Mapping
from typing import Any, Literal, Protocol

from pitstop.runs.file_changes import FileChanges, FileDiff
from pitstop.runs.run_request import BreakpointRequest
from pitstop.runs.stop_info import (
    BreakpointInfo,
    ContextInfo,
    DebugState,
    FrameInfo,
    FrameState,
    OutcomeInfo,
    PointInfo,
    StopInfo,
)
from pitstop.runs.variable_info import ChangeInfo, ConfigInfo, VariableInfo, VariablePage

__all__ = [
    "BreakpointInfo",
    "ChangeInfo",
    "ConfigInfo",
    "ContextInfo",
    "DebugState",
    "Debugger",
    "FileChanges",
    "FileDiff",
    "FrameInfo",
    "FrameState",
    "OutcomeInfo",
    "PointInfo",
    "StopInfo",
    "VariableInfo",
    "VariablePage",
]


class Debugger(Protocol):
    """The debugger of one run. A command is applied before it returns, or refused whole with a CommandRefused.

    A stop is named by its id; one that is over is refused with StaleStop and nothing is changed.
    """

    async def state(self) -> DebugState: ...

    # Moving

    async def continue_(self, stop: int, *, keeps_step: bool = False) -> None:
        """With `keeps_step` as if it had not stopped: a step that was on its way, and ended here, still is."""
        ...

    async def continue_all(self) -> None: ...

    async def step_into(self, stop: int, *, code: bool = False) -> None:
        """With `code`, a function that the step calls waits for a debugger of its language, as an event tells; where
        that cannot be, it is run through.
        """
        ...

    async def step_over(self, stop: int) -> None: ...

    async def step_out(self, stop: int) -> None: ...

    async def run_to(self, stop: int, step: str) -> None: ...

    async def pause(self, frame: str | None = None) -> None: ...

    async def cancel_frame(self, frame: str, reason: str = "ended by the user") -> None:
        """End one branch; UnknownFrame, also for the main one, which is the run."""
        ...

    async def detach(self) -> None: ...

    async def abort(self, reason: str = "aborted by the user") -> None: ...

    # Changing

    async def skip(self, stop: int, outputs: Mapping[str, Any] | None = None, *, pauses: bool = False) -> None:
        """With `pauses` the frame stops at the next point it comes to."""
        ...

    async def force(
        self, stop: int, status: str, outputs: Mapping[str, Any] | None = None, *, pauses: bool = False
    ) -> None:
        """With `pauses` the frame stops at the next point it comes to."""
        ...

    async def retry(self, stop: int) -> None: ...

    async def inject(self, stop: int, step: Mapping[str, Any], position: Literal["before", "after"] = "before") -> str:
        """Gives the path of the injected step."""
        ...

    async def set(self, stop: int, path: str, value: Any, *, layer: str | None = None) -> None: ...

    async def unset(self, stop: int, path: str, *, layer: str | None = None) -> None: ...

    async def undo(self, stop: int) -> None: ...

    async def override_config(self, stop: int, config: Mapping[str, Any]) -> None: ...

    # Going back, or ahead

    async def step_back(self, stop: int, *, external: bool = False) -> None: ...

    async def rewind(self, stop: int, point: int, *, external: bool = False) -> None: ...

    async def restart_frame(self, stop: int, *, external: bool = False) -> None: ...

    async def goto(self, stop: int, step: str, *, external: bool = False) -> None:
        """To a step of the same sequence: back to it, or ahead with those in between skipped. Stops before it."""
        ...

    # Breakpoints and watches

    async def add_breakpoint(self, request: BreakpointRequest) -> BreakpointInfo: ...

    async def change_breakpoint(self, breakpoint: int, request: BreakpointRequest) -> BreakpointInfo:
        """Put another in its place under the same number; its hits are counted on."""
        ...

    async def remove_breakpoint(self, breakpoint: int) -> None: ...

    async def enable_breakpoint(self, breakpoint: int, enabled: bool = True) -> None: ...

    async def enable_group(self, group: str, enabled: bool = True) -> None: ...

    async def watch(self, expression: str) -> None: ...

    async def unwatch(self, expression: str) -> None: ...

    # Looking

    async def evaluate(self, stop: int | None, expression: str) -> list[Any]:
        """Every value that a jq expression gives there; for no stop, on what the run as a whole knows by now."""
        ...

    async def watch_values(self, stop: int) -> dict[str, Any]:
        """The watches and their values; one that fails has `{"error": text}` in place of `{"value": value}`."""
        ...

    async def variables(
        self, stop: int, path: str = ".", *, cursor: int = 0, limit: int = 100, search: str | None = None
    ) -> VariablePage:
        """One level of the scope: the children of the value at a jq path, a page of them."""
        ...

    async def scope(self, stop: int) -> dict[str, Any]:
        """All that the step sees, as JSON."""
        ...

    async def config(self, stop: int) -> ConfigInfo: ...

    async def history(self) -> tuple[PointInfo, ...]: ...

    async def diff(self, stop: int) -> tuple[ChangeInfo, ...]:
        """What changed since the stop that its frame had before."""
        ...

    async def diff_points(self, before: int, after: int) -> tuple[ChangeInfo, ...]: ...

    async def file_changes(self, before: int, after: int | None = None, *, limit: int = 1000) -> FileChanges:
        """What changed in the workspace between two points, or from one until now; NoFiles."""
        ...

    async def file_diff(self, path: str, before: int, after: int | None = None) -> FileDiff:
        """One file of the workspace at two points, or at one and now; NoFiles, UnknownSnapshot."""
        ...

    async def context(self, stop: int) -> ContextInfo:
        """Where the stop is: commit, machine, image, step, the last lines of its log, and how to join."""
        ...

    # The session itself

    async def extend(self, seconds: float) -> None: ...

    async def export(self) -> dict[str, Any]: ...
