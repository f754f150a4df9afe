"""A model on loopback that answers from a script, so that a real agent CLI runs without a model."""

import asyncio
import json
from collections.abc import Awaitable, Callable, Iterable, Mapping
from contextlib import AsyncExitStack
from typing import Any, Self
from urllib.parse import unquote

import uvicorn
from msgspec import Struct
from msgspec.structs import replace
from uvicorn.server import ServerState

from tests.agents.model_apis import APIS, ApiName, Call, Json, Turn, api_of, has_tools, tool_results
from tests.patience import wait_until

__all__ = ["Call", "ModelRequest", "ModelServer", "Turn"]

Receive = Callable[[], Awaitable[Json]]
Send = Callable[[Json], Awaitable[None]]


class ModelRequest(Struct, frozen=True):
    """What a CLI asked. A side request, such as one for a title, has no tools and takes no turn."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: Json
    api: ApiName | None = None
    is_side: bool = False

    @property
    def results(self) -> dict[str, str]:
        """What the model is told of its calls, by the id of the call."""
        return dict(tool_results(self.body))

    @property
    def model(self) -> str:
        """The name of the model, which Google has in the path."""
        return str(self.body.get("model") or self.path.rpartition("/")[2].partition(":")[0])

    @property
    def is_streamed(self) -> bool:
        return bool(self.body.get("stream")) or self.path.endswith(":streamGenerateContent")


class ModelServer:
    """Answers the turns of a script in order while it is entered, and stores each request."""

    def __init__(self, turns: Iterable[Turn]) -> None:
        self.remaining = list(turns)
        self.url = ""
        self.all_requests: list[ModelRequest] = []
        self.input_tokens = 0
        self.output_tokens = 0
        self.asked = asyncio.Event()  # set at each request that takes a turn
        self._calls = 0
        self._stack = AsyncExitStack()

    @property
    def requests(self) -> list[ModelRequest]:
        """The requests that took a turn."""
        return [request for request in self.all_requests if request.api and not request.is_side]

    async def __aenter__(self) -> Self:
        config = uvicorn.Config(self._serve, http="httptools", interface="asgi3", lifespan="off", log_config=None)
        config.load()
        state = ServerState()

        def connect() -> asyncio.Protocol:
            protocol: Any = config.http_protocol_class  # its type says nothing of its arguments
            made: asyncio.Protocol = protocol(config=config, server_state=state, app_state={})
            return made

        listening = await asyncio.get_running_loop().create_server(connect, "127.0.0.1", 0)
        self.url = f"http://127.0.0.1:{listening.sockets[0].getsockname()[1]}"
        self._stack.push_async_callback(_close, listening, state)
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._stack.aclose()

    async def _serve(self, scope: Json, receive: Receive, send: Send) -> None:
        request = _read(scope, await _whole_body(receive))
        self.all_requests.append(request)
        if request.api is None:
            known = _KNOWN_ANSWERS.get(request.path.rpartition("/")[2].rpartition(":")[2])
            await _send_json(send, 200 if known else 404, known or {"error": {"message": "not found"}})
        elif request.is_side:
            await self._answer(request, Turn("{}" if _wants_json(request.body) else "Scripted"), send)
        else:
            self.asked.set()
            await self._answer(request, self._next_turn(request), send)

    async def _answer(self, request: ModelRequest, turn: Turn, send: Send) -> None:
        api = APIS[request.api or "anthropic"]
        if turn.status != 200:
            await _send_json(send, turn.status, api.error(turn.status, turn.text))
            return
        self.input_tokens += turn.input_tokens
        self.output_tokens += turn.output_tokens
        events = api.events(turn, request.model)
        if not request.is_streamed:
            await _send_json(send, 200, api.whole(events))
            return
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-type", b"text/event-stream")]})
        await send(_piece(events[0]))
        if turn.until is not None:
            await turn.until.wait()
        for event in events[1:]:
            await send(_piece(event))
        await send({"type": "http.response.body", "body": b""})

    def _next_turn(self, request: ModelRequest) -> Turn:
        text = json.dumps(request.body, ensure_ascii=False)
        turn = next((turn for turn in self.remaining if turn.to in text), None)
        if turn is None:
            return Turn("the script has no turn left", status=400)  # a status that no CLI tries again
        self.remaining.remove(turn)
        return replace(turn, calls=[self._with_id(call) for call in turn.calls])

    def _with_id(self, call: Call) -> Call:
        self._calls += 1
        return call if call.call else replace(call, call=f"call_{self._calls}")


_KNOWN_ANSWERS: Mapping[str, Json] = {
    "count_tokens": {"input_tokens": 100},
    "countTokens": {"totalTokens": 100},
    "models": {"object": "list", "data": [], "models": []},
}


async def _whole_body(receive: Receive) -> bytes:
    body = bytearray()
    while (message := await receive())["type"] == "http.request":
        body += message["body"]
        if not message["more_body"]:
            break
    return bytes(body)


def _read(scope: Json, raw: bytes) -> ModelRequest:
    path = unquote(scope["path"])
    api = api_of(path) if scope["method"] == "POST" else None
    body = json.loads(raw) if api is not None else {}
    headers = {name.decode().lower(): value.decode() for name, value in scope["headers"]}
    return ModelRequest(scope["method"], path, headers, body, api, api is not None and not has_tools(body))


def _wants_json(body: Json) -> bool:
    return "application/json" in json.dumps(body.get("generationConfig", {})) or "output_config" in body


def _piece(event: Json) -> Json:
    name = f"event: {event['type']}\n" if "type" in event else ""
    return {"type": "http.response.body", "body": f"{name}data: {json.dumps(event)}\n\n".encode(), "more_body": True}


async def _send_json(send: Send, status: int, body: Json) -> None:
    headers = [(b"content-type", b"application/json")]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": json.dumps(body).encode()})


async def _close(listening: asyncio.Server, state: ServerState) -> None:
    listening.close()
    for task in list(state.tasks):
        task.cancel()
    for connection in list(state.connections):
        connection.shutdown()
    await wait_until(lambda: not state.connections and not state.tasks, "a request to the model does not end")
    await listening.wait_closed()
