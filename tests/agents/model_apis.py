"""What a scripted model answers on the wire of Anthropic, OpenAI and Google."""

import asyncio
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal

from msgspec import Struct, field

ApiName = Literal["anthropic", "openai", "google"]
Json = dict[str, Any]


class Call(Struct, frozen=True):
    """A tool call of the model. An input that is text calls a custom tool of OpenAI, such as apply_patch."""

    name: str
    input: Mapping[str, Any] | str = field(default_factory=dict)
    call: str = ""  # its id; the server makes one up when it is empty


class Turn(Struct, frozen=True):
    """One answer of the model: a text, then tool calls. With another status than 200, an error with that text."""

    text: str = ""
    calls: Sequence[Call] = ()
    status: int = 200
    to: str = ""  # only for a conversation that contains this text, such as the prompt of a subagent
    until: asyncio.Event | None = None  # the answer begins at once and goes on when this is set
    input_tokens: int = 100
    output_tokens: int = 10
    cached_tokens: int = 0


class Api(Struct, frozen=True):
    """How one API writes a turn: its events, all of them as one answer, and an error."""

    events: Callable[[Turn, str], list[Json]]  # of a turn whose calls have ids, and the name of the model
    whole: Callable[[Sequence[Json]], Json]
    error: Callable[[int, str], Json]


def api_of(path: str) -> ApiName | None:
    ends: dict[str, ApiName] = {
        "/messages": "anthropic",
        "/responses": "openai",
        ":streamGenerateContent": "google",
        ":generateContent": "google",
    }
    return next((api for end, api in ends.items() if path.endswith(end)), None)


def has_tools(body: Json) -> bool:
    """Newer models of OpenAI are given their tools as an item of the input."""
    items = body.get("input")
    listed = items if isinstance(items, list) else []
    return bool(body.get("tools")) or any(item.get("type") == "additional_tools" for item in listed)


def tool_results(body: Json) -> Iterable[tuple[str, str]]:
    """The id of each call that the request answers, and the text of that answer."""
    for message in body.get("messages", ()):
        for block in message["content"] if isinstance(message["content"], list) else ():
            if block.get("type") == "tool_result":
                yield block["tool_use_id"], _text(block.get("content", ""))
    for item in body["input"] if isinstance(body.get("input"), list) else ():
        if str(item.get("type")).endswith("_output"):
            yield item["call_id"], _text(item["output"])
    for content in body.get("contents", ()):
        for part in content["parts"]:
            if response := part.get("functionResponse"):
                yield response.get("id") or response["name"], _text(response["response"])


def _text(value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return "".join(_text(block.get("text", "")) for block in value)
    return _text(value.get("output") or value.get("error") or json.dumps(value))


def _anthropic_events(turn: Turn, model: str) -> list[Json]:
    usage = {
        "input_tokens": turn.input_tokens - turn.cached_tokens,
        "cache_read_input_tokens": turn.cached_tokens,
        "cache_creation_input_tokens": 0,
        "output_tokens": 1,
    }
    message: Json = {"id": f"msg_{id(turn)}", "type": "message", "role": "assistant", "model": model, "content": []}
    message |= {"stop_reason": None, "stop_sequence": None, "usage": usage}
    blocks: list[tuple[Json, Json]] = []
    if turn.text:
        blocks.append(({"type": "text", "text": ""}, {"type": "text_delta", "text": turn.text}))
    for call in turn.calls:
        block = {"type": "tool_use", "id": call.call, "name": call.name, "input": {}}
        blocks.append((block, {"type": "input_json_delta", "partial_json": json.dumps(call.input)}))
    events: list[Json] = [{"type": "message_start", "message": message}]
    for index, (block, delta) in enumerate(blocks):
        events.append({"type": "content_block_start", "index": index, "content_block": block})
        events.append({"type": "content_block_delta", "index": index, "delta": delta})
        events.append({"type": "content_block_stop", "index": index})
    end = {"stop_reason": "tool_use" if turn.calls else "end_turn", "stop_sequence": None}
    events.append({"type": "message_delta", "delta": end, "usage": {"output_tokens": turn.output_tokens}})
    return [*events, {"type": "message_stop"}]


def _anthropic_whole(events: Sequence[Json]) -> Json:
    blocks = []
    for started, changed in zip(events[1:-2:3], events[2:-2:3], strict=True):
        delta = changed["delta"]
        content = {"text": delta["text"]} if "text" in delta else {"input": json.loads(delta["partial_json"])}
        blocks.append({**started["content_block"], **content})
    message, end = events[0]["message"], events[-2]
    return {**message, "content": blocks, **end["delta"], "usage": message["usage"] | end["usage"]}


def _openai_events(turn: Turn, model: str) -> list[Json]:
    response: Json = {"id": f"resp_{id(turn)}", "object": "response", "model": model}
    usage = {
        "input_tokens": turn.input_tokens,
        "input_tokens_details": {"cached_tokens": turn.cached_tokens},
        "output_tokens": turn.output_tokens,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": turn.input_tokens + turn.output_tokens,
    }
    items = [_openai_call(call) for call in turn.calls]
    if turn.text:
        content = [{"type": "output_text", "text": turn.text, "annotations": []}]
        items.insert(0, {"type": "message", "role": "assistant", "id": f"msg_{id(turn)}", "content": content})
    events: list[Json] = [{"type": "response.created", "response": {**response, "status": "in_progress"}}]
    for index, item in enumerate(items):
        begun = {**item, "content": []} if item["type"] == "message" else item
        events.append({"type": "response.output_item.added", "output_index": index, "item": begun})
        if item["type"] == "message":
            place = {"item_id": item["id"], "output_index": index, "content_index": 0}
            events.append({"type": "response.output_text.delta", **place, "delta": turn.text})
        events.append({"type": "response.output_item.done", "output_index": index, "item": item})
    done = {**response, "status": "completed", "output": items, "usage": usage}
    return [*events, {"type": "response.completed", "response": done}]


def _openai_call(call: Call) -> Json:
    item: Json = {"id": f"fc_{call.call}", "call_id": call.call, "name": call.name, "status": "completed"}
    if isinstance(call.input, str):
        return {**item, "type": "custom_tool_call", "input": call.input}
    return {**item, "type": "function_call", "arguments": json.dumps(call.input)}


def _openai_whole(events: Sequence[Json]) -> Json:
    response: Json = events[-1]["response"]
    return response


def _google_events(turn: Turn, model: str) -> list[Json]:
    parts: list[Json] = [{"functionCall": {"id": it.call, "name": it.name, "args": it.input}} for it in turn.calls]
    if turn.text or not parts:
        parts.insert(0, {"text": turn.text})
    usage = {
        "promptTokenCount": turn.input_tokens,
        "cachedContentTokenCount": turn.cached_tokens,
        "candidatesTokenCount": turn.output_tokens,
        "totalTokenCount": turn.input_tokens + turn.output_tokens,
    }
    contents = [{"role": "model", "parts": [part]} for part in parts]
    events: list[Json] = [{"candidates": [{"index": 0, "content": content}]} for content in contents]
    events = [{**event, "modelVersion": model} for event in events]
    events[-1]["candidates"][0]["finishReason"] = "STOP"
    events[-1]["usageMetadata"] = usage
    return events


def _google_whole(events: Sequence[Json]) -> Json:
    parts = [part for event in events for part in event["candidates"][0]["content"]["parts"]]
    candidate = {**events[-1]["candidates"][0], "content": {"role": "model", "parts": parts}}
    return {**events[-1], "candidates": [candidate]}


_ANTHROPIC_ERRORS = {400: "invalid_request_error", 401: "authentication_error", 429: "rate_limit_error"}
_GOOGLE_ERRORS = {400: "INVALID_ARGUMENT", 401: "UNAUTHENTICATED", 429: "RESOURCE_EXHAUSTED"}


def _anthropic_error(status: int, text: str) -> Json:
    kind = _ANTHROPIC_ERRORS.get(status, "api_error")
    return {"type": "error", "error": {"type": kind, "message": text}}


def _openai_error(status: int, text: str) -> Json:
    kind = _ANTHROPIC_ERRORS.get(status, "server_error")
    return {"error": {"type": kind, "message": text, "code": None, "param": None}}


def _google_error(status: int, text: str) -> Json:
    return {"error": {"code": status, "message": text, "status": _GOOGLE_ERRORS.get(status, "INTERNAL")}}


APIS: Mapping[ApiName, Api] = {
    "anthropic": Api(_anthropic_events, _anthropic_whole, _anthropic_error),
    "openai": Api(_openai_events, _openai_whole, _openai_error),
    "google": Api(_google_events, _google_whole, _google_error),
}
