"""Requests in, answers out: each has exactly one, whatever becomes of it."""

import asyncio
import sys
import traceback
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import msgspec

from pitstop.doors.dap.protocol.failures import ARGUMENTS_ID, BUG_ID, UNKNOWN_ID, RequestFailed, cancelled
from pitstop.doors.dap.protocol.messages import Body, ClientResponse, Incoming, Message, Request, Response
from pitstop.doors.dap.protocol.wire import BadFrame, read_frame
from pitstop.doors.dap.session.adapter import Adapter
from pitstop.errors import PitstopError

Handle = Callable[[Adapter, Any], Awaitable[Message | Body | None]]

_NOTHING, _NULL = msgspec.Raw(b"{}"), msgspec.Raw(b"null")  # a Raw never equals bytes
_REQUEST, _RESPONSE = msgspec.json.Decoder(Request), msgspec.json.Decoder(ClientResponse)
FIRST = ("initialize", "disconnect", "cancel")  # what can be asked before anything else


class Route(msgspec.Struct, frozen=True):
    """How a request is met. One that is met aside may take its time: others do not wait, and it can be cancelled.

    All others are met in the order in which they came, and nothing of the run is told until they are answered.
    """

    arguments: type[Incoming]
    handle: Handle
    is_aside: bool = False


Routes = Mapping[str, Route]


class Dispatcher:
    """Meets the requests of one client."""

    def __init__(self, adapter: Adapter, routes: Routes) -> None:
        self._adapter = adapter
        self._routes = routes
        self._decoders = {name: msgspec.json.Decoder(route.arguments) for name, route in routes.items()}

    async def serve(self, reader: asyncio.StreamReader) -> None:
        """Until the client has left, one way or the other."""
        while not self._adapter.is_left:
            try:
                frame = await read_frame(reader)
            except BadFrame as error:
                self._adapter.editor.say(f"invalid message: {error}", "stderr")
                continue
            except ConnectionError:
                return
            if frame is None:
                return
            try:
                request = _REQUEST.decode(frame)
                if request.type == "response":
                    self._adapter.editor.hear_response(_RESPONSE.decode(frame))
                    continue
            except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
                self._adapter.editor.say(f"invalid message: {error}", "stderr")
                continue
            if request.type == "request":
                await self._meet(request)

    async def _meet(self, request: Request) -> None:
        route = self._routes.get(request.command)
        if route is None:
            unknown = f"unknown request {request.command!r}"
            self._fail(request, RequestFailed(unknown, number=UNKNOWN_ID, show_user=False))
        elif not self._adapter.is_initialized and request.command not in FIRST:
            early = f"{request.command} was sent before initialize"
            self._fail(request, RequestFailed(early, number=ARGUMENTS_ID, show_user=False))
        elif route.is_aside:
            task = self._adapter.editor.spawn(self._answer(request, route), name=request.command)
            self._adapter.open_requests[request.seq] = task
            task.add_done_callback(lambda task: self._close(request, task))
        else:
            async with self._adapter.editor.turn:
                await self._answer(request, route)

    def _close(self, request: Request, task: "asyncio.Task[None]") -> None:
        self._adapter.open_requests.pop(request.seq, None)
        if task.cancelled():  # before it began: then nobody was there to answer
            self._fail(request, cancelled())

    async def _answer(self, request: Request, route: Route) -> None:
        try:
            arguments = self._decoders[request.command].decode(
                _NOTHING if request.arguments == _NULL else request.arguments
            )
            self._adapter.check_token(request.command, arguments)
            body = await route.handle(self._adapter, arguments)
        except asyncio.CancelledError:
            self._fail(request, cancelled())
        except RequestFailed as error:
            self._fail(request, error)
        except PitstopError as error:
            self._fail(request, RequestFailed(str(error)))
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
            invalid = f"invalid arguments for {request.command}: {error}"
            self._fail(request, RequestFailed(invalid, number=ARGUMENTS_ID))
        except Exception as error:
            traceback.print_exc(file=sys.stderr)
            bug = f"{request.command} failed: {type(error).__name__}: {error}"
            self._fail(request, RequestFailed(bug, number=BUG_ID))
        else:
            self._adapter.editor.answer(Response(0, request.seq, success=True, command=request.command, body=body))

    def _fail(self, request: Request, error: RequestFailed) -> None:
        body = {"error": {"id": error.number, "format": str(error), "showUser": error.show_user}}
        self._adapter.editor.answer(
            Response(0, request.seq, success=False, command=request.command, message=error.message, body=body)
        )
