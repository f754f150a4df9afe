"""Completions: the keys that are there, the functions of jq, and the commands of the console."""

import re

from pitstop.doors.dap.protocol import arguments as given
from pitstop.doors.dap.protocol.failures import RequestFailed
from pitstop.doors.dap.protocol.messages import Body, CompletionItem
from pitstop.doors.dap.requests.console import COMMANDS
from pitstop.doors.dap.requests.variables import stop_for
from pitstop.doors.dap.session.adapter import Adapter
from pitstop.doors.dap.session.dispatcher import Route
from pitstop.errors import CommandRefused
from pitstop.service.debugging import verbs

MOST = 100

_FUNCTIONS = """
    add all any arrays ascii_downcase ascii_upcase booleans contains del empty endswith error explode first flatten
    floor from_entries fromjson getpath group_by has implode index indices inside isempty join keys last length limit
    ltrimstr map map_values match max max_by min min_by not nulls numbers objects path paths range recurse reduce
    reverse rtrimstr scan select sort sort_by split splits sqrt startswith strings sub gsub test to_entries tojson
    tonumber tostring transpose type unique unique_by until values walk with_entries
"""
FUNCTIONS = tuple(_FUNCTIONS.split())

_KEY = re.compile(r"(?P<holder>(?:\.[A-Za-z_]\w*|\[[^\]]*\])*)\.(?P<begun>\w*)$", re.ASCII)
_WORD = re.compile(r"(?<![.\w])(?P<begun>[a-z_]\w*)$", re.ASCII)


async def completions(adapter: Adapter, arguments: given.CompletionsArguments) -> Body:
    column = adapter.editor.client.column_in(arguments.column)
    text = arguments.text.split("\n")[max(0, (arguments.line or 1) - 1)] if arguments.line else arguments.text
    before = text[: max(0, column - 1)]
    key = _KEY.search(before)
    if key is not None:
        return {"targets": await _keys(adapter, arguments.frame_id, key["holder"], key["begun"])}
    word = _WORD.search(before)
    begun = word["begun"] if word is not None else ""
    is_first = before.strip() == begun
    found = [(name, "function") for name in FUNCTIONS if name.startswith(begun)] if begun else []
    if is_first:
        found = [(name, "keyword") for name in COMMANDS if name.startswith(begun)] + found
    return {"targets": [CompletionItem(label=name, type=kind) for name, kind in found[:MOST]]}


async def _keys(adapter: Adapter, frame_id: int | None, holder: str, begun: str) -> list[CompletionItem]:
    try:
        stop = await stop_for(adapter, frame_id)
        page = await adapter.session().live()[0].say(verbs.Variables(stop, holder or ".", limit=10 * MOST))
    except (CommandRefused, RequestFailed):  # there is nothing there, or nothing to see now
        return []
    return [
        CompletionItem(label=each.name, detail=each.preview, type="property")
        for each in page.variables
        if each.name.startswith(begun) and not each.path.endswith("]")
    ][:MOST]


ROUTES = {"completions": Route(given.CompletionsArguments, completions, is_aside=True)}
