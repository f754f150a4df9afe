"""What the adapter can do, as it is told to a client: all of it is tested, and nothing else is told."""

from pitstop.doors.dap.protocol.bodies import Capabilities
from pitstop.doors.dap.protocol.messages import BreakpointMode
from pitstop.doors.dap.session.client import Client
from pitstop.doors.dap.session.exceptions import FILTERS

MODES = [
    BreakpointMode(mode=mode, label=label, description=description, applies_to=("source",))
    for mode, label, description in (
        ("before", "Before the step", "Pause before the step runs"),
        ("after", "After the step", "Pause when the step has ended, before its outcome takes effect"),
        ("error", "When the step fails", "Pause when the step has failed"),
    )
]


def capabilities_for(client: Client) -> Capabilities:
    return Capabilities(
        supports_configuration_done_request=True,
        supports_function_breakpoints=True,
        supports_conditional_breakpoints=True,
        supports_hit_conditional_breakpoints=True,
        supports_evaluate_for_hovers=True,
        exception_breakpoint_filters=FILTERS,
        supports_step_back=True,
        supports_set_variable=True,
        supports_restart_frame=True,
        supports_goto_targets_request=True,
        supports_step_in_targets_request=True,
        supports_completions_request=True,
        completion_trigger_characters=[".", "|", "["],
        supports_restart_request=True,
        supports_exception_info_request=True,
        support_terminate_debuggee=True,
        support_suspend_debuggee=True,
        supports_delayed_stack_trace_loading=True,
        supports_loaded_sources_request=True,
        supports_log_points=True,
        supports_terminate_threads_request=True,
        supports_set_expression=True,
        supports_terminate_request=True,
        supports_data_breakpoints=True,
        supports_cancel_request=True,
        supports_breakpoint_locations_request=True,
        supports_clipboard_context=True,
        supports_exception_filter_options=True,
        supports_single_thread_execution_requests=client.quirks.steps_single_threads,
        supports_ansi_styling=client.shows_colours,
        breakpoint_modes=MODES,
    )
