"""Answers the first calls of a model from a recording, and changes what later ones are told."""

import re
from collections.abc import Mapping, Sequence
from itertools import takewhile
from typing import Any

from pitstop.steps.agents.any_json import Object
from pitstop.steps.agents.relay.apis import Refusal, Upstream, messages_of, tool_results
from pitstop.steps.agents.relay.recording import Exchange, texts_in

_NOT_TEXT = frozenset(["id", "tool_use_id", "call_id", "type", "role", "thoughtSignature", "signature"])
_UUID = r"\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b"
_VARYING = re.compile(rf"{_UUID}|\b(?=\w*\d)[0-9a-f]{{6,}}\b|\d+|\s+")  # ids, times and sizes differ in each run
_SHOWN_CHARACTERS = 60


class Replay:
    """The exchanges of a recording up to number `calls`, each of which is answered once.

    `replaced` has other texts for tool results in what follows, by the id of the call or its position from 1.
    """

    def __init__(
        self, recording: Sequence[Exchange], calls: int, *, replaced: Mapping[int | str, str] | None = None
    ) -> None:
        self._waiting = [exchange for exchange in recording if exchange.number <= calls]
        self._later = [exchange for exchange in recording if exchange.number > calls]
        self._replaced = dict(replaced or {})
        self.divergence: str | None = None

    def take(self, upstream: Upstream, path: str, body: Object) -> Exchange | None:
        """The exchange that answers this request; None if the API is to answer. Refusal if it was not recorded."""
        asked = fingerprint(upstream, path, body)
        for exchange in self._waiting:
            if fingerprint(upstream, exchange.path, exchange.request) == asked:
                self._waiting.remove(exchange)
                return exchange
        later = (fingerprint(upstream, exchange.path, exchange.request) for exchange in self._later)
        if not self._waiting or asked in later:
            return None
        expected = self._waiting[0]
        difference = first_difference(asked, fingerprint(upstream, expected.path, expected.request))
        self.divergence = f"the agent does not repeat call {expected.number} of the recording: {difference}"
        raise Refusal(400, self.divergence)

    def change(self, messages: list[Any]) -> bool:
        """Replace tool results in a conversation, and say whether any was. A position is that in the first one."""
        results = list(tool_results(messages))
        for position in [key for key in self._replaced if isinstance(key, int) and 0 < key <= len(results)]:
            self._replaced[results[position - 1][0]] = self._replaced.pop(position)
        changed = [result for result in results if result[0] in self._replaced]
        for call, holder, field in changed:
            text = self._replaced[call]
            holder[field] = {"output": text} if field == "response" else text
            holder.pop("is_error", None)
        return bool(changed)


def fingerprint(upstream: Upstream, path: str, body: Object) -> dict[str, str]:
    """What tells one call of a model from another, whatever differs in each run; `body` is without secrets."""
    messages = messages_of(body)
    of_agent = [each for each in messages if not isinstance(each, dict) or each.get("role") != "system"]
    last = (holder[key] for _, holder, key in texts_in(of_agent[-1:]) if key not in _NOT_TEXT)
    return {
        "model": upstream.model_of(path, body),
        "path": path,
        "number of messages": str(len(messages)),
        "last message": _VARYING.sub(" ", " ".join(last)).strip(),
    }


def first_difference(asked: Mapping[str, str], expected: Mapping[str, str]) -> str:
    """What differs, for people."""
    name = next(name for name in expected if asked[name] != expected[name])
    same = takewhile(lambda pair: pair[0] == pair[1], zip(asked[name], expected[name], strict=False))
    start = max(0, len(list(same)) - _SHOWN_CHARACTERS // 3)
    shown = [text[start : start + _SHOWN_CHARACTERS] for text in (asked[name], expected[name])]
    return f"its {name} is {shown[0]!r} instead of {shown[1]!r}"
