"""The feed: what happens to runs and repositories, as server-sent events."""

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from typing import Annotated, Any, cast

from fastapi import APIRouter, Query
from starlette.responses import Response

from pitstop.doors.http.answers import encode
from pitstop.doors.http.routes.events import Position, streamed
from pitstop.doors.http.routes.parameters import Who
from pitstop.doors.http.routes.route import api_router
from pitstop.doors.http.streams.streaming import HEARTBEAT, frame
from pitstop.doors.http.streams.streams import Streams
from pitstop.service.feed import RUNS, FeedDesk, News

Topics = Annotated[
    list[str],
    Query(max_length=50, description="`runs`, `repos`, `trials`, `repo:<name>`, or `card:<id>`.", examples=[["runs"]]),
]
HEARTBEAT_EVERY = 15  # quiet seconds
_EXAMPLE = """
id: 12
event: push.received
data: {"id":12,"at":1767225600.0,"topic":"repo:shop","kind":"push.received","body":{"push":3,"ref":"refs/heads/main"}}
"""


def routes(feed: FeedDesk, streams: Streams) -> APIRouter:
    router = api_router("/feed", "feed")

    @router.get("", response_class=Response, responses=streamed(_EXAMPLE))
    async def follow_feed(caller: Who, after: Position, topic: Topics = [RUNS]) -> Response:  # noqa: B006
        """Stream what happens to runs and repositories: from now on, or after a number."""
        return streams.send(caller, _blocks(feed.follow(caller, topic, after), streams))

    return router


async def _blocks(news: AsyncIterator[News | None], streams: Streams) -> AsyncGenerator[bytes, None]:
    """The news as events, with a heartbeat now and then, until the server ends."""
    quiet = 0
    async with aclosing(cast("AsyncGenerator[News | None, Any]", news)) as told:
        async for each in told:
            if each is not None:
                yield frame(encode(each), event=each.kind, id=each.id)
            elif quiet % HEARTBEAT_EVERY == HEARTBEAT_EVERY - 1:
                yield HEARTBEAT
            quiet = quiet + 1 if each is None else 0
            if streams.closing.is_set():
                return
