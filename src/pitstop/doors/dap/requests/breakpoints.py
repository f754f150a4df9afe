"""Breakpoints: at lines, at steps by name, at failures, and at values that change."""

import re
from difflib import get_close_matches
from pathlib import Path

from msgspec.structs import replace

from pitstop.doors.dap.protocol import arguments as given
from pitstop.doors.dap.protocol.messages import Body, Breakpoint, GivenSource
from pitstop.doors.dap.requests.variables import path_of
from pitstop.doors.dap.session.adapter import Adapter
from pitstop.doors.dap.session.breakpoint_book import Draft
from pitstop.doors.dap.session.debuggee import Debuggee
from pitstop.doors.dap.session.dispatcher import Route
from pitstop.doors.dap.session.exceptions import DEFAULTS, NAMES
from pitstop.doors.dap.session.log_messages import to_template
from pitstop.doors.dap.session.places import PYTHON
from pitstop.service.caller import LOCAL
from pitstop.service.runs import BreakpointRequest, BreakPosition

_HITS = re.compile(r"\s*(>=|<=|==|>|<|%)?\s*(\d+)\s*")
AGENT = "agent"  # the step type
_POSITIONS: dict[str, BreakPosition] = {"before": "before", "after": "after", "error": "error"}


# --- At lines --------------------------------------------------------------------------------------------------------


async def set_breakpoints(adapter: Adapter, arguments: given.SetBreakpointsArguments) -> Body:
    asked = arguments.breakpoints
    if asked is None:
        asked = [given.SourceBreakpoint(line=line) for line in arguments.lines or ()]
    name = arguments.source.path or str(arguments.source.source_reference)
    adapter.editor.asked_at_lines[name] = (arguments.source, asked)
    return {"breakpoints": await _set_at_lines(adapter, name)}


async def look_up_again(adapter: Adapter) -> None:
    """What was asked for before there was a flow, or when it was another one; what has changed is told."""
    for name in adapter.editor.asked_at_lines:
        before = [mark.told for file, mark in adapter.editor.breakpoints.at_lines() if file == name]
        for old, told in zip(before, await _set_at_lines(adapter, name, is_same=True), strict=True):
            if told != old:
                adapter.editor.tell("breakpoint", {"reason": "changed", "breakpoint": told})


async def _set_at_lines(adapter: Adapter, name: str, *, is_same: bool = False) -> list[Breakpoint]:
    source, asked = adapter.editor.asked_at_lines[name]
    debuggee = adapter.debuggee
    drafts = [_unknown_yet() if debuggee is None else _at_line(adapter, debuggee, source, each) for each in asked]
    checked = await _checked(adapter, drafts)
    return await adapter.editor.breakpoints.replace(("line", name), checked, adapter.debugger, is_same=is_same)


def _at_line(adapter: Adapter, debuggee: Debuggee, source: GivenSource, asked: given.SourceBreakpoint) -> Draft:
    file = adapter.editor.sources.file_of(source, debuggee.places, adapter.editor.client)
    if file is None:
        name = Path(source.path or source.name or "this file").name
        return _failed(f"{name} is not a file of {Path(debuggee.places.flow.file).name}", asked.line)
    step = debuggee.places.step_for(file, adapter.editor.client.line_in(asked.line))
    if step is None:
        is_code = file.endswith(PYTHON)
        where = "there is no node function on this line" if is_code else "there is no step on or after this line"
        return _failed(where, asked.line)
    if step.path not in debuggee.planned:
        return _failed(f"step {step.path} was added after the run started: restart to pause there", asked.line)
    mode = asked.mode or debuggee.default_mode
    problem = _problem(asked.hit_condition, mode)
    if problem is not None:
        return _failed(problem, asked.line)
    requests = tuple(
        BreakpointRequest(
            step=twin.path,
            position=_POSITIONS[mode],
            condition=asked.condition or None,
            hits=asked.hit_condition or None,
            log=to_template(asked.log_message) if asked.log_message else None,
        )
        for twin in debuggee.places.twins(step)
        if twin.path in debuggee.planned
    )
    return Draft(requests, adapter.editor.sources.place(step, adapter.editor.client), step.path, asked.log_message)


async def breakpoint_locations(adapter: Adapter, arguments: given.BreakpointLocationsArguments) -> Body:
    debuggee, client = adapter.debuggee, adapter.editor.client
    file = None if debuggee is None else adapter.editor.sources.file_of(arguments.source, debuggee.places, client)
    if debuggee is None or file is None:
        return {"breakpoints": []}
    first, last = client.line_in(arguments.line), client.line_in(arguments.end_line or arguments.line)
    lines = debuggee.places.lines_between(file, first, last)
    return {"breakpoints": [{"line": client.line_out(line)} for line in lines]}


# --- By name ---------------------------------------------------------------------------------------------------------


async def set_function_breakpoints(adapter: Adapter, arguments: given.SetFunctionBreakpointsArguments) -> Body:
    debuggee = adapter.debuggee
    asked = arguments.breakpoints or []
    drafts = [_unknown_yet() if debuggee is None else _at_name(adapter, debuggee, each) for each in asked]
    checked = await _checked(adapter, drafts)
    return {"breakpoints": await adapter.editor.breakpoints.replace(("function", ""), checked, adapter.debugger)}


def _at_name(adapter: Adapter, debuggee: Debuggee, asked: given.FunctionBreakpoint) -> Draft:
    """A step by path or id, or every step of a type; `:after` and `:error` name another position.

    `STEP/TOOL` is for the tool calls of an agent, and `*/TOOL` for those of every agent.
    """
    name, colon, position = asked.name.strip().rpartition(":")
    if not colon or position not in _POSITIONS:
        name, position = asked.name.strip(), debuggee.default_mode
    name, slash, tool = name.rpartition("/") if "/" in name else (name, "", "")
    steps = debuggee.places.flow.steps
    if slash and name in ("", "*"):
        name = AGENT
    found = [step for step in steps if step.path == name] or [step for step in steps if step.id == name]
    is_kind = not found and any(step.kind == name for step in steps)
    problem = _problem(asked.hit_condition, position)
    if problem is None and not found and not is_kind:
        near = get_close_matches(
            name, {each for step in steps for each in (step.path, step.id, step.kind) if each}, n=1
        )
        hint = f"; did you mean {near[0]}?" if near else ""
        problem = f"there is no step or step type {name}{hint}"
    if problem is not None:
        return _failed(problem)
    request = BreakpointRequest(
        step=None if is_kind else name,
        kind=name if is_kind else None,
        tool=tool or ("any" if slash else None),
        position=_POSITIONS[position],
        condition=asked.condition or None,
        hits=asked.hit_condition or None,
    )
    return Draft(
        (request,),
        Breakpoint(verified=True) if len(found) != 1 else adapter.editor.sources.place(found[0], adapter.editor.client),
    )


# --- At failures -----------------------------------------------------------------------------------------------------


async def set_exception_breakpoints(adapter: Adapter, arguments: given.SetExceptionBreakpointsArguments) -> Body:
    asked: list[tuple[str, str | None]] = [(name, None) for name in arguments.filters or ()]
    asked += [(each.filter_id, each.condition or None) for each in arguments.filter_options or ()]
    filters = await _checked(adapter, [_at_filter(name, condition) for name, condition in asked])
    known = {name: condition for (name, condition), draft in zip(asked, filters, strict=True) if draft.requests}
    drafts = [Draft((BreakpointRequest(position="error"),), Breakpoint(verified=True))] if known else []
    adapter.editor.wanted_failures = known
    await adapter.editor.breakpoints.replace(("exception", ""), drafts, adapter.debugger)
    return {"breakpoints": [draft.told for draft in filters]}


def _at_filter(name: str, condition: str | None) -> Draft:
    if name not in NAMES:
        return _failed(f"there is no filter {name}")
    return Draft((BreakpointRequest(position="error", condition=condition),), Breakpoint(verified=True))


async def set_default_filters(adapter: Adapter) -> None:
    """A client that sends no filters has the ones that are on by default."""
    if adapter.editor.wanted_failures is None:
        await set_exception_breakpoints(adapter, given.SetExceptionBreakpointsArguments(filters=DEFAULTS))


# --- At values -------------------------------------------------------------------------------------------------------


async def data_breakpoint_info(adapter: Adapter, arguments: given.DataBreakpointInfoArguments) -> Body:
    path = None if arguments.as_address else path_of(adapter, arguments.variables_reference, arguments.name)
    if path is None:
        return {"dataId": None, "description": f"cannot watch {arguments.name}"}
    return {"dataId": path, "description": path, "accessTypes": ["write"], "canPersist": True}


async def set_data_breakpoints(adapter: Adapter, arguments: given.SetDataBreakpointsArguments) -> Body:
    drafts = await _checked(adapter, [_at_value(each) for each in arguments.breakpoints or ()])
    return {"breakpoints": await adapter.editor.breakpoints.replace(("data", ""), drafts, adapter.debugger)}


def _at_value(asked: given.DataBreakpoint) -> Draft:
    problem = _problem(asked.hit_condition, "before")
    if problem is None and not asked.data_id.startswith("."):
        problem = f"invalid jq path {asked.data_id}: it must start with a dot"
    if problem is not None:
        return _failed(problem)
    request = BreakpointRequest(
        state=asked.data_id, condition=asked.condition or None, hits=asked.hit_condition or None
    )
    return Draft((request,), Breakpoint(verified=True, message=f"pauses when {asked.data_id} changes"))


def _problem(hits: str | None, mode: str) -> str | None:
    if hits and _HITS.fullmatch(hits) is None:
        return f"invalid hit condition {hits!r}: use for example >= 3, == 5 or % 2"
    return None if mode in _POSITIONS else f"there is no mode {mode}: use {', '.join(_POSITIONS)}"


async def _checked(adapter: Adapter, drafts: list[Draft]) -> list[Draft]:
    """The drafts; one whose jq is invalid asks for nothing, and says why."""
    unsure = [draft for draft in drafts if any(map(_has_jq, draft.requests))]
    if not unsure:
        return drafts
    debuggee = adapter.debuggee
    service = await adapter.services.local() if debuggee is None else debuggee.origin.service
    found = await service.flows.check_breakpoints(LOCAL, [draft.requests[0] for draft in unsure])
    problems = {draft.requests: problem for draft, problem in zip(unsure, found, strict=True)}
    return [_refused(draft, problems.get(draft.requests)) for draft in drafts]


def _has_jq(request: BreakpointRequest) -> bool:
    return request.condition is not None or request.state is not None or request.log is not None


def _refused(draft: Draft, problem: str | None) -> Draft:
    if problem is None:
        return draft
    return Draft((), replace(draft.told, verified=False, message=problem, reason="failed"), draft.step)


def _failed(message: str, line: int | None = None) -> Draft:
    return Draft((), Breakpoint(verified=False, message=message, line=line, reason="failed"))


def _unknown_yet() -> Draft:
    return Draft((), Breakpoint(verified=False, message="it will be resolved at launch", reason="pending"))


ROUTES = {
    "setBreakpoints": Route(given.SetBreakpointsArguments, set_breakpoints),
    "breakpointLocations": Route(given.BreakpointLocationsArguments, breakpoint_locations),
    "setFunctionBreakpoints": Route(given.SetFunctionBreakpointsArguments, set_function_breakpoints),
    "setExceptionBreakpoints": Route(given.SetExceptionBreakpointsArguments, set_exception_breakpoints),
    "dataBreakpointInfo": Route(given.DataBreakpointInfoArguments, data_breakpoint_info),
    "setDataBreakpoints": Route(given.SetDataBreakpointsArguments, set_data_breakpoints),
}
