"""What the adapter can do, as it is told to a client: all of it is tested, and nothing else is told."""

from typing import Any

from pitstop.doors.dap.protocol.messages import Body
from pitstop.doors.dap.session.client import Client
from pitstop.doors.dap.session.exceptions import FILTERS

MODES = [
    {"mode": mode, "label": label, "description": description, "appliesTo": ["source"]}
    for mode, label, description in (
        ("before", "Before the step", "Pause before the step runs"),
        ("after", "After the step", "Pause when the step has ended, before its outcome takes effect"),
        ("error", "When the step fails", "Pause when the step has failed"),
    )
]


def capabilities_for(client: Client) -> Body:
    told: dict[str, Any] = {
        "supportsConfigurationDoneRequest": True,
        "supportsFunctionBreakpoints": True,
        "supportsConditionalBreakpoints": True,
        "supportsHitConditionalBreakpoints": True,
        "supportsEvaluateForHovers": True,
        "exceptionBreakpointFilters": FILTERS,
        "supportsStepBack": True,
        "supportsSetVariable": True,
        "supportsRestartFrame": True,
        "supportsGotoTargetsRequest": True,
        "supportsStepInTargetsRequest": True,
        "supportsCompletionsRequest": True,
        "completionTriggerCharacters": [".", "|", "["],
        "supportsRestartRequest": True,
        "supportsExceptionInfoRequest": True,
        "supportTerminateDebuggee": True,
        "supportSuspendDebuggee": True,
        "supportsDelayedStackTraceLoading": True,
        "supportsLoadedSourcesRequest": True,
        "supportsLogPoints": True,
        "supportsTerminateThreadsRequest": True,
        "supportsSetExpression": True,
        "supportsTerminateRequest": True,
        "supportsDataBreakpoints": True,
        "supportsCancelRequest": True,
        "supportsBreakpointLocationsRequest": True,
        "supportsClipboardContext": True,
        "supportsExceptionFilterOptions": True,
        "breakpointModes": MODES,
    }
    if client.quirks.steps_single_threads:
        told["supportsSingleThreadExecutionRequests"] = True
    if client.shows_colours:
        told["supportsANSIStyling"] = True
    return told
