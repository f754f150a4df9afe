"""One socket for a debugger: commands in, their results and the events of the run out."""

import asyncio
import json
from contextlib import suppress
from typing import Annotated, Any

from fastapi import APIRouter, Query
from starlette.websockets import WebSocket, WebSocketDisconnect

from pitstop.doors.http.answers import BUG, LOGGER, encode, refusal
from pitstop.doors.http.gate.limits import Limits, Places
from pitstop.doors.http.routes.debug import say
from pitstop.doors.http.routes.reading import read_value
from pitstop.doors.http.routes.route import API, parse_json
from pitstop.doors.http.streams.streams import Streams
from pitstop.errors import BadRequest, PitstopError
from pitstop.service.caller import Caller
from pitstop.service.debugging import VERBS, Debugger
from pitstop.service.desks import Service
from pitstop.service.problems import to_problem
from pitstop.service.runs import ActiveRun

GOING_AWAY = 1012


def routes(service: Service, streams: Streams, places: Places, limits: Limits) -> APIRouter:
    router = APIRouter(prefix=API)

    @router.websocket("/runs/{run}/debug/socket")
    async def debug(socket: WebSocket, run: str, after: Annotated[int | None, Query(ge=0, lt=2**53)] = None) -> None:
        caller: Caller = socket.state.caller
        try:
            found = await service.runs.get(caller, run)
            if after is None:  # known before the client can say anything: all that comes of it is told
                after = (await found.info()).last_event
            with places.take(caller.name):
                await socket.accept()
                debugger = Debugger(service.debugging, caller, run)
                await _serve(socket, Messages(found, debugger, limits, socket), streams, after)
        except PitstopError as error:
            await socket.send_denial_response(refusal(error))

    return router


class Messages:
    """Answers the messages of one client."""

    def __init__(self, run: ActiveRun, debugger: Debugger, limits: Limits, socket: WebSocket) -> None:
        self.run = run
        self._debugger = debugger
        self._limits = limits
        self._socket = socket

    async def answer(self, text: str) -> bytes:
        """`{id, result}`, or `{id, problem}`."""
        number: Any = None
        try:
            message = _message(text)
            number = message.pop("id", None)
            return encode({"id": number, "result": await self._carry_out(message)})
        except PitstopError as error:
            return encode({"id": number, "problem": to_problem(error)})
        except Exception as error:
            LOGGER.error("internal error in a message", exc_info=error)
            return encode({"id": number, "problem": BUG})

    async def _carry_out(self, message: dict[str, Any]) -> Any:
        name = message.pop("verb", None)
        verb = VERBS.get(name) if isinstance(name, str) else None
        if verb is None:
            raise BadRequest(f"unknown verb {name!r}; available: {', '.join(VERBS)}")
        return await say(self._debugger, read_value(message, verb.request, name), self._limits, self._socket)


def _message(text: str) -> dict[str, Any]:
    try:
        message = parse_json(text.encode())
    except (json.JSONDecodeError, UnicodeEncodeError) as error:
        raise BadRequest(f"invalid JSON: {error}") from None
    if not isinstance(message, dict):
        raise BadRequest('a message must be an object: {"id": 1, "verb": "state"}')
    return message


async def _serve(socket: WebSocket, messages: Messages, streams: Streams, after: int) -> None:
    """Until the client leaves, or the server ends. Messages are answered one after the other, in their order."""
    async with asyncio.TaskGroup() as group:
        tasks = [
            group.create_task(_answer_messages(socket, messages)),
            group.create_task(_tell_events(socket, messages.run, streams, after)),
            group.create_task(close_when(streams.closing, socket, GOING_AWAY, "the server is shutting down")),
        ]
        tasks[0].add_done_callback(lambda _: [task.cancel() for task in tasks[1:]])


async def _answer_messages(socket: WebSocket, messages: Messages) -> None:
    try:
        while True:
            message = await socket.receive()
            if message["type"] == "websocket.disconnect":
                return
            text = message.get("text")
            await _send(
                socket, await messages.answer(message["bytes"].decode(errors="replace") if text is None else text)
            )
    except (WebSocketDisconnect, RuntimeError):
        return  # it left while it was answered


async def _tell_events(socket: WebSocket, run: ActiveRun, streams: Streams, after: int) -> None:
    async with streams.events.feed(run) as feed:
        async for block in feed.follow(after):
            for event in block.events if block is not None else ():
                await _send(socket, b'{"event":%s}' % event.json)


async def close_when(event: asyncio.Event, socket: WebSocket, code: int, reason: str) -> None:
    await event.wait()
    with suppress(WebSocketDisconnect, RuntimeError):  # the client has left by itself, or is let go already
        await socket.close(code, reason)


async def _send(socket: WebSocket, data: bytes) -> None:
    try:
        await socket.send_text(data.decode())
    except (WebSocketDisconnect, RuntimeError):
        return  # gone: reading from it reports that
