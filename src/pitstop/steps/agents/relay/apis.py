"""What each API of models has of its own: paths, the header of the key, errors and conversations."""

import re
from collections.abc import Iterator, Mapping
from typing import Any, Literal

import msgspec
from msgspec import Struct

from pitstop.steps.agents.any_json import Object, object_at

Api = Literal["anthropic", "openai", "google"]

_WORD = re.compile(r"[\x21-\x7e]+")
_NAME = "[A-Za-z0-9_.@-]+"
_MODELS = f"GET /v1[a-z]*/models(/{_NAME})?"
_RELAYED: Mapping[Api, str] = {
    "anthropic": f"POST /v1/messages(/count_tokens)?|{_MODELS}",
    "openai": f"POST /v1/responses(/compact)?|{_MODELS}",
    "google": f"POST /v1[a-z]*/models/(?P<model>{_NAME}):(generateContent|streamGenerateContent|countTokens)|{_MODELS}",
}
_KEY_HEADERS: Mapping[Api, str] = {"anthropic": "x-api-key", "openai": "authorization", "google": "x-goog-api-key"}


class Refusal(Exception):
    """A request that is answered with an error of this status."""

    def __init__(self, status: int, reason: str) -> None:
        super().__init__(reason)
        self.status = status


class Upstream(Struct, frozen=True):
    """An API of models, and where it is."""

    api: Api
    url: str

    def key_header(self, key: str) -> tuple[bytes, bytes]:
        """The header with the key. ValueError, which does not show it, if no header can have it."""
        if not _WORD.fullmatch(key):
            raise ValueError(f"the key for {self.api} must be one word of ASCII characters")
        name = _KEY_HEADERS[self.api]
        return name.encode(), (f"Bearer {key}" if name == "authorization" else key).encode()

    def is_relayed(self, method: str, path: str) -> bool:
        """Whether it asks a model, or about models. The key may allow much more, such as reading files."""
        return re.fullmatch(_RELAYED[self.api], f"{method} {path}") is not None

    def model_of(self, path: str, body: Object) -> str:
        named = re.fullmatch(_RELAYED["google"], f"POST {path}") if self.api == "google" else None
        return named["model"] if named else str(body.get("model", ""))

    def error(self, status: int, message: str) -> bytes:
        """An error, in the words of the API."""
        if self.api == "google":
            name = "INVALID_ARGUMENT" if status < 500 else "UNAVAILABLE"
            return msgspec.json.encode({"error": {"code": status, "message": message, "status": name}})
        error = {"type": "invalid_request_error" if status < 500 else "api_error", "message": message}
        return msgspec.json.encode({"type": "error", "error": error})  # OpenAI has no `type`, and ignores it


def messages_of(body: Object) -> list[Any]:
    """The conversation in the body of a request."""
    found: Any = next((body[name] for name in ("messages", "input", "contents") if name in body), [])
    return found if isinstance(found, list) else [found]


def tool_results(messages: list[Any]) -> Iterator[tuple[str, Object, str]]:
    """The tool results of a conversation: the id of the call, or else its tool and text, and where the result is."""
    for message in (message for message in messages if isinstance(message, dict)):
        blocks = message.get("content") or message.get("parts")
        for block in [message, *(blocks if isinstance(blocks, list) else ())]:
            if not isinstance(block, dict):
                continue
            if response := object_at(block, "functionResponse"):
                call = response.get("id") or f"{response.get('name')} {response.get('response')}"
                yield str(call), response, "response"
            elif str(block.get("type")).endswith("_call_output"):
                yield str(block.get("call_id")), block, "output"
            elif call := block.get("tool_use_id"):
                yield str(call), block, "content"
