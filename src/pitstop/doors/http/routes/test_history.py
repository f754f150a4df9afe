"""Tests of a repository: what fails, what is flaky or slow, and the history of each test."""

from typing import Annotated

from fastapi import APIRouter, Query
from starlette.responses import Response

from pitstop.doors.http.answers import answer, problem_responses
from pitstop.doors.http.routes.parameters import PLAIN, Cursor, Plain, Ref, RepoId, Who
from pitstop.doors.http.routes.route import api_router
from pitstop.service.test_history import HistoryPage, StateFilter, TestHistory, TestPage, TestTotals

PageLimit = Annotated[int, Query(ge=1, le=500)]
Name = Annotated[str, Query(min_length=1, max_length=2000, pattern=PLAIN)]

_KNOWN = problem_responses(404)


def routes(tests: TestHistory) -> APIRouter:
    router = api_router("/repos/{repo}/tests", "tests")

    @router.get("", response_model=TestPage, responses=_KNOWN)
    async def list_repo_tests(
        caller: Who,
        repo: RepoId,
        ref: Ref = None,
        flow: Plain = None,
        state: StateFilter = "all",
        cursor: Cursor = None,
        limit: PageLimit = 100,
    ) -> Response:
        """List the tests of a branch: all, or those that fail, are flaky, or are slow."""
        asked = {"ref": ref, "flow": flow, "cursor": cursor}
        return answer(await tests.tests(caller, repo, state=state, limit=limit, **asked))

    @router.get("/history", response_model=HistoryPage, responses=_KNOWN)
    async def get_test_history(
        caller: Who,
        repo: RepoId,
        flow: Name,
        step: Name,
        case: Name,
        ref: Ref = None,
        cursor: Cursor = None,
        limit: PageLimit = 100,
    ) -> Response:
        """List the results of one test, newest first."""
        given = caller, repo, flow, step, case
        return answer(await tests.history(*given, ref=ref, cursor=cursor, limit=limit))

    @router.get("/trend", response_model=list[TestTotals], responses=_KNOWN)
    async def get_test_trend(caller: Who, repo: RepoId, flow: Name, ref: Ref = None, limit: PageLimit = 50) -> Response:
        """List the totals of the last runs of a flow, newest first."""
        return answer(await tests.trend(caller, repo, flow, ref=ref, limit=limit))

    return router
