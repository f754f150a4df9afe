"""The stream of Claude Code: `claude -p --output-format stream-json --verbose`."""

from collections.abc import Iterator, Sequence

from pitstop.steps.agents.any_json import Object, content_at, count_at, number_at, object_at, objects_at, text_at
from pitstop.steps.agents.reports import Refused, Report, Returned, Said, Tokens, Typed
from pitstop.steps.agents.streams.account import Account

_INVALID_CALL = "<tool_use_error>"  # before the result of a call that was never made


def read_claude(account: Account, given: Object) -> Sequence[Report]:
    """Deltas are typed text; `assistant` lines have each block once more, and whole."""
    match given.get("type"):
        case "stream_event" if not given.get("parent_tool_use_id"):
            return _typed(object_at(given, "event"))
        case "assistant":
            return list(_assistant(account, given))
        case "user":
            return list(_returned(object_at(given, "message")))
        case "system":
            return _system(account, given)
        case "result":
            return _result(account, given)
    return ()


def _typed(event: Object) -> Sequence[Report]:
    delta = object_at(event, "delta")
    text = text_at(delta, "text") if delta.get("type") == "text_delta" else ""
    return (Typed(text),) if text else ()


def _assistant(account: Account, given: Object) -> Iterator[Report]:
    parent = text_at(given, "parent_tool_use_id") or None
    for block in objects_at(object_at(given, "message"), "content"):
        match block.get("type"):
            case "text" if text := text_at(block, "text"):
                if given.get("error"):  # the CLI's own words for a failed request to the model
                    yield from account.warn(text)
                else:
                    yield from account.say(text) if parent is None else (Said(text, parent),)
            case "tool_use":
                yield from account.call(text_at(block, "id"), text_at(block, "name"), object_at(block, "input"), parent)


def _returned(message: Object) -> Iterator[Report]:
    for block in objects_at(message, "content"):
        if block.get("type") == "tool_result" and (call := text_at(block, "tool_use_id")):
            text = content_at(block, "content")
            if text.startswith(_INVALID_CALL):
                yield Refused(call, text.removeprefix(_INVALID_CALL).removesuffix("</tool_use_error>"))
            else:
                yield Returned(call, block.get("is_error") is not True, text)


def _system(account: Account, given: Object) -> Sequence[Report]:
    match given.get("subtype"):
        case "init":  # repeated for each message from stdin
            return account.begin(text_at(given, "session_id"), text_at(given, "model"))
        case "permission_denied" if call := text_at(given, "tool_use_id"):
            return (Refused(call, text_at(given, "decision_reason")),)
        case "api_retry":
            return account.warn(_retry_words(given))
        case "informational" | "model_refusal_fallback" | "model_refusal_no_fallback":
            return account.warn(text_at(given, "content") if given.get("level", "warning") == "warning" else "")
    return ()


def _retry_words(given: Object) -> str:
    status = number_at(given, "error_status")
    why = "the connection failed" if status is None else f"HTTP status {status:.0f}"
    attempt, attempts = count_at(given, "attempt"), count_at(given, "max_retries")
    delay_seconds = count_at(given, "retry_delay_ms") / 1000
    return f"request to the model failed ({why}); retry {attempt} of {attempts} in {delay_seconds:.1f} s"


def _result(account: Account, given: Object) -> Sequence[Report]:
    account.turns = count_at(given, "num_turns")
    account.cost = number_at(given, "total_cost_usd")
    account.tokens = _tokens(given)
    text = text_at(given, "result")
    if given.get("is_error") is not True and given.get("subtype") == "success":
        return account.result("", text)
    errors = given.get("errors")
    said = "; ".join(error for error in errors if type(error) is str) if type(errors) is list else ""
    return account.result(said or text or text_at(given, "subtype") or "claude reported an error")


def _tokens(given: Object) -> Tokens:
    """Tokens of all models, because `usage` leaves out those of subagents."""
    models = [model for model in object_at(given, "modelUsage").values() if type(model) is dict]
    if models:
        names = ("inputTokens", "outputTokens", "cacheReadInputTokens", "cacheCreationInputTokens")
        return sum((_counted(model, names) for model in models), Tokens())
    names = ("input_tokens", "output_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")
    return _counted(object_at(given, "usage"), names)


def _counted(usage: Object, names: tuple[str, str, str, str]) -> Tokens:
    uncached, output, cached, newly_cached = (count_at(usage, name) for name in names)
    return Tokens(uncached + cached + newly_cached, output, cached)
