"""Whether the server lives, whether it can take requests, and its figures."""

from fastapi import APIRouter
from prometheus_client import CONTENT_TYPE_LATEST
from starlette.responses import PlainTextResponse, Response

from pitstop.doors.http.answers import refusal
from pitstop.doors.http.metrics import Metrics
from pitstop.errors import ServerTrouble
from pitstop.service.operations import Operations


def routes(operations: Operations, metrics: Metrics) -> APIRouter:
    router = APIRouter(include_in_schema=False)

    @router.get("/health")
    async def health() -> Response:
        return PlainTextResponse("alive\n")

    @router.get("/ready")
    async def ready() -> Response:
        trouble = await operations.trouble()
        return PlainTextResponse("ready\n") if trouble is None else refusal(ServerTrouble(trouble))

    @router.get("/metrics", name="metrics")
    async def figures() -> Response:
        return Response(metrics.text(await operations.figures()), media_type=CONTENT_TYPE_LATEST)

    return router
