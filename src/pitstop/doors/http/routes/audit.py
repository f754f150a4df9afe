"""Who did what to a run."""

from typing import Annotated

from fastapi import APIRouter, Query
from starlette.responses import Response

from pitstop.doors.http.answers import answer, problem_responses
from pitstop.doors.http.routes.parameters import Cursor, Plain
from pitstop.doors.http.routes.route import DoorRoute
from pitstop.service.audit import Audit, AuditPage


def routes(audit: Audit) -> APIRouter:
    router = APIRouter(tags=["access"], route_class=DoorRoute)

    @router.get(
        "/audit",
        operation_id="list_audit",
        summary="Audit log, newest first",
        response_model=AuditPage,
        responses=problem_responses(),
    )
    async def page(
        run: Plain = None, cursor: Cursor = None, limit: Annotated[int, Query(ge=1, le=1000)] = 100
    ) -> Response:
        return answer(await audit.page(run=run, cursor=cursor, limit=limit))

    return router
