"""What a door can ask for: one protocol, and the plain values that it speaks in.

`local.py` answers in this process; a service behind HTTP answers the same. Nothing here is richer than JSON, apart from
the debug session, which has a protocol of its own in `debugging.py`.
"""

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

Stream = Literal["stdout", "stderr"]
BreakPosition = Literal["before", "after", "error"]

EVENT_SCHEMA = 1  # the shape of `EventInfo.as_json`; a changed meaning is a new kind of event instead


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
class StepTypeHelp:
    """A type of step, or a way of combining steps: one line, and all that there is to say."""

    name: str
    summary: str
    usage: str
    text: str


@dataclass(frozen=True, slots=True)
class Finding:
    """Something that was looked at on this machine. `is_needed` is False for what Pitstop can do without."""

    name: str
    works: bool
    detail: str
    is_needed: bool = True


# --- A run -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class BreakpointRequest:
    """Where to stop: a step by path or id, or a line. `condition` is jq; with `log` a text is written instead."""

    step: str | None = None
    position: BreakPosition = "before"
    condition: str | None = None
    file: str | None = None
    line: int | None = None
    hits: str | None = None
    log: str | None = None
    once: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class DebugRequest:
    """How a run is to be held up. Its session exists before the first step."""

    breakpoints: tuple[BreakpointRequest, ...] = ()
    stop_at_entry: bool = False
    stop_on_error: bool = True
    stop_at_end: bool = False
    lease_seconds: float = 3600.0
    on_lease_end: Literal["abort", "continue"] = "abort"


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRequest:
    """What to run. `folder` is the workspace, in place; None makes a fresh one.

    `from_step` takes what was finished before that step over from the last run of the flow; `only` leaves the other
    steps out. Secrets are masked in everything that the run shows or keeps.
    """

    flow: str
    inputs: Mapping[str, Any] = field(default_factory=dict)
    secrets: Mapping[str, str] = field(default_factory=dict)
    folder: str | None = None
    from_step: str | None = None
    only: str | None = None
    debug: DebugRequest | None = None
    can_ask: bool = False  # whether somebody is there to answer questions; if not, a step that has one fails


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
    """A run that was started, and is not forgotten yet."""

    @property
    def id(self) -> str: ...

    @property
    def flow(self) -> FlowInfo: ...

    @property
    def session(self) -> Any:
        """The debug session; None when the run is not debugged."""
        ...

    @property
    def is_over(self) -> bool: ...

    @property
    def carried_over(self) -> int:
        """How many of its events are those of the run that it goes on from."""
        ...

    @property
    def problem(self) -> str | None:
        """Why not all of it is kept, if that is so: the disk is full."""
        ...

    def events(self, after: int = 0) -> AsyncIterator[EventInfo]:
        """Every event above `after`, those to come included, until the run has ended."""
        ...

    def hear_output(self, listener: Callable[[Output], None]) -> Callable[[], None]:
        """Call `listener` with all that is written from now on; gives what ends it. The listener must not wait."""
        ...

    def log_tail(self, occurrence: str, lines: int = 20) -> list[str]:
        """The last lines that the occurrence wrote, without escape sequences."""
        ...

    def source_text(self, file: str) -> str | None:
        """The file as it was when the flow was read; None for one that is no part of it."""
        ...

    async def shell(self, stop: int, rows: int = 24, cols: int = 80) -> Terminal:
        """A shell where the stopped step works, with its environment."""
        ...

    def mask_text(self, text: str) -> str:
        """The text with the secrets of the run taken out."""
        ...

    def questions(self) -> tuple[Question, ...]:
        """What steps want to know from a person now."""
        ...

    def answer(self, occurrence: str, *, approved: bool, by: str = "", comment: str = "") -> None:
        """Answer an open question; CommandRefused when there is none."""
        ...

    def cancel(self, reason: str) -> None:
        """Ask every step to end, then clean up; returns at once. Asked again, it takes their time to end away."""
        ...

    def kill(self) -> None:
        """End everything now, cleaning up too; returns at once."""
        ...

    async def wait(self) -> RunSummary:
        """How the run ended. Cancelling the wait does not cancel the run."""
        ...


class Service(Protocol):
    """Everything that a person can do, whatever door they come through."""

    async def check(self, flow: str) -> FlowInfo:
        """The flow in a file; BadFlow with every mistake in it."""
        ...

    async def resolve(self, request: RunRequest) -> FlowInfo:
        """The flow as `start` would run it, each step with what it does as far as the inputs tell."""
        ...

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

    def start(self, request: RunRequest) -> AbstractAsyncContextManager[ActiveRun]:
        """Start a run, for as long as the context lasts: leaving it ends a run that is not over.

        BadFlow, BadInputs, BadBreakpoint, UnknownStep and BadLog before anything has run.
        """
        ...
