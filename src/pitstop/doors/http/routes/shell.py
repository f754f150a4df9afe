"""A shell in the browser, or any terminal: a token opens it once, a socket carries it."""

import asyncio
from typing import Annotated, Any

import msgspec
from fastapi import APIRouter, Query
from starlette.responses import Response
from starlette.websockets import WebSocket, WebSocketDisconnect

from pitstop.doors.http.answers import answer, problem_responses, refusal
from pitstop.doors.http.gate.limits import Places
from pitstop.doors.http.routes.parameters import RunId, Who
from pitstop.doors.http.routes.route import api_router
from pitstop.doors.http.routes.socket import GOING_AWAY, close_when
from pitstop.doors.http.streams.shell_sessions import ShellSession, ShellSessions, ShellTokens
from pitstop.doors.http.streams.streams import Streams
from pitstop.errors import PitstopError, StaleStop
from pitstop.service.caller import Caller
from pitstop.service.debugging import verbs
from pitstop.service.desks import Service
from pitstop.service.wire import ShellForm, ShellToken

HOW_TO_CONNECT = """\
Connect to `/api/v1/runs/{run}/shell?token=...&rows=24&cols=80` with a WebSocket. Binary frames are the terminal, both
ways. Text frames are controls: `{"resize": {"rows": 40, "cols": 120}}` changes its size, `{"close": true}` ends it. The
first frame is `{"session": id}`: use `?session=id` instead of the token to reconnect to the same shell.
"""
Size = Annotated[int, Query(ge=1, le=1000)]
Given = Annotated[str, Query(max_length=200)]


def routes(service: Service, streams: Streams, sessions: ShellSessions, places: Places) -> APIRouter:
    router = api_router("/runs/{run}", "shell")
    tokens = ShellTokens()

    @router.post(
        "/shell-tokens",
        description=HOW_TO_CONNECT,
        status_code=201,
        response_model=ShellToken,
        responses=problem_responses(404, 409, 429),
    )
    async def open_shell(caller: Who, run: RunId, form: ShellForm) -> Response:
        """Create a one-time token for a shell at a stop, or in a running step; valid for a minute."""
        state = await service.debugging.say(caller, run, verbs.State())
        if form.stop is not None and not any(each.id == form.stop for each in state.stops):
            raise StaleStop(form.stop)
        token, ends_at = tokens.make(run, form.place, form.mode, caller.name, form.record)
        return answer(ShellToken(token, ends_at), 201)

    @router.websocket("/shell")
    async def shell(
        socket: WebSocket, run: str, token: Given = "", session: Given = "", rows: Size = 24, cols: Size = 80
    ) -> None:
        caller: Caller = socket.state.caller
        try:
            with places.take(caller.name):
                if session:
                    found = sessions.find(session, run, caller.name)
                    found.resize(rows, cols)
                else:
                    ticket = tokens.take(token, run, caller.name)
                    found = await sessions.open(streams.tasks, service.workspaces, caller, ticket, rows, cols)
                with found.connected():
                    await socket.accept()
                    await _serve(socket, found, streams)
        except PitstopError as error:
            await socket.send_denial_response(refusal(error))

    return router


async def _serve(socket: WebSocket, session: ShellSession, streams: Streams) -> None:
    """Until the client leaves, which the shell survives for a while, or the shell ends."""

    async def show(data: bytes) -> None:
        try:
            await socket.send_bytes(data)
        except (WebSocketDisconnect, RuntimeError):
            session.detach(show)

    await socket.send_text(msgspec.json.encode({"session": session.id}).decode())
    async with asyncio.TaskGroup() as group:
        tasks = [
            group.create_task(_type(socket, session)),
            group.create_task(close_when(session.over, socket, 1000, "the shell has ended")),
            group.create_task(close_when(streams.closing, socket, GOING_AWAY, "the server is shutting down")),
        ]
        tasks[0].add_done_callback(lambda _: [task.cancel() for task in tasks[1:]])
        try:
            await session.attach(show)
            await asyncio.wait([tasks[0]])
        finally:
            session.detach(show)


async def _type(socket: WebSocket, session: ShellSession) -> None:
    while (message := await socket.receive())["type"] != "websocket.disconnect":
        if message.get("bytes") is not None:
            await session.type(message["bytes"])
        else:
            await _control(message.get("text") or "", session)


async def _control(text: str, session: ShellSession) -> None:
    """`{"resize": {"rows": 24, "cols": 80}}`, or `{"close": true}`; anything else says nothing to us."""
    try:
        told: Any = msgspec.json.decode(text, type=_Control)
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
        return
    if told.resize is not None:
        session.resize(told.resize.rows, told.resize.cols)
    if told.close:
        await session.close()


class _Resize(msgspec.Struct):
    rows: Annotated[int, msgspec.Meta(ge=1, le=1000)]
    cols: Annotated[int, msgspec.Meta(ge=1, le=1000)]


class _Control(msgspec.Struct):
    resize: _Resize | None = None
    close: bool = False
