"""The OpenAPI description: every route with its problems, and what answers always have said as always there.

`docs/reference/generate.py` writes it to a file, from which the web's types are made.
"""

import asyncio
import json
from inspect import cleandoc
from typing import Any

from fastapi import FastAPI, Request
from fastapi.openapi.utils import get_openapi
from fastapi.utils import deep_dict_update
from starlette.responses import JSONResponse, Response

from pitstop.doors.http.routes.route import DoorRoute
from pitstop.doors.http.routes.tokens import VERSION
from pitstop.doors.http.routes.verb_schemas import (
    REF,
    answer_components,
    answer_schema,
    body_components,
    describe_verb,
    json_content,
)
from pitstop.service.debugging import VERBS
from pitstop.service.wire import Problem

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


def describe(app: FastAPI) -> None:
    """Make this description the app's own."""

    def openapi() -> dict[str, Any]:
        if app.openapi_schema is None:
            app.openapi_schema = make_description(app)
        return app.openapi_schema

    app.openapi = openapi  # type: ignore[method-assign]


async def answer_description(request: Request) -> Response:
    """The description, made in a thread, so that other requests are answered meanwhile."""
    return JSONResponse(await asyncio.to_thread(request.app.openapi))


def make_description(app: FastAPI) -> dict[str, Any]:
    told = get_openapi(
        title="Pitstop",
        version=VERSION,
        description=DESCRIPTION,
        routes=app.routes,
        tags=[{"name": name, "description": text} for name, text in TAGS.items()],
    )
    answering = [route for route in app.routes if isinstance(route, DoorRoute) and route.answer]
    operations = {each["operationId"]: each for methods in told["paths"].values() for each in methods.values()}
    for route in answering:
        answer = json_content(answer_schema(route.answer))
        operations[route.unique_id]["responses"][str(route.status_code or 200)] |= answer
    for verb in VERBS.values():
        deep_dict_update(operations[verb.operation_id], describe_verb(verb))
    others = [Problem, *(route.answer for route in answering)]
    schemas: dict[str, Any] = answer_components(others) | told["components"]["schemas"] | body_components()
    schemas["DebugForm"]["properties"]["breakpoints"]["items"] = {"$ref": REF.format(name="BreakpointForm")}
    told["components"]["schemas"] = schemas
    for name, schema in schemas.items():
        if "description" in schema:
            schema["description"] = cleandoc(schema["description"])
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
