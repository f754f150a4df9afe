"""Streams of a run: its events by their numbers, and what its steps write from now on."""

from typing import Annotated

from fastapi import APIRouter, Depends, Query
from starlette.responses import Response

from pitstop.doors.http.answers import problem_responses
from pitstop.doors.http.routes.parameters import LastEventId, RunId, Who
from pitstop.doors.http.routes.route import api_router
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


async def _position(after: Number = None, last_event_id: LastEventId = None) -> int | None:
    """The number to continue after. A Last-Event-ID that is no number is from another stream, and says nothing."""
    text = (last_event_id or "").strip()
    return int(text) if text.isascii() and text.isdigit() and len(text) < 16 else after


Position = Annotated[int | None, Depends(_position)]


def routes(service: Service, streams: Streams) -> APIRouter:
    router = api_router("/runs/{run}", "events")

    @router.get(
        "/events",
        description="While workspace files are stored or restored for more than a second, `workspace.progress` events "
        "are sent, up to four per second and one at the end. They are not in the log and have no number.",
        response_class=Response,
        responses=streamed(_EVENTS),
    )
    async def follow_events(caller: Who, run: RunId, after: Position) -> Response:
        """Stream the events above a number, until the run ends."""
        found = await service.runs.get(caller, run)
        return streams.send(caller, streams.events.blocks(found, after or 0))

    @router.get(
        "/output",
        description="An event `lost` has the number of dropped chunks. `told` is sent when a step ends, after all its "
        "output, with the number of that event. `end` is sent when the run has ended.",
        response_class=Response,
        responses=streamed(_OUTPUT),
    )
    async def follow_output(caller: Who, run: RunId, after: Position) -> Response:
        """Stream the output of steps, from now on or after a number."""
        found = await service.runs.get(caller, run)
        return streams.send(caller, streams.output.blocks(found, after))

    return router


def streamed(example: str) -> dict[int | str, dict[str, object]]:
    content = {MEDIA_TYPE: {"schema": _EVENT, "example": example.lstrip()}}
    return {200: {"description": "Server-sent events.", "content": content}, **problem_responses(404, 429, 503)}
