"""Debug sessions as they are requested."""

from typing import TYPE_CHECKING, Any

from msgspec import UNSET

from pitstop.plan.plan import Plan
from pitstop.runs.run_request import BreakpointRequest, DebugRequest

if TYPE_CHECKING:  # a run that is not debugged need not load it
    from pitstop.debugger.session import Session


AGENT = "agent"
BREAKS = "break"  # the breakpoints for tool calls that are written at a step
_NAMES = {"if": "condition"}  # of their parts, where a flow has another word


def make_session(request: DebugRequest, plan: Plan | None = None) -> "Session":
    """A session with the breakpoints that were asked for, and those written in the plan; BadBreakpoint."""
    from pitstop.debugger.session import Session

    session = Session(
        stop_at_entry=request.stop_at_entry,
        stop_on_error=request.stop_on_error,
        stop_at_end=request.stop_at_end,
        lease_seconds=request.lease_seconds,
        on_lease_end=request.on_lease_end,
    )
    for wanted in (*request.breakpoints, *(() if plan is None else breakpoints_in(plan))):
        session.add_breakpoint(**parts_of(wanted))
    session.watches = request.watches
    return session


def breakpoints_in(plan: Plan) -> list[BreakpointRequest]:
    """The breakpoints for tool calls that steps of the plan are written with."""
    return [
        BreakpointRequest(step=path, group="flow", **{_NAMES.get(name, name): part for name, part in each.items()})
        for path, step in plan.steps.items()
        if step.kind == AGENT
        for each in step.config.get(BREAKS, ())
    ]


def parts_of(request: BreakpointRequest) -> dict[str, Any]:
    """A breakpoint that was asked for, as a session takes it."""
    parts = {name: getattr(request, name) for name in request.__struct_fields__ if name != "has_equals"}
    return {**parts, "equals": request.equals if request.has_equals else UNSET}
