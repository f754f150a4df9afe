"""Who did what to a run."""

from typing import Annotated

from fastapi import APIRouter, Query
from starlette.responses import Response

from pitstop.doors.http.answers import answer
from pitstop.doors.http.routes.parameters import Cursor, Plain
from pitstop.doors.http.routes.route import api_router
from pitstop.service.audit import Audit, AuditPage


def routes(audit: Audit) -> APIRouter:
    router = api_router("", "access")

    @router.get("/audit", response_model=AuditPage)
    async def list_audit(
        run: Plain = None, cursor: Cursor = None, limit: Annotated[int, Query(ge=1, le=1000)] = 100
    ) -> Response:
        """Audit log, newest first."""
        return answer(await audit.page(run=run, cursor=cursor, limit=limit))

    return router
