"""Streams of a run: its events by their numbers, and what its steps write from now on."""

from typing import Annotated

from fastapi import APIRouter, Query, Request
from starlette.responses import Response

from pitstop.doors.http.answers import problem_responses
from pitstop.doors.http.routes.parameters import LastEventId, RunId, Who
from pitstop.doors.http.routes.route import DoorRoute
from pitstop.doors.http.streams.streaming import MEDIA_TYPE
from pitstop.doors.http.streams.streams import Streams
from pitstop.service.desks import Service

_EVENTS = """
id: 4
event: step.started
data: {"schema":1,"number":4,"kind":"step.started","at":1767225600.0,"frame":"main","step":"build","occurrence":"build"}

event: workspace.progress
data: {"schema":1,"kind":"workspace.progress","at":1767225602.5,"doing":"keeping","files":12,"bytes":3000,\
"of_files":50,"of_bytes":20000,"text":"storing the workspace files: 12 of 50 files, 3 of 20 kB","is_over":false}

event: end
data: {}
"""
_OUTPUT = """
id: 7
data: [{"occurrence":"build","stream":"stdout","time":1767225600.0,"text":"compiling\\n"}]
"""

_EVENT = {"type": "object", "properties": {name: {"type": "string"} for name in ("id", "event", "data")}}

Number = Annotated[int | None, Query(ge=0, lt=2**53)]


def routes(service: Service, streams: Streams) -> APIRouter:
    router = APIRouter(prefix="/runs/{run}", tags=["events"], route_class=DoorRoute)

    @router.get(
        "/events",
        operation_id="follow_events",
        summary="Stream the events above a number, until the run ends",
        description="While workspace files are stored or restored for more than a second, `workspace.progress` events "
        "are sent, up to four per second and one at the end. They are not in the log and have no number.",
        response_class=Response,
        responses=_streamed(_EVENTS),
    )
    async def events(
        caller: Who, request: Request, run: RunId, after: Number = None, last_event_id: LastEventId = None
    ) -> Response:
        found = await service.runs.get(caller, run)
        number = _number(last_event_id)
        return streams.send(request, streams.events.blocks(found, (after or 0) if number is None else number))

    @router.get(
        "/output",
        operation_id="follow_output",
        summary="Stream the output of steps, from now on or after a number",
        description="An event `lost` has the number of dropped chunks. `told` is sent when a step ends, after all its "
        "output, with the number of that event. `end` is sent when the run has ended.",
        response_class=Response,
        responses=_streamed(_OUTPUT),
    )
    async def output(
        caller: Who, request: Request, run: RunId, after: Number = None, last_event_id: LastEventId = None
    ) -> Response:
        found = await service.runs.get(caller, run)
        number = _number(last_event_id)
        return streams.send(request, streams.output.blocks(found, after if number is None else number))

    return router


def _streamed(example: str) -> dict[int | str, dict[str, object]]:
    content = {MEDIA_TYPE: {"schema": _EVENT, "example": example.lstrip()}}
    return {200: {"description": "Server-sent events.", "content": content}, **problem_responses(404, 429, 503)}


def _number(last_event_id: str | None) -> int | None:
    """The number in a Last-Event-ID header; one that is none is from another stream, and says nothing."""
    text = (last_event_id or "").strip()
    return int(text) if text.isascii() and text.isdigit() and len(text) < 16 else None
