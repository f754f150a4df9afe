"""A debug session as plain values: frames, stops, breakpoints, edits and points."""

from collections.abc import Mapping
from typing import Any, Literal

from msgspec import Struct

from pitstop.runs.flow_info import StepInfo
from pitstop.runs.run_info import CommitInfo, SessionState
from pitstop.runs.run_request import BreakpointInfo, BreakPosition

FrameState = Literal["running", "pausing", "paused", "done"]


class FrameInfo(Struct, frozen=True):
    """A line of execution."""

    id: str
    name: str
    parent: str | None
    state: FrameState
    step: str | None = None  # the path of the step that it is at, and the occurrence
    occurrence: str | None = None


class OutcomeInfo(Struct, frozen=True, kw_only=True):
    """How a step ended."""

    status: str
    outputs: Any = None
    error_type: str | None = None
    error: str | None = None
    paused_seconds: float = 0.0


class WayInfo(Struct, frozen=True, kw_only=True):
    """Where a step back, or undoing one, leads, and how many steps it undoes or restores."""

    step: str
    occurrence: str
    position: BreakPosition
    steps: int
    restores_files: bool  # whether the workspace of then can be put back


class ToolCallInfo(Struct, frozen=True, kw_only=True):
    """A tool call inside a step. `paths` are the files that it is about, and `command` is that of a shell.

    `guarantee` says whether the call cannot run while it is held, whatever happens to Pitstop.
    """

    call: str
    name: str  # as the agent has it
    tool: str  # its class: read, edit, shell, search, web, mcp, task or other
    input: Mapping[str, Any] = {}
    paths: tuple[str, ...] = ()
    command: str | None = None
    parent: str | None = None
    guarantee: bool = False


class StopInfo(Struct, frozen=True, kw_only=True):
    """A paused frame. `allowed` has the verbs that are possible now; `will_run` is the result of the `if`.

    `positions` says where a step can be injected: before or after this one. `back` is what a step back would do, and
    `forward` what undoing the last one would do. `after_event` is its number in the log: what a rewind to it keeps.
    """

    id: int
    frame: str
    step: str
    occurrence: str
    position: BreakPosition
    reasons: tuple[str, ...]
    breakpoints: tuple[int, ...] = ()
    problems: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()  # those of the breakpoints
    outcome: OutcomeInfo | None = None
    allowed: tuple[str, ...] = ()
    positions: tuple[Literal["before", "after"], ...] = ()
    will_run: bool = True
    is_cleanup: bool = False
    is_injected: bool = False
    file: str | None = None
    line: int | None = None
    column: int | None = None
    end_line: int | None = None
    after_event: int = 0
    lease_ends_at: float | None = None  # when it ends by itself; seconds since the epoch
    back: WayInfo | None = None
    forward: WayInfo | None = None
    call: ToolCallInfo | None = None  # the tool call that it is at, as it is now


class EditInfo(Struct, frozen=True, kw_only=True):
    """An edit made at a stop, which can be undone until its frame resumes.

    `preview` is the value in one line; `value` is set for a plain value, and truncated when it is long.
    """

    stop: int
    layer: str
    path: str
    preview: str = ""
    value: Any = None
    is_cut: bool = False
    removes: bool = False


class InjectedInfo(Struct, frozen=True, kw_only=True):
    """An injected step with its own config, and the steps in it. One that is waiting can be removed.

    `occurrence` and `position` say where it runs.
    """

    step: StepInfo
    config: Mapping[str, Any]
    stop: int
    frame: str
    occurrence: str
    position: Literal["before", "after"]
    is_waiting: bool = False
    steps: tuple[StepInfo, ...] = ()  # those in it, if it is a group


class DebugState(Struct, frozen=True, kw_only=True):
    """A snapshot of a session: apply the events above `last_event` to follow it from there."""

    session: SessionState
    frames: tuple[FrameInfo, ...]
    stops: tuple[StopInfo, ...]  # those that last, in the order in which they came
    breakpoints: tuple[BreakpointInfo, ...]
    watches: tuple[str, ...]
    edits: tuple[EditInfo, ...]
    interventions: tuple[str, ...]
    last_event: int
    is_ended: bool
    injected: tuple[InjectedInfo, ...] = ()
    is_muted: bool = False  # whether breakpoints are ignored


class InjectedState(DebugState, frozen=True, kw_only=True):
    """The state after a step was injected, and the path of that step."""

    path: str


class PointInfo(Struct, frozen=True, kw_only=True):
    """A point in the history to rewind to. `status` is the outcome of the step; `stop` is set if it paused there."""

    number: int
    frame: str
    step: str
    occurrence: str
    position: BreakPosition
    at: float = 0.0
    status: str | None = None
    stop: int | None = None
    has_snapshot: bool = False  # whether the workspace of then can be put back


class ContextInfo(Struct, frozen=True, kw_only=True):
    """Where a stop is, for another client that attaches to it. The step is the `number`-th of all `steps`.

    `join` is the command that opens a shell there from any terminal, and `join_sidecar` one that cannot change files;
    both are empty for a run that only its own terminal can reach.
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
