"""What steps wrote and handed on: log lines, downloads, artifacts, test reports, and questions to people."""

import os
import re
from collections.abc import AsyncIterator
from typing import Annotated, Any
from urllib.parse import quote

from fastapi import APIRouter, Path, Query
from msgspec.structs import replace
from pydantic import AfterValidator
from starlette.convertors import PathConvertor, register_url_convertor
from starlette.responses import Response, StreamingResponse

from pitstop.doors.http.answers import answer, problem_responses
from pitstop.doors.http.gate.limits import Limits
from pitstop.doors.http.routes.parameters import After, IdempotencyKey, Limit, Occurrence, RunId, Search, Who
from pitstop.doors.http.routes.route import api_router
from pitstop.errors import UnknownArtifact, UnknownRepo
from pitstop.service.caller import Caller
from pitstop.service.desks import Service
from pitstop.service.runs import ActiveRun, ArtifactInfo, LogPage, Question, TestCase, TestComparison, TestedRun
from pitstop.service.wire import AnswerForm, of_file_system

_BYTES: dict[int | str, dict[str, Any]] = {
    200: {"description": "The bytes.", "content": {"application/octet-stream": {}}}
}


class _AnyPath(PathConvertor):
    """A path in which a name may have a line break."""

    regex = "(?s:.*)"


register_url_convertor("any_path", _AnyPath())


def routes(service: Service, limits: Limits) -> APIRouter:
    router = api_router("/runs/{run}", "logs")
    known = problem_responses(404)

    @router.get(
        "/log",
        description="A page may have fewer lines than requested if they are long; continue with `next`.",
        response_model=LogPage,
        responses=known,
    )
    async def get_log(
        caller: Who,
        run: RunId,
        occurrence: Occurrence,
        after: After = 0,
        limit: Limit = 1000,
        search: Search = None,
    ) -> Response:
        """Page of a step's log."""
        page = await (await service.runs.get(caller, run)).log(occurrence, after=after, limit=limit, search=search)
        return answer(cut_page(page, limits.page_bytes))

    @router.get("/log/tail", response_model=list[str], responses=known)
    async def get_log_tail(
        caller: Who, run: RunId, occurrence: Occurrence, lines: Annotated[int, Query(ge=1, le=1000)] = 20
    ) -> Response:
        """Last lines of a step's log, without escape sequences."""
        return answer(await (await service.runs.get(caller, run)).log_tail(occurrence, lines))

    @router.get(
        "/log/download",
        response_class=Response,
        responses={200: {"description": "The bytes.", "content": {"text/plain; charset=utf-8": {}}}, **known},
    )
    async def download_log(caller: Who, run: RunId, occurrence: Occurrence) -> Response:
        """Download a step's log."""
        found = await service.runs.get(caller, run)
        return await _download(found.log_bytes(occurrence), f"{run}-{occurrence}.log", "text/plain; charset=utf-8")

    @router.get("/artifacts", response_model=list[ArtifactInfo], responses=known)
    async def list_artifacts(caller: Who, run: RunId) -> Response:
        """List the artifacts."""
        found = await (await service.runs.get(caller, run)).artifacts()
        return answer([replace(each, path=_as_text(each.path)) for each in found])

    @router.get("/artifacts/{path:any_path}", response_class=Response, responses={**_BYTES, **known})
    async def get_artifact(
        caller: Who, run: RunId, path: Annotated[str, Path(max_length=4096), AfterValidator(of_file_system)]
    ) -> Response:
        """Download an artifact."""
        found = await service.runs.get(caller, run)
        if path.startswith("/") or "\0" in path or {"..", "."} & set(path.split("/")):
            raise UnknownArtifact(path)
        if "\\x" in path:
            path = next((each.path for each in await found.artifacts() if _as_text(each.path) == path), path)
        name = _as_text(path).rpartition("/")[2]
        return await _download(found.artifact(path), name, "application/octet-stream")

    @router.get("/tests", response_model=list[TestCase], responses=known)
    async def list_tests(caller: Who, run: RunId) -> Response:
        """Tests that failed or changed, compared with the previous run."""
        found = await service.runs.get(caller, run)
        return answer(await found.tests(await default_branch_of(service, caller, found)))

    @router.get("/tests/comparison", response_model=TestComparison, responses=known)
    async def get_test_comparison(caller: Who, run: RunId) -> Response:
        """Tests that failed or changed, and the run that they are compared with."""
        found = await service.runs.get(caller, run)
        return answer(await found.test_comparison(await default_branch_of(service, caller, found)))

    @router.get("/tests/history", response_model=list[TestedRun], responses=known)
    async def list_test_history(caller: Who, run: RunId, limit: Annotated[int, Query(ge=1, le=50)] = 20) -> Response:
        """Test history: this run and earlier runs of its flow, newest first."""
        return answer(await (await service.runs.get(caller, run)).test_history(limit))

    @router.get("/questions", response_model=list[Question], responses=known)
    async def list_questions(caller: Who, run: RunId) -> Response:
        """List the open questions of steps."""
        return answer(await (await service.runs.get(caller, run)).questions())

    @router.post("/questions/{occurrence:path}", status_code=204, responses=problem_responses(404, 409))
    async def answer_question(
        caller: Who, run: RunId, occurrence: str, form: AnswerForm, key: IdempotencyKey = None
    ) -> Response:
        """Answer a question."""
        by = form.by or caller.name
        await service.runs.answer(caller, run, occurrence, approved=form.approved, by=by, comment=form.comment)
        return Response(status_code=204)

    return router


def _as_text(path: str) -> str:
    """The path with bytes that are not UTF-8 written as escapes: JSON cannot carry them."""
    return os.fsencode(path).decode(errors="backslashreplace")


def cut_page(page: LogPage, most_bytes: int) -> LogPage:
    """The page with as many of its lines as may be sent at once; the others come with the next."""
    size = 0
    for index, line in enumerate(page.lines):
        size += 4 * len(line.text) if not line.text.isascii() else len(line.text)
        if size > most_bytes and index:
            lines = page.lines[:index]
            return replace(page, lines=lines, next=lines[-1].number)
    return page


async def _download(blocks: AsyncIterator[bytes], name: str, media_type: str) -> Response:
    """A file to keep. The first block is read before anything is answered: what is not there can still be refused."""
    first = await anext(aiter(blocks), b"")

    async def whole() -> AsyncIterator[bytes]:
        yield first
        async for block in blocks:
            yield block

    plain = re.sub(r"[^A-Za-z0-9._-]+", "_", name) or "download"
    disposition = f"attachment; filename=\"{plain}\"; filename*=UTF-8''{quote(name, safe='')}"
    headers = {"Content-Disposition": disposition, "Content-Security-Policy": "sandbox; default-src 'none'"}
    return StreamingResponse(whole(), 200, headers, media_type)


async def default_branch_of(service: Service, caller: Caller, run: ActiveRun) -> str | None:
    """The default branch of the repository that a run is of, as far as there is one."""
    repo = (await run.info()).repo
    if repo is None or service.repos is None:
        return None
    try:
        return (await service.repos.get(caller, repo)).default_branch
    except UnknownRepo:
        return None
