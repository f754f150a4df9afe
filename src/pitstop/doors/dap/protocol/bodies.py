"""What the adapter answers with, and what it tells without being asked."""

from typing import Literal

from pitstop.doors.dap.protocol.messages import Message, Source

# --- Answers ---------------------------------------------------------------------------------------------------------


class DataBreakpointInfo(Message, kw_only=True):
    data_id: str | None  # null, and not absent, when there can be no breakpoint
    description: str
    access_types: tuple[str, ...] = ()
    can_persist: bool = False


class ValueSet(Message, kw_only=True):
    value: str
    type: str | None = None
    variables_reference: int = 0
    named_variables: int | None = None
    indexed_variables: int | None = None


class Evaluated(Message, kw_only=True):
    result: str
    type: str | None = None
    variables_reference: int
    named_variables: int | None = None
    indexed_variables: int | None = None


class ExceptionDetails(Message, kw_only=True):
    message: str
    type_name: str
    full_type_name: str
    evaluate_name: str | None = None
    stack_trace: str | None = None


class ExceptionInfo(Message, kw_only=True):
    exception_id: str
    description: str
    break_mode: str
    details: ExceptionDetails


# --- Events ----------------------------------------------------------------------------------------------------------


class StoppedEvent(Message, kw_only=True):
    reason: str
    description: str
    thread_id: int
    text: str | None = None
    all_threads_stopped: bool
    hit_breakpoint_ids: list[int]


class OutputEvent(Message, kw_only=True):
    category: Literal["console", "stdout", "stderr"]
    output: str
    source: Source | None = None
    line: int | None = None
    column: int | None = None


class InvalidatedEvent(Message, kw_only=True):
    areas: tuple[str, ...]
    thread_id: int | None = None


class ProgressStartEvent(Message, kw_only=True):
    progress_id: str
    title: str
    request_id: int | None = None
    cancellable: bool
    message: str | None = None
    percentage: float | None = None


class ProgressUpdateEvent(Message, kw_only=True):
    progress_id: str
    message: str
    percentage: float | None = None


class StepEvent(Message, kw_only=True):
    """A custom event, `pitstop/step`: how a step ended, for a client that shows it beside the step."""

    path: str
    occurrence: str
    status: str
    file: str | None = None
    line: int | None = None
    seconds: float | None = None
    error: str | None = None


class PythonEvent(Message, kw_only=True):
    """A custom event, `pitstop/python`: a Python debugger waits there for whoever wants to step on in the function."""

    host: str
    port: int
    file: str | None = None
    line: int | None = None
