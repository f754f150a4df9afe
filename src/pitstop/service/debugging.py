"""What a door can say to the debugger of a run, and the plain values that it answers with, none with a secret in it."""

from collections.abc import Mapping
from dataclasses import field
from typing import Any, Literal, Protocol

from pitstop.lazy_dataclass import dataclass
from pitstop.service.api import BreakpointRequest, BreakPosition, CommitInfo, SessionState

FrameState = Literal["running", "pausing", "paused", "done"]
FileChangeKind = Literal["added", "removed", "changed", "mode"]


@dataclass(frozen=True, slots=True)
class FrameInfo:
    """A line of execution."""

    id: str
    name: str
    parent: str | None
    state: FrameState
    step: str | None = None  # the path of the step that it is at, and the occurrence
    occurrence: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class OutcomeInfo:
    """How a step ended."""

    status: str
    outputs: Any = None
    error_type: str | None = None
    error: str | None = None
    paused_seconds: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class StopInfo:
    """A frame that stands still. `allowed` has the verbs that are possible now; `will_run` is what the `if` says.

    `after_event` is its number in the log: what a rewind to it keeps.
    """

    id: int
    frame: str
    step: str
    occurrence: str
    position: BreakPosition
    reasons: tuple[str, ...]
    breakpoints: tuple[int, ...] = ()
    problems: tuple[str, ...] = ()
    outcome: OutcomeInfo | None = None
    allowed: tuple[str, ...] = ()
    will_run: bool = True
    is_cleanup: bool = False
    is_injected: bool = False
    file: str | None = None
    line: int | None = None
    column: int | None = None
    end_line: int | None = None
    after_event: int = 0
    lease_ends_at: float | None = None  # when it ends by itself; seconds since the epoch


@dataclass(frozen=True, slots=True, kw_only=True)
class BreakpointInfo:
    """A breakpoint of a session. `paths` are the steps that it is at."""

    id: int
    request: BreakpointRequest
    hit_count: int = 0
    paths: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class EditInfo:
    """A change that was made at a stop, and can be undone until its frame goes on.

    `preview` is the value in one line; `value` is there for a plain one, and cut when it is long.
    """

    stop: int
    layer: str
    path: str
    preview: str = ""
    value: Any = None
    is_cut: bool = False
    removes: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class DebugState:
    """All of a session at one moment: with the events above `last_event` it can be followed from there."""

    session: SessionState
    frames: tuple[FrameInfo, ...]
    stops: tuple[StopInfo, ...]  # those that last, in the order in which they came
    breakpoints: tuple[BreakpointInfo, ...]
    watches: tuple[str, ...]
    edits: tuple[EditInfo, ...]
    interventions: tuple[str, ...]
    last_event: int
    is_ended: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class VariableInfo:
    """A value in a scope, one level of it. `path` is jq; `size` is how many children it has, None for a plain value.

    `value` is there for a plain value, and cut when it is long; `preview` is one line in any case.
    """

    name: str
    path: str
    type: Literal["object", "array", "string", "number", "boolean", "null"]
    preview: str
    value: Any = None
    is_cut: bool = False
    size: int | None = None
    layer: str = ""
    set_by: str | None = None


@dataclass(frozen=True, slots=True)
class VariablePage:
    """Some children of a value; `next` is the cursor of those that come after them."""

    variables: tuple[VariableInfo, ...]
    total: int
    next: int | None = None


@dataclass(frozen=True, slots=True)
class ConfigInfo:
    """A step's config as written, as it would resolve now, and what keeps any part of it from resolving."""

    raw: Mapping[str, Any]
    resolved: Mapping[str, Any]
    expressions: tuple[str, ...] = ()
    problems: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class PointInfo:
    """A point of the history that can be gone back to. `status` is how the step had ended; `stop`, that it stopped."""

    number: int
    frame: str
    step: str
    occurrence: str
    position: BreakPosition
    at: float = 0.0
    status: str | None = None
    stop: int | None = None
    has_snapshot: bool = False  # whether the workspace of then can be put back


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeInfo:
    """A difference between two values, at a path; what was not there is None and `kind` says so."""

    path: str
    kind: Literal["added", "removed", "changed"]
    before: Any = None
    after: Any = None


@dataclass(frozen=True, slots=True)
class FileChangeInfo:
    """What became of one path between two points. `mode` is a change of the permissions only."""

    path: str
    kind: FileChangeKind
    is_text: bool = False


@dataclass(frozen=True, slots=True)
class FileChanges:
    """The files that differ between two points, by path; `total` counts those too that were left off."""

    changes: tuple[FileChangeInfo, ...]
    total: int


@dataclass(frozen=True, slots=True, kw_only=True)
class FileDiff:
    """One file at two points. `diff` is in the unified format, and empty for what is no text; no `kind`, no change."""

    path: str
    kind: FileChangeKind | Literal[""]
    is_text: bool
    diff: str = ""
    is_cut: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextInfo:
    """Where a stop is, for somebody who comes to it from elsewhere. The step is the `number`-th of all `steps`.

    `join` is the command that opens a shell there from any terminal, and `join_sidecar` one that cannot change files;
    both are empty for a run that only its own terminal can come to.
    """

    stop: int
    step: str
    occurrence: str
    kind: str
    title: str
    position: BreakPosition
    number: int
    steps: int
    machine: str
    platform: str
    executor: Literal["process", "container"]
    workspace: str
    in_place: bool
    session: SessionState
    commit: CommitInfo | None = None
    image: str | None = None
    image_digest: str | None = None
    log: tuple[str, ...] = ()
    join: str = ""
    join_sidecar: str = ""
    lease_ends_at: float | None = None


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

    async def cancel_frame(self, frame: str, reason: str = "ended by hand") -> None:
        """End one branch; UnknownFrame, also for the main one, which is the run."""
        ...

    async def detach(self) -> None: ...

    async def abort(self, reason: str = "aborted by hand") -> None: ...

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
