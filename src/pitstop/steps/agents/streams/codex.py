"""The stream of Codex: `codex exec --json`."""

import re
from collections.abc import Sequence

from pitstop.steps.agents.any_json import Object, content_at, count_at, object_at, read_json, text_at
from pitstop.steps.agents.reports import Refused, Report, Returned, Tokens
from pitstop.steps.agents.streams.account import Account

_CALLS = frozenset(("command_execution", "file_change", "mcp_tool_call", "collab_tool_call", "web_search"))
_NOT_INPUT = frozenset(("id", "type", "status", "result", "error", "aggregated_output", "exit_code", "agents_states"))
_PART_OF_A_WORD = r"""'([^']*+)'|"([^"\\]*+(?:\\.[^"\\]*+)*+)"|\\(.)|([^\s'"\\]++)"""
_QUOTED = re.compile(_PART_OF_A_WORD, re.DOTALL)
_IN_A_SHELL = re.compile(rf"(?:\S*/)?(?:ba|z|da|k)?sh -l?c (?P<script>(?:{_PART_OF_A_WORD})++)", re.DOTALL)
_ESCAPED = re.compile(r"\\([\"$`\\])")


def read_codex(account: Account, given: Object) -> Sequence[Report]:
    """A turn may be followed by another, and an error by a retry: only the end says how the last turn went."""
    match given.get("type"):
        case "thread.started":
            return account.begin(text_at(given, "thread_id"))
        case "item.started":
            return _started(account, object_at(given, "item"))
        case "item.completed":
            return _completed(account, object_at(given, "item"))
        case "turn.completed":
            account.end_turn()
            usage = object_at(given, "usage")  # of all turns so far
            counts = (count_at(usage, name) for name in ("input_tokens", "output_tokens", "cached_input_tokens"))
            account.tokens = Tokens(*counts)
        case "turn.failed":
            return account.fail(_plain(text_at(object_at(given, "error"), "message")))
        case "error":
            return account.fail(_plain(text_at(given, "message")))
    return ()


def _started(account: Account, item: Object) -> Sequence[Report]:
    kind = text_at(item, "type")
    if kind not in _CALLS or (kind == "web_search" and not item.get("query")):  # which comes when it is completed
        return ()
    name, given = kind, {name: value for name, value in item.items() if name not in _NOT_INPUT}
    match kind:
        case "command_execution":
            given = {"command": without_shell(text_at(item, "command"))}
        case "mcp_tool_call":  # as its hooks name it
            name, given = f"mcp__{text_at(item, 'server')}__{text_at(item, 'tool')}", object_at(item, "arguments")
        case "collab_tool_call":
            name = text_at(item, "tool") or kind
    return account.call(text_at(item, "id"), name, given)


def _completed(account: Account, item: Object) -> Sequence[Report]:
    match text_at(item, "type"):
        case "agent_message":
            return account.say(text_at(item, "text"))
        case "error":
            return account.warn(text_at(item, "message"))
        case kind if kind in _CALLS and (call := text_at(item, "id")):
            return (*_started(account, item), _ended(call, item))
    return ()


def _ended(call: str, item: Object) -> Report:
    status, exit_code = item.get("status"), item.get("exit_code")
    error = text_at(object_at(item, "error"), "message")
    output = text_at(item, "aggregated_output") or error or content_at(object_at(item, "result"), "content")
    if status == "declined":
        return Refused(call, output)
    ok = exit_code == 0 if exit_code is not None else status in ("completed", None)
    return Returned(call, ok and not error, output)


def _plain(message: str) -> str:
    """The message of an error that codex hands on as the JSON of the model's server."""
    given = read_json(message.encode())
    return (text_at(object_at(given, "error"), "message") if type(given) is dict else "") or message


def without_shell(command: str) -> str:
    """The script of `/bin/bash -lc '…'`, as the agent wrote it and as a hook shows it."""
    found = _IN_A_SHELL.fullmatch(command)  # by a pattern, because shlex takes 0.2 s for a long script
    return _QUOTED.sub(_unquoted, found["script"]) if found else command


def _unquoted(part: re.Match[str]) -> str:
    verbatim, escaped, character, bare = part.groups()
    return _ESCAPED.sub(r"\1", escaped) if escaped else verbatim or character or bare or ""
