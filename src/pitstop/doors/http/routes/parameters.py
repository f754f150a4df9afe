"""Parameters that many routes take."""

import re
from typing import Annotated

from fastapi import Depends, Header, Path, Query, Request
from pydantic import AfterValidator

from pitstop.doors.http.routes.reading import invalid
from pitstop.service.caller import Caller
from pitstop.service.wire import of_file_system

PLAIN = r"^[^\x00-\x1f\x7f]*$"
RUN_ID_CHARACTERS = 100

RunId = Annotated[
    str, Path(max_length=RUN_ID_CHARACTERS, pattern=PLAIN, description="The run ID.", examples=["r-01hx"])
]
Occurrence = Annotated[str, Query(max_length=2000, pattern=PLAIN, description="One occurrence of a step.")]
After = Annotated[int, Query(ge=0, lt=2**53)]
Limit = Annotated[int, Query(ge=1, le=5000)]
Search = Annotated[str | None, Query(max_length=1000, pattern=PLAIN)]
Cursor = Annotated[str | None, Query(max_length=1000, pattern=PLAIN, description="`next` from the previous page.")]
Plain = Annotated[str | None, Query(max_length=1000, pattern=PLAIN)]
FlowName = Annotated[
    str, Path(min_length=1, max_length=1000, pattern=PLAIN, examples=["deploy"]), AfterValidator(of_file_system)
]
RepoId = Annotated[str, Path(max_length=64, pattern=PLAIN, description="The repository.", examples=["shop"])]
Ref = Annotated[
    str | None,
    Query(max_length=500, pattern=PLAIN, description="A branch, tag or commit; the default branch if omitted."),
]
IfMatch = Annotated[
    str | None,
    Header(alias="If-Match", max_length=200, description="The ETag of the resource; 412 if it has changed."),
]
IdempotencyKey = Annotated[
    str | None,
    Header(
        alias="Idempotency-Key",
        max_length=200,
        description="A repeated request with the same key acts once and gets the same response.",
    ),
]
LastEventId = Annotated[str | None, Header(alias="Last-Event-ID", max_length=40)]


def read_run_id(request: Request) -> str:
    """The run ID in the path of a request that FastAPI has not read; BadRequest."""
    run: str = request.path_params["run"]
    if len(run) > RUN_ID_CHARACTERS or re.fullmatch(PLAIN, run) is None:
        raise invalid(f"path.run: must have at most {RUN_ID_CHARACTERS} characters, and no control characters")
    return run


async def _caller(request: Request) -> Caller:
    caller: Caller = request.state.caller
    return caller


async def _run_id(request: Request) -> str | None:
    return getattr(request.state, "run_id", None)


Who = Annotated[Caller, Depends(_caller)]
ReservedRunId = Annotated[str | None, Depends(_run_id)]  # of a run to make, stored with the idempotency key
