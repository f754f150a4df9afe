"""What the adapter answers with, and what it tells without being asked."""

from typing import Literal

from msgspec import field

from pitstop.doors.dap.protocol.messages import (
    Breakpoint,
    BreakpointMode,
    CompletionItem,
    ExceptionFilter,
    Message,
    Scope,
    Source,
    StackFrame,
    Target,
    Thread,
    Variable,
)

# --- Answers ---------------------------------------------------------------------------------------------------------


class Capabilities(Message, kw_only=True):
    supports_configuration_done_request: bool = False
    supports_function_breakpoints: bool = False
    supports_conditional_breakpoints: bool = False
    supports_hit_conditional_breakpoints: bool = False
    supports_evaluate_for_hovers: bool = False
    exception_breakpoint_filters: list[ExceptionFilter]
    supports_step_back: bool = False
    supports_set_variable: bool = False
    supports_restart_frame: bool = False
    supports_goto_targets_request: bool = False
    supports_step_in_targets_request: bool = False
    supports_completions_request: bool = False
    completion_trigger_characters: list[str]
    supports_restart_request: bool = False
    supports_exception_info_request: bool = False
    support_terminate_debuggee: bool = False
    support_suspend_debuggee: bool = False
    supports_delayed_stack_trace_loading: bool = False
    supports_loaded_sources_request: bool = False
    supports_log_points: bool = False
    supports_terminate_threads_request: bool = False
    supports_set_expression: bool = False
    supports_terminate_request: bool = False
    supports_data_breakpoints: bool = False
    supports_cancel_request: bool = False
    supports_breakpoint_locations_request: bool = False
    supports_clipboard_context: bool = False
    supports_exception_filter_options: bool = False
    supports_single_thread_execution_requests: bool = False
    supports_ansi_styling: bool = field(default=False, name="supportsANSIStyling")
    breakpoint_modes: list[BreakpointMode]


class Breakpoints(Message, kw_only=True):
    breakpoints: list[Breakpoint]


class DataBreakpointInfo(Message, kw_only=True):
    data_id: str | None  # null, and not absent, when there can be no breakpoint
    description: str
    access_types: tuple[str, ...] = ()
    can_persist: bool = False


class BreakpointLocation(Message, kw_only=True):
    line: int
    column: int | None = None
    end_line: int | None = None
    end_column: int | None = None


class BreakpointLocations(Message, kw_only=True):
    breakpoints: list[BreakpointLocation]


class Threads(Message, kw_only=True):
    threads: list[Thread]


class StackTrace(Message, kw_only=True):
    stack_frames: list[StackFrame]
    total_frames: int


class Scopes(Message, kw_only=True):
    scopes: list[Scope]


class Variables(Message, kw_only=True):
    variables: list[Variable]


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


class Completions(Message, kw_only=True):
    targets: list[CompletionItem]


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


class Targets(Message, kw_only=True):
    targets: list[Target]


class Continued(Message, kw_only=True):
    all_threads_continued: bool


class SourceText(Message, kw_only=True):
    content: str
    mime_type: str | None = None


class LoadedSources(Message, kw_only=True):
    sources: list[Source]


# --- Events ----------------------------------------------------------------------------------------------------------


class ProcessEvent(Message, kw_only=True):
    name: str
    is_local_process: bool
    start_method: Literal["launch", "attach"]


class ThreadEvent(Message, kw_only=True):
    reason: Literal["started", "exited"]
    thread_id: int


class StoppedEvent(Message, kw_only=True):
    reason: str
    description: str
    thread_id: int
    text: str | None = None
    all_threads_stopped: bool
    hit_breakpoint_ids: list[int]


class ContinuedEvent(Message, kw_only=True):
    thread_id: int
    all_threads_continued: bool


class OutputEvent(Message, kw_only=True):
    category: Literal["console", "stdout", "stderr"]
    output: str
    source: Source | None = None
    line: int | None = None
    column: int | None = None


class BreakpointEvent(Message, kw_only=True):
    reason: Literal["changed"]
    breakpoint: Breakpoint


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


class ProgressEndEvent(Message, kw_only=True):
    progress_id: str
    message: str | None = None


class ExitedEvent(Message, kw_only=True):
    exit_code: int


class TerminatedEvent(Message, kw_only=True):
    pass


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
