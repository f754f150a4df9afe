"""A debug session as plain values: frames, stops, breakpoints, edits and points."""

from typing import Any, Literal

from pitstop.lazy_dataclass import dataclass
from pitstop.runs.run_info import CommitInfo, SessionState
from pitstop.runs.run_request import BreakpointRequest, BreakPosition

FrameState = Literal["running", "pausing", "paused", "done"]


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
