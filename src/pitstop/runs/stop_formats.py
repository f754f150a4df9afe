"""Stops, breakpoints, edits and changes of a session as plain values, with secrets masked."""

from collections.abc import Container, Iterable
from typing import Any

import msgspec

from pitstop.debugger.breakpoints import Breakpoint
from pitstop.debugger.stops import Stop, Way
from pitstop.events.outcome import Outcome
from pitstop.events.types import StepInjected
from pitstop.plan.plan import injected_again
from pitstop.plan.scope import Edit
from pitstop.plan.values import Change, as_json
from pitstop.runs.info import tell_steps
from pitstop.runs.run_request import BreakpointInfo, BreakpointRequest
from pitstop.runs.stop_info import EditInfo, InjectedInfo, OutcomeInfo, StopInfo, ToolCallInfo, WayInfo
from pitstop.runs.telling import MaskText, masked
from pitstop.runs.variable_info import ChangeInfo
from pitstop.runs.variables import tell_value


def shown(value: Any, mask: MaskText) -> Any:
    """The value as JSON, with secrets masked."""
    return masked(as_json(value), mask)


def format_way(way: Way) -> WayInfo:
    return WayInfo(**msgspec.structs.asdict(way))


def format_stop(stop: Stop, mask: MaskText, back: Way | None = None, forward: Way | None = None) -> StopInfo:
    source = stop.source
    return StopInfo(
        id=stop.id,
        frame=stop.frame,
        step=stop.step,
        occurrence=stop.occurrence,
        position=stop.position,
        reasons=stop.reasons,
        breakpoints=stop.breakpoints,
        problems=tuple(map(mask, stop.problems)),
        notes=tuple(map(mask, stop.notes)),
        outcome=None if stop.outcome is None else format_outcome(stop.outcome, mask),
        allowed=stop.allowed,
        positions=stop.positions,
        will_run=stop.will_run,
        is_cleanup=stop.is_cleanup,
        is_injected=stop.is_injected,
        file=None if source is None else source.file,
        line=None if source is None else source.line,
        column=None if source is None else source.column,
        end_line=None if source is None else source.end_line,
        after_event=stop.after_event,
        lease_ends_at=stop.lease_ends_at,
        back=None if back is None else format_way(back),
        forward=None if forward is None else format_way(forward),
        call=msgspec.convert(shown(stop.scope["tool"], mask), ToolCallInfo) if stop.is_call else None,
    )


def format_outcome(outcome: Outcome, mask: MaskText) -> OutcomeInfo:
    error = outcome.error
    return OutcomeInfo(
        status=outcome.status.value,
        outputs=shown(outcome.outputs, mask),
        error_type=None if error is None else error.type,
        error=None if error is None else mask(error.message),
        paused_seconds=outcome.paused_seconds,
    )


def as_request(breakpoint: Breakpoint) -> BreakpointRequest:
    """The request that would add this breakpoint; a condition that is a function cannot be said."""
    has_equals = breakpoint.equals is not msgspec.UNSET
    fields: dict[str, Any] = {name: getattr(breakpoint, name, None) for name in BreakpointRequest.__struct_fields__}
    fields |= {"equals": breakpoint.equals if has_equals else None, "has_equals": has_equals}
    if callable(breakpoint.condition):
        fields["condition"] = "a function"
    return BreakpointRequest(**fields)


def format_breakpoint(breakpoint: Breakpoint, mask: MaskText) -> BreakpointInfo:
    request = as_request(breakpoint)
    if request.has_equals:
        request = msgspec.structs.replace(request, equals=shown(request.equals, mask))
    paths = tuple(breakpoint.paths)
    return BreakpointInfo(id=breakpoint.id, request=request, hit_count=breakpoint.hit_count, paths=paths)


def format_edit(stop: int, edit: Edit, mask: MaskText) -> EditInfo:
    new = tell_value(("", edit.path, edit.value), mask)
    return EditInfo(
        stop=stop,
        layer=edit.layer,
        path=new.path,
        preview=new.preview,
        value=new.value,
        is_cut=new.is_cut,
        removes=edit.removes,
    )


def format_injected(event: StepInjected, waiting: Container[str], mask: MaskText) -> InjectedInfo:
    """An injected step as its event has it. `waiting` has the paths of those that can be removed."""
    step = injected_again(event.step, event.type, shown(event.config, mask), event.id, shown(event.more, mask))
    first, *inside = tell_steps((step,))
    return InjectedInfo(
        step=first,
        config=step.config,
        stop=event.stop,
        frame=event.frame,
        occurrence=event.occurrence,
        position="before" if event.position == "before" else "after",
        is_waiting=event.step in waiting,
        steps=tuple(inside),
    )


def format_changes(changes: Iterable[Change], mask: MaskText) -> tuple[ChangeInfo, ...]:
    return tuple(
        ChangeInfo(
            path=mask(change.path),
            kind=change.kind,
            before=shown(change.before, mask),
            after=shown(change.after, mask),
        )
        for change in changes
        if change.path != ".secrets" and not change.path.startswith((".secrets.", ".secrets["))
    )
