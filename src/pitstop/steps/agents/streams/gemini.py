"""The stream of Gemini CLI: `gemini --output-format stream-json`."""

from collections.abc import Sequence

from pitstop.steps.agents.any_json import Object, count_at, object_at, text_at
from pitstop.steps.agents.reports import Refused, Report, Returned, Tokens
from pitstop.steps.agents.streams.account import Account

_NOT_MADE = ("tool_not_registered", "invalid_tool_params")  # errors of calls that were never made


def read_gemini(account: Account, given: Object) -> Sequence[Report]:
    """Texts come only as deltas: a text is whole when something else follows."""
    if given.get("type") == "message" and given.get("delta") is True:
        return account.type(text_at(given, "content")) if given.get("role") == "assistant" else ()
    return (*account.say_typed(), *_read_other(account, given))


def _read_other(account: Account, given: Object) -> Sequence[Report]:
    call = text_at(given, "tool_id")
    match given.get("type"):
        case "init":
            return account.begin(text_at(given, "session_id"), text_at(given, "model"))
        case "message" if given.get("role") == "assistant":
            return account.say(text_at(given, "content"))
        case "tool_use":
            return account.call(call, text_at(given, "tool_name"), object_at(given, "parameters"))
        case "tool_result" if call:
            return (_returned(call, given),)
        case "error":
            report = account.warn if given.get("severity") == "warning" else account.fail
            return report(text_at(given, "message"))
        case "result":
            return _result(account, given)
    return ()


def _returned(call: str, given: Object) -> Report:
    output = text_at(given, "output")
    if given.get("status") == "success":
        return Returned(call, True, output)
    error = object_at(given, "error")
    reason = text_at(error, "message") or output
    return Refused(call, reason) if text_at(error, "type") in _NOT_MADE else Returned(call, False, reason)


def _result(account: Account, given: Object) -> Sequence[Report]:
    stats = object_at(given, "stats")
    account.tokens = Tokens(*(count_at(stats, name) for name in ("input_tokens", "output_tokens", "cached")))
    if given.get("status") == "success":
        return account.result("")
    return account.result(text_at(object_at(given, "error"), "message") or account.error or "gemini reported an error")
