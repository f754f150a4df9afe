"""What an agent uses: tokens as the API reports them, their cost, and the budget that they count against."""

import re
from collections.abc import Iterator, Mapping

from msgspec import Struct

from pitstop.steps.agents.any_json import Object, object_at, read_json
from pitstop.steps.agents.relay.server import Answer
from pitstop.steps.agents.reports import Tokens

_DATED = re.compile(r"([-@]\d{4}-?\d\d-?\d\d|-latest)?")
_BYTES_PER_TOKEN = 4
_COUNTS = (  # what the APIs call the tokens in, out, and cached
    "input_tokens cache_read_input_tokens cache_creation_input_tokens promptTokenCount toolUsePromptTokenCount",
    "output_tokens candidatesTokenCount thoughtsTokenCount",
    "cache_read_input_tokens cached_tokens cachedContentTokenCount",
)


class Price(Struct, frozen=True):
    """US dollars for a million tokens; `cached` is as `input` if None."""

    input: float
    output: float
    cached: float | None = None


class Budget(Struct, frozen=True):
    """What an agent may use: tokens in and out, and US dollars. None is no limit."""

    tokens: int | None = None
    cost: float | None = None


class Usage(Struct, frozen=True):
    """What an agent has used. `cost` is None when the price of a model is unknown."""

    tokens: Tokens = Tokens()
    cost: float | None = 0.0
    calls: int = 0  # of models

    def __add__(self, other: "Usage") -> "Usage":
        cost = None if self.cost is None or other.cost is None else self.cost + other.cost
        return Usage(self.tokens + other.tokens, cost, self.calls + other.calls)


def price_of(model: str, prices: Mapping[str, Price]) -> Price | None:
    """The price of a model, which may have a date after the name that is priced."""
    fitting = (name for name in prices if model.startswith(name) and _DATED.fullmatch(model, len(name)))
    return next((prices[name] for name in fitting), None)


def why_over(budget: Budget, usage: Usage) -> str | None:
    """Why no further call of a model is allowed; None if one is."""
    used = usage.tokens.input + usage.tokens.output
    if budget.tokens is not None and used >= budget.tokens:
        return f"the budget of {budget.tokens:,} tokens is used up ({used:,} used): raise the step's `budget.tokens`"
    if budget.cost is not None and usage.cost is not None and usage.cost >= budget.cost:
        return f"the budget of ${budget.cost:.2f} is used up (${usage.cost:.2f} used): raise the step's `budget.cost`"
    return None


def usage_of(price: Price | None, request_bytes: int, answer: Answer) -> Usage:
    """What one call has used. Tokens that were not reported, because the answer was cut off, are estimated."""
    counts: dict[str, int] = {}
    for reported in _reports_in(answer):  # each is about the whole call until then
        counts |= _counts(reported)
    tokens = Tokens(*(sum(counts.get(name, 0) for name in names.split()) for names in _COUNTS))
    if not answer.is_whole or (answer.is_streamed and not counts):
        sent, events = tokens.input or request_bytes // _BYTES_PER_TOKEN, len(answer.texts)
        tokens = Tokens(sent, max(tokens.output, events), tokens.cached)
    if tokens == Tokens():
        return Usage()
    return Usage(tokens, None if price is None else cost_of(counts, tokens, price), 1)


def _reports_in(answer: Answer) -> Iterator[Object]:
    for text in (text for text in answer.texts if b"sage" in text):  # because reading all events would be slow
        value = read_json(text)
        for event in value if isinstance(value, list) else [value]:
            if isinstance(event, dict):
                for holder in (event, object_at(event, "message"), object_at(event, "response")):
                    yield object_at(holder, "usage") or object_at(holder, "usageMetadata")


def _counts(reported: Object) -> dict[str, int]:
    """The numbers in what an API reports, of which some are one level deeper."""
    details = [more for more in reported.values() if isinstance(more, dict)]
    named = [item for level in (reported, *details) for item in level.items()]
    return {name: value for name, value in named if type(value) is int and value >= 0}


def cost_of(counts: Mapping[str, int], tokens: Tokens, price: Price) -> float:
    """US dollars for one call. What Anthropic writes to its cache costs 1.25 times `input`, for an hour twice."""
    written, for_hour = (counts.get(f"{name}_input_tokens", 0) for name in ("cache_creation", "ephemeral_1h"))
    sent = tokens.input - tokens.cached + 0.25 * written + 0.75 * for_hour
    cached = tokens.cached * (price.input if price.cached is None else price.cached)
    return (sent * price.input + cached + tokens.output * price.output) / 1_000_000
