"""Scopes and variables: what the stopped step sees, a level and a page at a time."""

import json
from typing import Any

from pitstop.doors.dap.protocol import arguments as given
from pitstop.doors.dap.protocol.failures import RequestFailed, not_stopped
from pitstop.doors.dap.protocol.messages import Body, Scope, ValueSet
from pitstop.doors.dap.session import values
from pitstop.doors.dap.session.adapter import Adapter
from pitstop.doors.dap.session.dispatcher import Route
from pitstop.doors.dap.session.editor import Edit
from pitstop.doors.dap.session.holders import PathHolder, ValueHolder, tell_value
from pitstop.doors.dap.session.references import FrameRef
from pitstop.service.debugging import Debugger, StopInfo, verbs

NAMED_SCOPES = (
    ("tool", "Tool call", "arguments"),
    ("inputs", "Inputs", "arguments"),
    ("vars", "Vars", None),
    ("matrix", "Matrix", None),
)
LOOKED_AT = 200


async def scopes(adapter: Adapter, arguments: given.FrameArguments) -> Body:
    debugger = _stopped(adapter)
    frame = adapter.editor.references.frame(arguments.frame_id)
    stop = await adapter.session().stop(frame.stop)
    if stop is None:  # a long step that is at work: nothing can be seen until it ends
        return {"scopes": []}
    if frame.depth:
        facts = ValueHolder(adapter, _step_facts(adapter, frame), stop.id)
        return {"scopes": [_scope("Step", facts, "locals")]}
    page = await debugger.say(verbs.Variables(stop.id, ".", limit=LOOKED_AT))
    state = PathHolder(adapter, debugger, stop.id, ".", "object", page.total)
    top = {each.name: state.child(each) for each in page.variables if each.size is not None}
    told = [_scope("State", state, "locals")]
    told += [_scope(title, top[name], hint) for name, title, hint in NAMED_SCOPES if name in top]
    told.append(_scope("Step", ValueHolder(adapter, await _config_facts(adapter, debugger, stop, frame), stop.id)))
    if stop.outcome is not None and stop.outcome.outputs is not None:
        told.append(_scope("Outputs", ValueHolder(adapter, stop.outcome.outputs, stop.id), "returnValue"))
    if "env" in top:
        told.append(_scope("Env", top["env"], is_expensive=True))
    return {"scopes": told}


def _stopped(adapter: Adapter) -> Debugger:
    """The debugger of a run that stands still, as the client has it; `notStopped`."""
    debugger, conductor = adapter.session().live()
    if not conductor.may_stand:
        raise not_stopped()
    return debugger


def _scope(
    name: str, holder: PathHolder | ValueHolder, hint: str | None = None, *, is_expensive: bool = False
) -> Scope:
    return Scope(
        name=name,
        presentation_hint=hint,
        variables_reference=holder.adapter.editor.references.number_holder(holder),
        expensive=is_expensive,
        named_variables=values.named(holder.kind, holder.size),
        indexed_variables=values.indexed(holder.kind, holder.size),
    )


def _step_facts(adapter: Adapter, frame: FrameRef) -> dict[str, Any]:
    step = adapter.session().places.step(frame.step or "")
    if step is None:
        return {"flow": adapter.session().places.flow.name}
    facts = {"path": step.path, "id": step.id, "type": step.kind, "if": step.condition, "command": step.detail}
    return {name: fact for name, fact in facts.items() if fact}


async def _config_facts(adapter: Adapter, debugger: Debugger, stop: StopInfo, frame: FrameRef) -> dict[str, Any]:
    """What the step is, and what it would do now: with problems in the place of what cannot be worked out."""
    facts = _step_facts(adapter, frame) | {"occurrence": stop.occurrence, "position": stop.position}
    if stop.outcome is not None:
        facts["status"] = stop.outcome.status
    if stop.step:
        config = await debugger.say(verbs.ReadConfig(stop.id))
        facts["config"] = dict(config.resolved)
        if config.problems:
            facts["problems"] = dict(config.problems)
    return facts


async def variables(adapter: Adapter, arguments: given.VariablesArguments) -> Body:
    if not adapter.editor.references.is_kept(arguments.variables_reference):
        _stopped(adapter)
    holder = adapter.editor.references.holder(arguments.variables_reference)
    if arguments.filter is not None and (arguments.filter == "indexed") != (holder.kind == "array"):
        return {"variables": []}
    count = arguments.count or None
    return {"variables": await holder.children(max(0, arguments.start or 0), count)}


def path_of(adapter: Adapter, reference: int | None, name: str) -> str | None:
    """The jq path of a variable that was shown, or of an expression that is one; None for what can be at no path."""
    if not reference:
        return name.strip() if name.strip().startswith(".") else None
    holder = adapter.editor.references.holder(reference)
    if holder.path is None:
        return None
    return values.child_path(holder.path, name, is_array=holder.kind == "array")


async def set_variable(adapter: Adapter, arguments: given.SetVariableArguments) -> ValueSet:
    holder = adapter.editor.references.holder(arguments.variables_reference)
    path = path_of(adapter, arguments.variables_reference, arguments.name)
    if path is None or holder.stop is None:
        raise RequestFailed(f"{arguments.name} is read-only")
    return await set_value(adapter, holder.stop, path, arguments.value)


async def set_expression(adapter: Adapter, arguments: given.SetExpressionArguments) -> ValueSet:
    stop = await stop_for(adapter, arguments.frame_id)
    return await set_value(adapter, stop, arguments.expression, arguments.value)


async def set_value(adapter: Adapter, stop: int, path: str, text: str) -> ValueSet:
    """Put a JSON value at a path; what was inside the old one is gone."""
    debugger, _ = adapter.session().live()
    await edit(adapter, verbs.Set(stop, path, read_json(text)))
    adapter.editor.references.forget_under(stop, path)
    (value,) = (await debugger.say(verbs.Evaluate(path, stop))).values
    told = tell_value(adapter, "", value, stop, path)
    return ValueSet(
        value=told.value,
        type=told.type,
        variables_reference=told.variables_reference,
        named_variables=told.named_variables,
        indexed_variables=told.indexed_variables,
    )


async def edit(adapter: Adapter, request: Edit) -> None:
    """Make an edit at a stop. If the client restarts the stack frame from there, the edit is made again."""
    debugger, _ = adapter.session().live()
    await debugger.say(request)
    adapter.editor.edits[request.stop] = (*adapter.editor.edits.get(request.stop, ()), request)


def read_json(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError as error:
        raise RequestFailed(f'{text!r} is not JSON ({error}); put text in quotes: "text"') from error


async def stop_for(adapter: Adapter, frame_id: int | None) -> int:
    """The stop that an expression is for: that of the stack frame, or the one that was told last."""
    _, conductor = adapter.session().live()
    if frame_id is not None:
        stop = adapter.editor.references.frame(frame_id).stop
    else:
        stop = conductor.current.id if conductor.current is not None else None
    if stop is None:
        raise not_stopped("variables are not available while the step is running")
    return stop


ROUTES = {
    "scopes": Route(given.FrameArguments, scopes, is_aside=True),
    "variables": Route(given.VariablesArguments, variables, is_aside=True),
    "setVariable": Route(given.SetVariableArguments, set_variable),
    "setExpression": Route(given.SetExpressionArguments, set_expression),
}
