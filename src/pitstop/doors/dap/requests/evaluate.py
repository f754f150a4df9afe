"""Expressions: jq on what the stopped step sees, and in the console commands too."""

import json
import re
from typing import Any

from pitstop.doors.dap.protocol import arguments as given
from pitstop.doors.dap.protocol.failures import RequestFailed
from pitstop.doors.dap.protocol.messages import Evaluated
from pitstop.doors.dap.requests.console import carry_out, is_command
from pitstop.doors.dap.requests.variables import stop_for
from pitstop.doors.dap.session.adapter import Adapter
from pitstop.doors.dap.session.dispatcher import Route
from pitstop.doors.dap.session.holders import tell_value
from pitstop.errors import BadExpression
from pitstop.service.debugging import verbs
from pitstop.service.runs import type_name

_WORD = re.compile(r"[A-Za-z_]\w*", re.ASCII)
_PATH = re.compile(r"\.(?:[A-Za-z_]\w*|\[[^\]]*\]|\.(?=[A-Za-z_]))*", re.ASCII)
GUESSES = (".", ".vars.", ".inputs.", ".steps.", ".matrix.", ".env.")


async def evaluate(adapter: Adapter, arguments: given.EvaluateArguments) -> Evaluated:
    expression, context = arguments.expression.strip(), arguments.context or "repl"  # Helix sends no context
    if context == "repl" and is_command(expression):
        return Evaluated(result=await carry_out(adapter, expression, arguments.frame_id), variables_reference=0)
    session = adapter.session()
    debugger, conductor = session.live()
    is_moving = arguments.frame_id is None and conductor.current is None and session.origin.is_local
    stop = None if is_moving else await stop_for(adapter, arguments.frame_id)
    if context == "hover":
        expression = await _meant(adapter, stop, expression)
    try:
        found = (await debugger.say(verbs.Evaluate(expression, stop))).values
    except BadExpression as error:
        raise RequestFailed(str(error), show_user=False) from error
    if context == "clipboard":
        return Evaluated(result=_whole(found), variables_reference=0)
    if not found:
        return Evaluated(result="no value", variables_reference=0)
    value = found[0] if len(found) == 1 else found
    kept = None if context == "repl" else stop  # what nothing stands still for is shown as it is now
    path = expression if len(found) == 1 and _PATH.fullmatch(expression) else None
    told = tell_value(adapter, "", value, kept, path if kept is not None else None)
    return Evaluated(
        result=told.value,
        type=type_name(value) if adapter.editor.client.shows_types else None,
        variables_reference=told.variables_reference,
        named_variables=told.named_variables,
        indexed_variables=told.indexed_variables,
    )


async def _meant(adapter: Adapter, stop: int | None, expression: str) -> str:
    """What a mouse points at: a word is the name of something, and never a function of jq."""
    if not _WORD.fullmatch(expression):
        return expression
    debugger, _ = adapter.session().live()
    for guess in GUESSES:
        if (await debugger.say(verbs.Evaluate(f"{guess}{expression}", stop))).values[0] is not None:
            return f"{guess}{expression}"
    raise RequestFailed("there is no value with this name", show_user=False)


def _whole(found: list[Any]) -> str:
    return "\n".join(json.dumps(value, ensure_ascii=False, indent=2) for value in found)


ROUTES = {"evaluate": Route(given.EvaluateArguments, evaluate, is_aside=True)}
