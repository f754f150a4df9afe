"""What is asked of a run: to start it, to debug it, to open a shell in it."""

from collections.abc import Mapping
from typing import Annotated, Any, Generic, Literal, TypedDict, TypeVar

import msgspec

A_co = TypeVar("A_co", covariant=True)
Text = Annotated[str, msgspec.Meta(max_length=4096)]
BreakPosition = Literal["before", "after", "error"]
ShellMode = Literal["shell", "sidecar", "step"]
ShellRecord = Literal["screen", "keys"]  # what is kept of a shell: what it showed, or also what was typed
ShellPlace = int | str  # a stop, or the address, path or ID of a step that runs


class ShellOptions(TypedDict, total=False):
    """How to open a shell: `shell` with 24 rows and 80 columns, and nothing recorded, unless it is said here."""

    mode: ShellMode
    rows: int
    cols: int
    record: ShellRecord | None


class Request(msgspec.Struct, Generic[A_co], frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """Something to say to the debugger of a run, with the type of its answer. The limits of fields hold for JSON."""


class BreakpointInfo(msgspec.Struct, frozen=True, kw_only=True):
    """A breakpoint of a session. `paths` are the steps it applies to."""

    id: int
    request: "BreakpointRequest"
    hit_count: int = 0
    paths: tuple[str, ...] = ()


class BreakpointRequest(Request[BreakpointInfo], frozen=True, omit_defaults=False, kw_only=True):
    """Where to pause: a step or one occurrence of it, a step type, a line, or everywhere. `condition` is jq.

    With `tool` (a class such as `shell`, a name, or `any`) or `path` (a pattern of files), it pauses at the tool calls
    inside those steps. With `log` a message is logged instead. `state` is a jq path: the run pauses when its value
    changes or, with `has_equals`, becomes `equals`.
    """

    step: Text | None = None
    kind: Text | None = None
    file: Text | None = None
    line: Annotated[int, msgspec.Meta(ge=1, lt=2**31)] | None = None
    tool: Text | None = None
    path: Text | None = None
    position: BreakPosition = "before"
    condition: Text | None = None
    hits: Text | None = None
    log: Text | None = None
    once: bool = False
    enabled: bool = True
    group: Text | None = None
    note: Text | None = None
    state: Text | None = None
    equals: Any = None
    has_equals: bool = False


class DebugRequest(msgspec.Struct, frozen=True, kw_only=True):
    """How a run is to be held up. Its session exists before the first step.

    With `flow_breakpoints` those that are stored with the flow are added. With `remembers` its stored watches are, too,
    and breakpoints and watches that are set or removed in the session are stored with the flow, for its next run.
    """

    breakpoints: tuple[BreakpointRequest, ...] = ()
    flow_breakpoints: bool = True
    watches: tuple[str, ...] = ()
    remembers: bool = True
    stop_at_entry: bool = False
    stop_on_error: bool = True
    stop_at_end: bool = False
    lease_seconds: float = 3600.0
    on_lease_end: Literal["abort", "continue"] = "abort"


class FixRequest(msgspec.Struct, frozen=True, kw_only=True):
    """A fix loop around a step, by default the one that made a run fail. `options` are those of `fix` in a flow."""

    step: str | None = None
    options: Mapping[str, Any] = msgspec.field(default_factory=dict)


class RunRequest(msgspec.Struct, frozen=True, kw_only=True):
    """What to run. `flow` is a file, or the name of a stored flow; with `text` it only says what the text is called.

    `folder` is the workspace, in place; None makes a fresh one. `from_step` takes what was finished before that step
    over from the run `from_run`, or from the last run of the flow; `only` leaves the other steps out. With `commit` the
    run has a workspace of its own, with that commit of the repository in `folder`. Secrets are masked in all that the
    run shows or keeps. `run_id` is an id that was reserved for the run: a repeated request finds that run again.

    With `files_run`, a run in a fresh workspace begins with the files that this run had at its event `files_event`,
    where a snapshot was taken.

    With `repo`, the flow is one of that repository on the server, at the `commit`, or at the branch or tag `ref`; with
    `text` as well, it works on that commit. `flow_commit` is the commit that the flow is read at, if it is another.
    `trigger` is what started the run, for its expressions, and `by` is who did, in a few words.
    """

    flow: str
    text: str | None = None
    inputs: Mapping[str, Any] = msgspec.field(default_factory=dict)
    secrets: Mapping[str, str] = msgspec.field(default_factory=dict)
    folder: str | None = None
    from_step: str | None = None
    from_run: str | None = None
    only: str | None = None
    commit: str | None = None
    files_run: str | None = None
    files_event: int | None = None
    repo: str | None = None
    ref: str | None = None
    flow_commit: str | None = None
    trigger: Mapping[str, Any] | None = None
    by: str = ""
    fix: FixRequest | None = None
    debug: DebugRequest | None = None
    can_ask: bool = False  # whether somebody is there to answer questions; if not, a step that has one fails
    priority: int = 0  # of those that wait, the highest first
    run_id: str | None = None

    @property
    def place(self) -> str | None:
        """The folder to work in, in place; None for a workspace of its own."""
        return self.folder if self.commit is None and self.repo is None else None


class RerunRequest(msgspec.Struct, frozen=True, kw_only=True):
    """A run again: its flow as it was then, unless `use_file` asks for the file as it is now, or at the `commit`.

    `commit` is a commit, branch or tag of the repository that the run worked in: it is checked out into a workspace of
    the new run's own. Without it the new run works where the old one did, or with the files that its workspace had.
    """

    from_step: str | None = None
    inputs: Mapping[str, Any] = msgspec.field(default_factory=dict)  # laid over those it had
    secrets: Mapping[str, str] = msgspec.field(default_factory=dict)  # stored nowhere, so they have to be given again
    use_file: bool = False
    commit: str | None = None
    fix: FixRequest | None = None
    debug: DebugRequest | None = None
    can_ask: bool = False
    priority: int = 0
    by: str = ""
    run_id: str | None = None
