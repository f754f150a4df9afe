"""What a door can ask for: one protocol, and the plain values that it speaks in.

`local.py` answers in this process; `remote.py` asks a server over HTTP. Nothing here is richer than JSON, and no value
has a secret in it. Values of runs are defined in `pitstop.runs`; the debugger of a run has a protocol of its own in
`debugging.py`.
"""

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol, Self

from pitstop.events.written_text import shown_line, without_escapes
from pitstop.lazy_dataclass import dataclass
from pitstop.plan.paths import type_name
from pitstop.runs.flow_info import FlowInfo, StepInfo
from pitstop.runs.graph_targets import read_target
from pitstop.runs.run_info import ENDED, Failure, Question, RunInfo, RunPage, RunQuery, RunStatus, RunSummary
from pitstop.runs.run_output import (
    EVENT_SCHEMA,
    WORKSPACE_PROGRESS,
    ArtifactInfo,
    EventInfo,
    LogLine,
    LogPage,
    Output,
    Stream,
    WorkspaceProgress,
    WorkspaceWork,
)
from pitstop.runs.run_request import (
    BreakpointRequest,
    BreakPosition,
    DebugRequest,
    RerunRequest,
    RunRequest,
    ShellMode,
    ShellRecord,
)
from pitstop.runs.test_results import TestCase, TestedRun

if TYPE_CHECKING:  # a run that is not debugged need not load it
    from pitstop.service.debugging import Debugger

__all__ = [
    "ENDED",
    "EVENT_SCHEMA",
    "WORKSPACE_PROGRESS",
    "ActiveRun",
    "ArtifactInfo",
    "BreakPosition",
    "BreakpointRequest",
    "DebugRequest",
    "EventInfo",
    "Failure",
    "Finding",
    "FlowInfo",
    "LogLine",
    "LogPage",
    "Output",
    "Question",
    "RerunRequest",
    "RunInfo",
    "RunPage",
    "RunQuery",
    "RunRequest",
    "RunStatus",
    "RunSummary",
    "Service",
    "ShellMode",
    "ShellRecord",
    "StepInfo",
    "StepTypeHelp",
    "StoredFlow",
    "Stream",
    "Terminal",
    "TestCase",
    "TestedRun",
    "WorkspaceProgress",
    "WorkspaceWork",
    "read_target",
    "shown_line",
    "type_name",
    "without_escapes",
]


@dataclass(frozen=True, slots=True)
class StoredFlow:
    """A flow that can be started by name: a file in one of the service's flow folders."""

    name: str
    file: str
    problem: str | None = None  # why it cannot run, if that is so


@dataclass(frozen=True, slots=True)
class StepTypeHelp:
    """A step type or a control-flow construct: one line, and the full description.

    `config` is the JSON Schema of its config, for forms; None for a way of combining, which has steps in it.
    """

    name: str
    summary: str
    usage: str
    text: str
    config: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Finding:
    """One check of this machine's setup. `is_needed` is False for what is optional."""

    name: str
    works: bool
    detail: str
    is_needed: bool = True


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
