"""What clients send with their requests. Everything that a client may leave out may be null, too."""

from typing import Any, Literal

from msgspec import field

from pitstop.doors.dap.protocol.messages import GivenSource, Incoming

StopMode = Literal["all", "one"]
Mode = Literal["before", "after", "error"]


class NoArguments(Incoming, kw_only=True):
    pass


# --- The life of a session -------------------------------------------------------------------------------------------


class InitializeArguments(Incoming, kw_only=True):
    client_id: str | None = field(default=None, name="clientID")
    lines_start_at1: bool | None = None
    columns_start_at1: bool | None = None
    path_format: str | None = None
    supports_variable_type: bool | None = None
    supports_progress_reporting: bool | None = None
    supports_invalidated_event: bool | None = None
    supports_run_in_terminal_request: bool | None = None
    supports_ansi_styling: bool | None = field(default=None, name="supportsANSIStyling")


class SessionOptions(Incoming, kw_only=True):
    """What `launch` and `attach` have in common.

    `stop_mode` says whether a stop stops all branches. With `stepping_resumes_all_branches` the others go on while
    one is stepped. `adapter_token` is what `pitstop dap --port` has printed. With `tell_steps` the end of each step is
    told as an event of our own, `pitstop/step`.
    """

    server: str | None = None
    token: str | None = None
    adapter_token: str | None = None
    stop_mode: StopMode | None = None
    stepping_resumes_all_branches: bool | None = None
    breakpoint_mode: Mode | None = None
    tell_steps: bool | None = None


class LaunchArguments(SessionOptions, kw_only=True):
    """`program` is a flow file, or a graph as `file.py:app` or `module:app`. `folder` is where its commands work, and
    `env` what is added to their environment; null takes a variable out of it. `inputs` can be a list of `name=value`.
    """

    program: str | None = None
    inputs: dict[str, Any] | list[str] | None = None
    secrets: dict[str, str] | list[str] | None = None
    env: dict[str, str | None] | None = None
    cwd: str | None = None
    folder: str | None = None
    from_step: str | None = field(default=None, name="from")
    stop_on_entry: bool | None = None
    stop_at_end: bool | None = None
    no_debug: bool | None = None


class PathMapping(Incoming, kw_only=True):
    """A folder here, and the same one where the run is."""

    local_root: str
    remote_root: str


class AttachArguments(SessionOptions, kw_only=True):
    run: str | None = None
    path_mappings: list[PathMapping] | None = None


class RestartArguments(Incoming, kw_only=True):
    arguments: dict[str, Any] | None = None


class DisconnectArguments(Incoming, kw_only=True):
    terminate_debuggee: bool | None = None
    suspend_debuggee: bool | None = None


class CancelArguments(Incoming, kw_only=True):
    request_id: int | None = None


# --- Breakpoints -----------------------------------------------------------------------------------------------------


class SourceBreakpoint(Incoming, kw_only=True):
    line: int
    condition: str | None = None
    hit_condition: str | None = None
    log_message: str | None = None
    mode: str | None = None


class SetBreakpointsArguments(Incoming, kw_only=True):
    source: GivenSource
    breakpoints: list[SourceBreakpoint] | None = None
    lines: list[int] | None = None


class FunctionBreakpoint(Incoming, kw_only=True):
    name: str
    condition: str | None = None
    hit_condition: str | None = None


class SetFunctionBreakpointsArguments(Incoming, kw_only=True):
    breakpoints: list[FunctionBreakpoint] | None = None


class FilterOptions(Incoming, kw_only=True):
    filter_id: str
    condition: str | None = None


class SetExceptionBreakpointsArguments(Incoming, kw_only=True):
    filters: list[str] | None = None
    filter_options: list[FilterOptions] | None = None


class DataBreakpointInfoArguments(Incoming, kw_only=True):
    name: str
    variables_reference: int | None = None
    as_address: bool | None = None


class DataBreakpoint(Incoming, kw_only=True):
    data_id: str
    condition: str | None = None
    hit_condition: str | None = None


class SetDataBreakpointsArguments(Incoming, kw_only=True):
    breakpoints: list[DataBreakpoint] | None = None


class BreakpointLocationsArguments(Incoming, kw_only=True):
    source: GivenSource
    line: int
    end_line: int | None = None


# --- Looking ---------------------------------------------------------------------------------------------------------


class StackTraceArguments(Incoming, kw_only=True):
    thread_id: int
    start_frame: int | None = None
    levels: int | None = None


class FrameArguments(Incoming, kw_only=True):
    frame_id: int


class VariablesArguments(Incoming, kw_only=True):
    variables_reference: int
    filter: Literal["indexed", "named"] | None = None
    start: int | None = None
    count: int | None = None


class SetVariableArguments(Incoming, kw_only=True):
    variables_reference: int
    name: str
    value: str


class SetExpressionArguments(Incoming, kw_only=True):
    expression: str
    value: str
    frame_id: int | None = None


class EvaluateArguments(Incoming, kw_only=True):
    expression: str
    frame_id: int | None = None
    context: str | None = None


class CompletionsArguments(Incoming, kw_only=True):
    text: str
    column: int
    line: int | None = None
    frame_id: int | None = None


class SourceArguments(Incoming, kw_only=True):
    source_reference: int | None = None
    source: GivenSource | None = None


# --- Moving ----------------------------------------------------------------------------------------------------------


class ThreadArguments(Incoming, kw_only=True):
    thread_id: int


class MoveArguments(Incoming, kw_only=True):
    thread_id: int
    single_thread: bool | None = None


class StepInArguments(MoveArguments, kw_only=True):
    target_id: int | None = None


class GotoTargetsArguments(Incoming, kw_only=True):
    source: GivenSource
    line: int


class GotoArguments(Incoming, kw_only=True):
    thread_id: int
    target_id: int


class TerminateThreadsArguments(Incoming, kw_only=True):
    thread_ids: list[int] | None = None
