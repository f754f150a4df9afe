"""`http`: a request, and what its answer must be like."""

import asyncio
import re
from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Self

import msgspec
from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from pitstop.definition.durations import format_duration
from pitstop.engine.frame import Activation
from pitstop.plan.values import as_json
from pitstop.steps.conditions import holds
from pitstop.steps.config import read_config
from pitstop.steps.failures import NoAnswer
from pitstop.steps.fields import Duration, StepConfig
from pitstop.steps.http_client import (
    Request,
    Response,
    checked_headers,
    checked_method,
    checked_url,
    make_request,
    send,
    without_credentials,
)
from pitstop.steps.polling import NotYet, plan_polling, poll
from pitstop.steps.workplace import Workplace

_MIB = 1024 * 1024
_CLASS_OF_STATUS = re.compile(r"[1-5]xx")
_SHOWN_CHARACTERS = 300


def _as_statuses(value: Any) -> tuple[str, ...]:
    """`200`, `2xx` or several of them, as texts of three characters."""
    texts = tuple(str(each).lower() for each in (value if isinstance(value, list | tuple) else (value,)))
    for text in texts:
        if not _CLASS_OF_STATUS.fullmatch(text) and not (text.isdigit() and 100 <= int(text) <= 599):
            raise ValueError("a status must be a number such as 200, or a class such as 2xx")
    return texts


class HttpConfig(StepConfig):
    url: Annotated[str, AfterValidator(checked_url)] = Field(
        description="URL of the request: `http://` or `https://`, host and path."
    )
    method: Annotated[str, AfterValidator(checked_method)] = Field(
        "GET", description="HTTP method, such as `GET` or `POST`."
    )
    headers: Annotated[dict[str, str], AfterValidator(checked_headers)] = Field({}, description="Request headers.")
    body: str | None = Field(None, description="Request body, as text.")
    json_body: Any = Field(None, alias="json", description="Request body, as a value to send as JSON.")
    status: Annotated[
        tuple[str, ...], BeforeValidator(_as_statuses, json_schema_input_type=int | str | list[int | str])
    ] = Field(("2xx",), description="Expected status: `200`, `2xx`, or a list.", min_length=1)
    expect_headers: dict[str, str] = Field(
        {}, description="Expected response headers, each with a text that it must contain."
    )
    check: str | None = Field(
        None,
        description="jq over `.status`, `.headers` and `.json` or `.body` that must be true, such as `.json.ready`.",
        json_schema_extra={"format": "jq"},
    )
    every: Duration | None = Field(None, description="Repeat the request, with this delay between attempts (1s).")
    within: Duration | None = Field(
        None,
        description="Repeat the request until the response is as expected or this timeout. "
        "Without `every` and `within` it is sent once.",
    )
    request_timeout: Duration = Field(30.0, description="Timeout of one request.", gt=0)
    body_limit: int = Field(
        _MIB,
        description="Maximum bytes of the response body to read; the rest is discarded.",
        ge=0,
        le=64 * _MIB,
    )
    verify: bool = Field(True, description="Whether to verify the server's certificate.")

    @model_validator(mode="after")
    def _has_one_body(self) -> Self:
        if self.body is not None and self.json_body is not None:
            raise ValueError("use either body or json")
        return self

    def to_request(self) -> Request:
        headers = dict(self.headers)
        body = None if self.body is None else self.body.encode(errors="surrogateescape")
        if self.json_body is not None:
            body = msgspec.json.encode(as_json(self.json_body))
            headers.setdefault("content-type", "application/json")
        return make_request(self.method, self.url, headers, body)


class HttpStep:
    """Outputs: `status`, `headers`, and `json`, or `body` if the response is not JSON."""

    name: ClassVar[str] = "http"
    summary: ClassVar[str] = "Send an HTTP request and check the response, now or within a timeout."
    shorthand_field: ClassVar[str | None] = "url"
    Config: ClassVar[type[HttpConfig]] = HttpConfig

    def __init__(self, workplace: Workplace) -> None:
        self._workplace = workplace

    async def act(self, activation: Activation, config: Mapping[str, Any]) -> dict[str, Any]:
        mask = self._workplace.mask
        form = read_config(self.name, HttpConfig, config, lambda text: mask(without_credentials(text)))
        request = form.to_request()

        async def attempt() -> dict[str, Any] | NotYet:
            try:
                answer = describe(await _send_in_time(request, form))
            except NoAnswer as error:
                return NotYet(mask(error.reason))
            problem = what_is_wrong(answer, form)
            if problem is None and form.check is not None:
                found = await holds(form.check, answer, activation.run.evaluator)
                problem = f"{form.check!r} is not true: {found.reason}" if isinstance(found, NotYet) else None
            return answer if problem is None else NotYet(mask(problem))

        polling = plan_polling(form.every, form.within, activation.step.timeout_seconds)
        answer = await poll(mask(f"{request.method} {request.shown_url}"), attempt, polling)
        masked: dict[str, Any] = self._workplace.masked(answer)
        return masked


async def _send_in_time(request: Request, form: HttpConfig) -> Response:
    try:
        async with asyncio.timeout(form.request_timeout):
            return await send(request, body_limit=form.body_limit, is_verified=form.verify)
    except TimeoutError as error:
        raise NoAnswer(f"no response within {format_duration(form.request_timeout)}") from error


def describe(response: Response) -> dict[str, Any]:
    """The answer as outputs, which is also what `check` sees."""
    answer: dict[str, Any] = {"status": response.status, "headers": dict(response.headers)}
    content_type = response.headers.get("content-type", "").lower()
    if response.is_cut:
        answer["truncated"] = True
    elif "json" in content_type:
        try:
            return {**answer, "json": as_json(msgspec.json.decode(response.body))}
        except (msgspec.MsgspecError, RecursionError):
            pass  # it says that it is JSON, and is not
    charset = re.search(r"charset=\"?([\w-]+)", content_type)
    try:
        answer["body"] = response.body.decode(charset[1] if charset else "utf-8", errors="replace")
    except LookupError:
        answer["body"] = response.body.decode(errors="replace")
    return answer


def what_is_wrong(answer: Mapping[str, Any], form: HttpConfig) -> str | None:
    """What about status or headers is not as it must be; None if all is."""
    status = str(answer["status"])
    if status not in form.status and f"{status[0]}xx" not in form.status:
        leads = f" to {answer['headers']['location']}" if "location" in answer["headers"] else ""
        return f"the status is {status}{leads}, not {' or '.join(form.status)}{_beginning_of_body(answer)}"
    for name, text in form.expect_headers.items():
        value = answer["headers"].get(name.lower())
        if value is None:
            return f"the response has no header {name!r}"
        if text not in value:
            return f"the header {name!r} is {value!r} and does not contain {text!r}"
    return None


def _beginning_of_body(answer: Mapping[str, Any]) -> str:
    body = answer.get("body") or answer.get("json")
    if not body:
        return ""
    text = body if isinstance(body, str) else msgspec.json.encode(body).decode()
    return f"; body: {text[:_SHOWN_CHARACTERS].strip()!r}"
