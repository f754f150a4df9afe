"""What a door can ask for: one protocol, and the plain values that it speaks in.

`local.py` answers in this process; `remote.py` asks a server over HTTP. Nothing here is richer than JSON, and no value
has a secret in it. The debugger of a run has a protocol of its own in `debugging.py`.
"""

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import field
from typing import TYPE_CHECKING, Any, Literal, Protocol, Self

from pitstop.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from pitstop.service.debugging import Debugger

Stream = Literal["stdout", "stderr"]
BreakPosition = Literal["before", "after", "error"]
RunStatus = Literal["pending", "running", "paused", "passed", "failed", "cancelled", "timed_out"]
SessionState = Literal["none", "pending", "waiting", "connected", "ended", "timeout"]
WorkspaceWork = Literal["keeping", "putting_back"]
ShellMode = Literal["shell", "sidecar"]
ShellRecord = Literal["screen", "keys"]  # what is kept of a shell: what it showed, or also what was typed

EVENT_SCHEMA = 1  # the shape of `EventInfo.as_json`; a changed meaning is a new kind of event instead
WORKSPACE_PROGRESS = "workspace.progress"  # the kind of what is told between the events, without a number
ENDED: tuple[RunStatus, ...] = ("passed", "failed", "cancelled", "timed_out")


# --- A flow ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class StepInfo:
    """A step of a flow. `parent` is the path of the step around it; lines and columns count from 1."""

    path: str
    kind: str
    title: str
    id: str | None = None
    parent: str | None = None
    file: str | None = None
    line: int | None = None
    column: int | None = None
    end_line: int | None = None
    condition: str | None = None
    is_cleanup: bool = False
    detail: str = ""  # what it does, in one line
    retries: int = 0  # how often it is tried again when it has failed
    goes_on_after_failure: bool = False  # whether what follows runs all the same

    @property
    def place(self) -> str:
        """`file:line`, as editors and terminals take it; empty for a step that is in no file."""
        return f"{self.file}:{self.line}" if self.file is not None else ""


@dataclass(frozen=True, slots=True)
class InputInfo:
    """A value that a run of the flow is given."""

    name: str
    type: str | None
    is_required: bool
    default: Any = None
    description: str = ""


@dataclass(frozen=True, slots=True)
class FlowInfo:
    """A flow that can run, its steps in the order in which they are written."""

    name: str
    file: str
    steps: tuple[StepInfo, ...]
    inputs: tuple[InputInfo, ...] = ()

    def step(self, path: str) -> StepInfo | None:
        """The step with this path; one that was injected beside it is found by the path of its host."""
        return next((step for step in self.steps if step.path == path.partition("+")[0]), None)


@dataclass(frozen=True, slots=True)
class StoredFlow:
    """A flow that can be started by its name: a file in one of the folders that the service was given."""

    name: str
    file: str
    problem: str | None = None  # why it cannot run, if that is so


@dataclass(frozen=True, slots=True)
class StepTypeHelp:
    """A type of step, or a way of combining steps: one line, and all that there is to say.

    `config` is the JSON Schema of its config, for forms; None for a way of combining, which has steps in it.
    """

    name: str
    summary: str
    usage: str
    text: str
    config: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Finding:
    """Something that was looked at on this machine. `is_needed` is False for what Pitstop can do without."""

    name: str
    works: bool
    detail: str
    is_needed: bool = True


# --- Starting a run --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class BreakpointRequest:
    """Where to stop: a step by path or id, a kind of step, a line, or everywhere. `condition` is jq.

    With `log` a text is written instead. `state` is a jq path whose change stops, or, with `has_equals`, its becoming
    `equals`.
    """

    step: str | None = None
    kind: str | None = None
    file: str | None = None
    line: int | None = None
    position: BreakPosition = "before"
    condition: str | None = None
    hits: str | None = None
    log: str | None = None
    once: bool = False
    enabled: bool = True
    group: str | None = None
    state: str | None = None
    equals: Any = None
    has_equals: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class DebugRequest:
    """How a run is to be held up. Its session exists before the first step.

    With `flow_breakpoints` those that are kept with the flow are added.
    """

    breakpoints: tuple[BreakpointRequest, ...] = ()
    flow_breakpoints: bool = True
    stop_at_entry: bool = False
    stop_on_error: bool = True
    stop_at_end: bool = False
    lease_seconds: float = 3600.0
    on_lease_end: Literal["abort", "continue"] = "abort"


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRequest:
    """What to run. `flow` is a file, or the name of a stored flow; with `text` it only says what the text is called.

    `folder` is the workspace, in place; None makes a fresh one. `from_step` takes what was finished before that step
    over from the run `from_run`, or from the last run of the flow; `only` leaves the other steps out. With `commit` the
    run has a workspace of its own, with that commit of the repository in `folder`. Secrets are masked in all that the
    run shows or keeps.
    """

    flow: str
    text: str | None = None
    inputs: Mapping[str, Any] = field(default_factory=dict)
    secrets: Mapping[str, str] = field(default_factory=dict)
    folder: str | None = None
    from_step: str | None = None
    from_run: str | None = None
    only: str | None = None
    commit: str | None = None
    debug: DebugRequest | None = None
    can_ask: bool = False  # whether somebody is there to answer questions; if not, a step that has one fails
    priority: int = 0  # of those that wait, the highest first

    @property
    def place(self) -> str | None:
        """The folder to work in, in place; None for a workspace of its own."""
        return self.folder if self.commit is None else None


@dataclass(frozen=True, slots=True, kw_only=True)
class RerunRequest:
    """A run again: its flow as it was then, unless `use_file` asks for the file as it is now.

    `commit` is a commit, branch or tag of the repository that the run worked in: it is checked out into a workspace of
    the new run's own. Without it the new run works where the old one did, or with the files that its workspace had.
    """

    from_step: str | None = None
    inputs: Mapping[str, Any] = field(default_factory=dict)  # laid over those it had
    secrets: Mapping[str, str] = field(default_factory=dict)  # they are kept nowhere, so they have to be given again
    use_file: bool = False
    commit: str | None = None
    debug: DebugRequest | None = None
    can_ask: bool = False
    priority: int = 0


# --- A run -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class EventInfo:
    """A fact of a run: its number in the log, its kind, its time, and the fields of that kind as JSON, masked."""

    number: int
    kind: str
    at: float
    fields: Mapping[str, Any]

    def as_json(self) -> dict[str, Any]:
        return {"schema": EVENT_SCHEMA, "number": self.number, "kind": self.kind, "at": self.at, **self.fields}


@dataclass(frozen=True, slots=True)
class Output:
    """Bytes that a step wrote, as they came, without secrets."""

    occurrence: str
    stream: Stream
    time: float
    data: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkspaceProgress:
    """How far the files of the workspace are kept, or put back, and of how much; None is not known yet.

    It is told while that lasts, and is no event: it has no number, and nobody keeps it. `text` says it in words. The
    last one `is_over`; it has no text when the work was not done.
    """

    at: float
    doing: WorkspaceWork
    files: int
    bytes: int
    of_files: int | None
    of_bytes: int | None
    text: str
    is_over: bool = False

    def as_json(self) -> dict[str, Any]:
        told = {name: getattr(self, name) for name in self.__slots__}
        return {"schema": EVENT_SCHEMA, "kind": WORKSPACE_PROGRESS, **told}


@dataclass(frozen=True, slots=True)
class LogLine:
    """A line that a step wrote. `number` counts the lines of the occurrence from 1; `text` keeps escape sequences."""

    number: int
    stream: Stream
    time: float
    text: str


@dataclass(frozen=True, slots=True)
class LogPage:
    """Some lines of what an occurrence wrote. `next` is the number to ask after for more; None: no more yet.

    `is_ended` says that the occurrence has ended, so that there is no more to come.
    """

    occurrence: str
    lines: tuple[LogLine, ...]
    next: int | None = None
    is_ended: bool = False


@dataclass(frozen=True, slots=True)
class ArtifactInfo:
    """A file that a step handed on."""

    path: str
    size: int
    is_folder: bool = False


@dataclass(frozen=True, slots=True)
class TestCase:
    """One test of a report: passed, failed, error or skipped. `change` compares it with the run before."""

    __test__ = False  # pytest is not to take it for a test

    step: str
    suite: str
    name: str
    status: str
    seconds: float = 0.0
    message: str = ""
    change: Literal["new", "fixed", "still_failing", "flaky", ""] = ""


@dataclass(frozen=True, slots=True)
class FailingTest:
    """A test that failed, by the names that stay the same from run to run."""

    step: str
    suite: str
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TestedRun:
    """What the tests of one run of a flow came to: how many there were, and which of them failed."""

    __test__ = False

    run: str
    created_at: float
    status: RunStatus
    total: int = 0
    failed: int = 0
    skipped: int = 0
    seconds: float = 0.0
    failing: tuple[FailingTest, ...] = ()


@dataclass(frozen=True, slots=True)
class Failure:
    """A step whose failure counts."""

    step: str
    occurrence: str
    type: str
    message: str


@dataclass(frozen=True, slots=True)
class RunSummary:
    """How a run ended: passed, failed, cancelled or timed_out. `intervened` is True when somebody had a hand in it."""

    run: str
    status: str
    error: str | None = None
    failures: tuple[Failure, ...] = ()
    intervened: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class CommitInfo:
    """The commit that a run worked on. `has_changes`: the folder was not just as the commit has it when it began."""

    sha: str
    message: str  # its first line
    branch: str | None = None
    has_changes: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class RunInfo:
    """A run as a list shows it. Times are seconds since the epoch."""

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


@dataclass(frozen=True, slots=True, kw_only=True)
class RunQuery:
    """Which runs, the newest first. `search` is looked for in the id, the flow's name and the file."""

    status: tuple[RunStatus, ...] = ()
    flow: str | None = None
    search: str | None = None
    cursor: str | None = None
    limit: int = 50


@dataclass(frozen=True, slots=True)
class RunPage:
    """Some runs; `next` is the cursor of those that come after them."""

    runs: tuple[RunInfo, ...]
    next: str | None = None


@dataclass(frozen=True, slots=True)
class Question:
    """What a step wants to know from a person."""

    occurrence: str
    prompt: str


class Terminal(Protocol):
    """A shell on a true terminal, in the workspace of a run."""

    async def read(self) -> bytes:
        """What it says next; empty when it has ended."""
        ...

    async def write(self, data: bytes) -> None: ...

    def resize(self, rows: int, cols: int) -> None: ...

    async def close(self) -> None: ...


class ActiveRun(Protocol):
    """A run, of now or of the past. What can only be said to one that lives is refused with NotRunning."""

    @property
    def id(self) -> str: ...

    @property
    def flow(self) -> FlowInfo: ...

    @property
    def texts(self) -> Mapping[str, str]:
        """Each file of the flow as it was when the flow was read."""
        ...

    @property
    def carried_over(self) -> int:
        """How many of its events are those of the run that it goes on from."""
        ...

    @property
    def debugger(self) -> "Debugger":
        """What can be said to its debugger. A run that nobody asked to debug has one too: it can be paused."""
        ...

    # Looking

    async def info(self) -> RunInfo: ...

    def events(self, after: int = 0) -> AsyncIterator[EventInfo]:
        """Every event above `after`, those to come included, until the run has ended."""
        ...

    def hear_output(self, listener: Callable[[Output], None]) -> Callable[[], None]:
        """Call `listener` with all that is written from now on; gives what ends it. The listener must not wait."""
        ...

    def hear_progress(self, listener: Callable[[WorkspaceProgress], None]) -> Callable[[], None]:
        """Call `listener`, which must not wait, while files of the workspace are kept or put back for over a second.

        Gives what ends it. Of a run on a server it is heard while its events are followed.
        """
        ...

    async def log_tail(self, occurrence: str, lines: int = 20) -> list[str]:
        """The last lines that the occurrence wrote, without escape sequences."""
        ...

    async def log(self, occurrence: str, *, after: int = 0, limit: int = 1000, search: str | None = None) -> LogPage:
        """Lines with a number above `after`; with `search` those with this text in them, in any case."""
        ...

    def log_bytes(self, occurrence: str) -> AsyncIterator[bytes]:
        """All that the occurrence wrote, for a download."""
        ...

    async def artifacts(self) -> tuple[ArtifactInfo, ...]: ...

    def artifact(self, path: str) -> AsyncIterator[bytes]:
        """What is in a file that was handed on; UnknownArtifact."""
        ...

    async def tests(self) -> tuple[TestCase, ...]: ...

    async def test_history(self, limit: int = 20) -> tuple[TestedRun, ...]:
        """The tests of this run and of the whole runs of its flow before it that had any, the newest first."""
        ...

    async def questions(self) -> tuple[Question, ...]:
        """What steps want to know from a person now."""
        ...

    # Acting

    async def answer(self, occurrence: str, *, approved: bool, by: str = "", comment: str = "") -> None:
        """Answer an open question; CommandRefused when there is none."""
        ...

    async def cancel(self, reason: str) -> None:
        """Ask every step to end, then clean up; returns at once. Asked again, it takes their time to end away."""
        ...

    async def kill(self) -> None:
        """End everything now, cleaning up too; returns at once."""
        ...

    async def shell(
        self,
        stop: int,
        *,
        mode: ShellMode = "shell",
        rows: int = 24,
        cols: int = 80,
        record: ShellRecord | None = None,
    ) -> Terminal:
        """A shell where the stopped step works, with its environment; a sidecar sees the workspace read-only.

        Commands such as `@retry` that are entered in it are carried out, and end it. It ends with the run at the
        latest. What is to be recorded is an artifact of the run when the shell has ended, as an asciicast.
        """
        ...

    async def wait(self) -> RunSummary:
        """How the run ended. Cancelling the wait does not cancel the run."""
        ...


class Service(Protocol):
    """Everything that a person can do, whatever door they come through. Used as a context: leaving it closes it.

    Runs of a service in this process end with it; those of a server do not.
    """

    async def __aenter__(self) -> Self: ...

    async def __aexit__(self, *error: Any) -> None: ...

    # Flows

    async def check(self, flow: str, text: str | None = None) -> FlowInfo:
        """The flow in a file, or in a text; BadFlow with every mistake in it."""
        ...

    async def resolve(self, request: RunRequest) -> FlowInfo:
        """The flow as `start` would run it, each step with what it does as far as the inputs tell."""
        ...

    async def flows(self) -> tuple[StoredFlow, ...]: ...

    async def flow_text(self, name: str) -> str:
        """The text of a stored flow; UnknownFlow."""
        ...

    async def flow_breakpoints(self, flow: str) -> tuple[BreakpointRequest, ...]:
        """The breakpoints that are kept with a flow, for the next run of it that is debugged."""
        ...

    async def keep_flow_breakpoints(self, flow: str, breakpoints: Sequence[BreakpointRequest]) -> None: ...

    async def schema(self) -> dict[str, Any]:
        """The JSON Schema of flow files."""
        ...

    async def step_types(self) -> tuple[StepTypeHelp, ...]: ...

    async def step_type(self, name: str) -> StepTypeHelp:
        """UnknownStepType when there is none of that name."""
        ...

    async def examine(self) -> tuple[Finding, ...]:
        """What works on this machine, and what is missing."""
        ...

    # Runs

    async def start(self, request: RunRequest) -> ActiveRun:
        """Start a run. BadFlow, BadInputs, BadBreakpoint, UnknownStep and BadLog before anything has run."""
        ...

    async def rerun(self, run: str, request: RerunRequest) -> ActiveRun:
        """A new run on the old one's log; UnknownRun, and all that `start` refuses."""
        ...

    async def run(self, run: str) -> ActiveRun:
        """UnknownRun when there is none of that id."""
        ...

    async def runs(self, query: RunQuery) -> RunPage:
        """BadCursor for a cursor that no page gave."""
        ...

    async def pin(self, run: str, *, pinned: bool = True) -> None:
        """Keep the run and its workspace until it is unpinned."""
        ...

    async def delete(self, run: str) -> None:
        """Forget a run that has ended; CommandRefused for one that has not."""
        ...
