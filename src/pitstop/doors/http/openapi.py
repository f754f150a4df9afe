"""The OpenAPI description: every route with its problems, and what answers always have said as always there.

`docs/reference/generate.py` writes it to a file, from which the web's types are made.
"""

import asyncio
import json
from collections.abc import Callable
from typing import Any

from fastapi import FastAPI, Request
from fastapi.openapi.utils import get_openapi
from starlette.responses import JSONResponse, Response

from pitstop.doors.http.routes.route import is_described
from pitstop.doors.http.routes.tokens import VERSION
from pitstop.doors.http.routes.verb_schemas import REF, answer_components, body_components
from pitstop.service.problems import MEDIA_TYPE

DESCRIPTION = """\
Runs and their debuggers. Errors are problem details (RFC 9457) with a stable `code`. A debugger command names the stop
it acts on; if that stop has ended, the response is 409 and nothing has changed.
"""
TAGS = {
    "runs": "Start, find, cancel and re-run runs.",
    "events": "Server-sent events: the events of a run, and the output of its steps.",
    "logs": "Logs, artifacts, test results and questions of steps.",
    "debug": "The debugger of a run: its state, and one route per verb.",
    "breakpoints": "Breakpoints of a run.",
    "looking": "Inspect a paused step.",
    "shell": "A terminal in the workspace of a paused step.",
    "flows": "List, read and validate flows.",
    "steps": "Step types, and the setup of the server's machine.",
    "secrets": "Secrets are write-only.",
    "access": "Identity, tokens and the audit log.",
}
_REQUESTS = ("Form", "Choice")  # their fields may be left out


def describe(app: FastAPI, make_twin: Callable[[], FastAPI]) -> None:
    """Let the app tell this description of itself, for which a twin of it is made that knows its answers' models."""

    def openapi() -> dict[str, Any]:
        if app.openapi_schema is None:
            token = is_described.set(True)
            try:
                app.openapi_schema = make_description(make_twin())
            finally:
                is_described.reset(token)
        return app.openapi_schema

    app.openapi = openapi  # type: ignore[method-assign]


async def answer_description(request: Request) -> Response:
    """The description, made in a thread: it takes a second, in which others are to be answered."""
    return JSONResponse(await asyncio.to_thread(request.app.openapi))


def make_description(app: FastAPI) -> dict[str, Any]:
    told = get_openapi(
        title="Pitstop",
        version=VERSION,
        description=DESCRIPTION,
        routes=app.routes,
        tags=[{"name": name, "description": text} for name, text in TAGS.items()],
    )
    for operation in (each for methods in told["paths"].values() for each in methods.values()):
        for status, response in operation["responses"].items():
            if int(status) >= 400:
                response["content"] = {MEDIA_TYPE: response["content"]["application/json"]}
    schemas: dict[str, Any] = answer_components() | told["components"]["schemas"] | body_components()
    schemas["DebugForm"]["properties"]["breakpoints"]["items"] = {"$ref": REF.format(name="BreakpointForm")}
    told["components"]["schemas"] = schemas
    for name, schema in schemas.items():
        if "properties" in schema and not name.endswith(_REQUESTS):
            schema["required"] = list(schema["properties"])
    for name in ("HTTPValidationError", "ValidationError"):
        schemas.pop(name, None)
    told["components"]["securitySchemes"] = {
        "token": {"type": "http", "scheme": "bearer"},
        "session": {"type": "apiKey", "in": "cookie", "name": "pitstop_session"},
    }
    told["security"] = [{"token": []}, {"session": []}]
    return told


def text_of(app: FastAPI) -> str:
    return json.dumps(app.openapi(), indent=1, sort_keys=True) + "\n"
