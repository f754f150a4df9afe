"""The verbs of the debugger in the API description. The schema of a body is named after its request: `StepForm`."""

from collections.abc import Iterable
from typing import Any

import msgspec

from pitstop.doors.http.routes.parameters import PLAIN, RUN_ID_CHARACTERS
from pitstop.service.debugging import VERBS, DebugState, Request, Verb
from pitstop.service.runs import BreakpointRequest

REF = "#/components/schemas/{name}"
IF_MATCH = ("If-Match", "The ETag of the resource; 412 if it has changed.")
IF_NONE_MATCH = ("If-None-Match", "The ETag of the last response; 304 if nothing has changed.")
IDEMPOTENCY_KEY = (
    "Idempotency-Key",
    "A repeated request with the same key acts once and gets the same response.",
)
_RUN = {
    "name": "run",
    "in": "path",
    "required": True,
    "description": "The run ID.",
    "schema": {"type": "string", "maxLength": RUN_ID_CHARACTERS, "pattern": PLAIN, "examples": ["r-01hx"]},
}


def is_about_breakpoints(verb: Verb) -> bool:
    return verb.place.startswith("breakpoints")


def status_of(verb: Verb) -> int:
    return 204 if verb.method == "DELETE" else 201 if verb.name == "add_breakpoint" else 200


def describe_verb(verb: Verb) -> dict[str, Any]:
    """Parameters, body and answer of a verb's route."""
    schema = _schema_of(verb.request)
    has_body = verb.method not in ("GET", "DELETE")
    parameters = [_RUN, *(_parameter(schema, name, "path") for name in verb.path_fields)]
    if not has_body:
        parameters += [
            _parameter(schema, name, "query") for name in schema["properties"] if name not in verb.path_fields
        ]
    headers = _headers_of(verb)
    parameters += [_header(*each) for each in headers]
    described: dict[str, Any] = {"parameters": parameters, "responses": {}}
    if has_body:
        body = {"$ref": REF.format(name=form_name(verb.request)), "examples": [verb.example]}
        described["requestBody"] = {"content": {"application/json": {"schema": body}}, "required": True}
    elif "description" in schema:
        described["description"] = schema["description"]
    if verb.method != "DELETE":
        described["responses"][str(status_of(verb))] = json_content(answer_schema(verb.answer or DebugState))
    if IF_NONE_MATCH in headers:
        described["responses"]["304"] = {"description": "Not modified."}
    return described


def json_content(schema: dict[str, Any]) -> dict[str, Any]:
    return {"content": {"application/json": {"schema": schema}}}


def answer_schema(kind: Any) -> dict[str, Any]:
    ((schema,), _) = msgspec.json.schema_components([kind], ref_template=REF)
    return schema


def form_name(request: type[Request[Any]]) -> str:
    return request.__name__.removesuffix("Request") + "Form"


def answer_components(others: Iterable[Any]) -> dict[str, Any]:
    """The schemas of all answers, of verbs and others, and of what they contain."""
    kinds = [DebugState, BreakpointRequest, *(verb.answer for verb in VERBS.values() if verb.answer is not None)]
    return msgspec.json.schema_components([*kinds, *others], ref_template=REF)[1]


def body_components() -> dict[str, Any]:
    """The schemas of all bodies, without what is in the path."""
    return {
        form_name(verb.request): _without(_schema_of(verb.request), verb.path_fields)
        for verb in VERBS.values()
        if verb.method not in ("GET", "DELETE")
    }


def _schema_of(request: type[Request[Any]]) -> dict[str, Any]:
    schema: dict[str, Any] = msgspec.json.schema(request)["$defs"][request.__name__]
    return schema


def _without(schema: dict[str, Any], names: Iterable[str]) -> dict[str, Any]:
    properties = {name: each for name, each in schema["properties"].items() if name not in names}
    required = [name for name in schema["required"] if name not in names]
    return {**schema, "properties": properties, "required": required}


def _parameter(schema: dict[str, Any], name: str, place: str) -> dict[str, Any]:
    return {"name": name, "in": place, "required": name in schema["required"], "schema": schema["properties"][name]}


def _headers_of(verb: Verb) -> list[tuple[str, str]]:
    headers = [IF_MATCH] if verb.changes and is_about_breakpoints(verb) else []
    headers += [IDEMPOTENCY_KEY] if verb.method == "POST" else []
    return headers + ([IF_NONE_MATCH] if verb.name in ("state", "breakpoints") else [])


def _header(name: str, text: str) -> dict[str, Any]:
    schema = {"anyOf": [{"type": "string", "maxLength": 200}, {"type": "null"}]}
    return {"name": name, "in": "header", "required": False, "description": text, "schema": schema}
