"""The state of a run as plain values: how far it is, and how it ended."""

from collections.abc import Mapping
from typing import Any, Literal

from msgspec import Struct, field

RunStatus = Literal["pending", "running", "paused", "passed", "failed", "cancelled", "timed_out"]
SessionState = Literal["none", "pending", "waiting", "connected", "ended", "timeout"]
ENDED: tuple[RunStatus, ...] = ("passed", "failed", "cancelled", "timed_out")


class Failure(Struct, frozen=True):
    """A failed step that made the run fail."""

    step: str
    occurrence: str
    type: str
    message: str


class RunSummary(Struct, frozen=True):
    """How a run ended: passed, failed, cancelled or timed_out. `intervened` is True when a user modified it."""

    run: str
    status: str
    error: str | None = None
    failures: tuple[Failure, ...] = ()
    intervened: bool = False


class CommitInfo(Struct, frozen=True, kw_only=True):
    """The commit of a run. `has_changes`: the folder had uncommitted changes when the run started."""

    sha: str
    message: str  # its first line
    branch: str | None = None
    has_changes: bool = False


class RunInfo(Struct, frozen=True, kw_only=True):
    """A summary of a run. Times are seconds since the epoch."""

    id: str
    flow: str  # the flow's name
    file: str
    status: RunStatus
    created_at: float
    started_at: float | None = None
    ended_at: float | None = None
    error: str | None = None
    failures: tuple[Failure, ...] = ()
    intervened: bool = False
    inputs: Mapping[str, Any] = field(default_factory=dict)
    session: SessionState = "none"
    stops: tuple[int, ...] = ()  # those that last
    from_run: str | None = None
    from_step: str | None = None
    carried_over: int = 0  # how many of its events are those of the run that it goes on from
    last_event: int = 0
    priority: int = 0
    kept_until: float | None = None  # when its workspace goes; None when that is gone, or it is pinned
    is_pinned: bool = False
    problem: str | None = None  # why not all of it is kept, if that is so: the disk is full
    commit: CommitInfo | None = None  # of the repository that it works in, if it is one
    repo: str | None = None  # the repository on the server, if it is of one
    ref: str | None = None  # its branch or tag there
    started_by: str | None = None  # the user, or what else started it
    card: str | None = None  # the card whose work it does, or that it judges


class RunQuery(Struct, frozen=True, kw_only=True):
    """Which runs, the newest first. `search` is looked for in the id, the flow's name and the file."""

    status: tuple[RunStatus, ...] = ()
    flow: str | None = None
    repo: str | None = None
    ref: str | None = None
    search: str | None = None
    cursor: str | None = None
    limit: int = 50


class RunPage(Struct, frozen=True):
    """A page of runs; `next` is the cursor of the next page."""

    runs: tuple[RunInfo, ...]
    next: str | None = None
