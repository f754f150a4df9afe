"""The stream of opencode: `opencode run --format json`."""

from collections.abc import Sequence

from pitstop.steps.agents.any_json import Object, count_at, number_at, object_at, text_at
from pitstop.steps.agents.reports import Report, Returned, Tokens
from pitstop.steps.agents.streams.account import Account


def read_opencode(account: Account, given: Object) -> Sequence[Report]:
    """A tool call is written only when it has ended, and the result is the sum of the steps."""
    return (*account.begin(text_at(given, "sessionID")), *_read_part(account, given, object_at(given, "part")))


def _read_part(account: Account, given: Object, part: Object) -> Sequence[Report]:
    match given.get("type"):
        case "text":
            return account.say(text_at(part, "text"))
        case "tool_use":
            return _ended_call(account, part, object_at(part, "state"))
        case "step_finish":
            account.end_turn()
            account.cost = (account.cost or 0.0) + (number_at(part, "cost") or 0.0)
            account.tokens = (account.tokens or Tokens()) + _tokens(object_at(part, "tokens"))
        case "error":
            error = object_at(given, "error")
            return account.fail(text_at(object_at(error, "data"), "message") or text_at(error, "name"))
    return ()


def _ended_call(account: Account, part: Object, state: Object) -> Sequence[Report]:
    call = text_at(part, "callID") or text_at(part, "id")
    ok = state.get("status") == "completed"
    called = account.call(call, text_at(part, "tool"), object_at(state, "input"))
    return (*called, Returned(call, ok, text_at(state, "output" if ok else "error"))) if called else ()


def _tokens(tokens: Object) -> Tokens:
    cache = object_at(tokens, "cache")
    cached = count_at(cache, "read")
    total_input = count_at(tokens, "input") + cached + count_at(cache, "write")
    return Tokens(total_input, count_at(tokens, "output") + count_at(tokens, "reasoning"), cached)
