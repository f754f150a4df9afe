"""What goes over the wire but arguments: envelopes, the things in them, and the larger bodies."""

from collections.abc import Mapping
from typing import Any, Literal

import msgspec

Body = Mapping[str, Any]  # a body under the names of the protocol


class Message(msgspec.Struct, rename="camel", omit_defaults=True):
    """What goes out: a field that is at its default is not sent. Lists that are due have no default, nor do flags that
    clients read wrongly when they are missing.
    """


class Incoming(msgspec.Struct, rename="camel"):
    """What comes in: null is read as absent, and what is not known is passed over."""


# --- Envelopes -------------------------------------------------------------------------------------------------------


class Request(msgspec.Struct):
    seq: int
    type: str
    command: str
    arguments: msgspec.Raw = msgspec.Raw(b"{}")


class ReverseRequest(msgspec.Struct, tag_field="type", tag="request"):
    """What is asked of the client."""

    seq: int
    command: str
    arguments: Any


class ClientResponse(msgspec.Struct):
    """What the client answers."""

    request_seq: int
    success: bool
    message: str | None = None


class Response(msgspec.Struct, omit_defaults=True, tag_field="type", tag="response"):
    seq: int
    request_seq: int
    success: bool
    command: str
    message: str | None = None
    body: Any = None


class Event(msgspec.Struct, omit_defaults=True, tag_field="type", tag="event"):
    seq: int
    event: str
    body: Any = None


# --- Things ----------------------------------------------------------------------------------------------------------


class GivenSource(Incoming, kw_only=True):
    name: str | None = None
    path: str | None = None
    source_reference: int | None = None


class Source(Message, kw_only=True):
    name: str
    path: str | None = None
    source_reference: int = 0
    origin: str | None = None


class Breakpoint(Message, kw_only=True):
    id: int | None = None
    verified: bool
    message: str | None = None
    source: Source | None = None
    line: int | None = None
    column: int | None = None
    end_line: int | None = None
    end_column: int | None = None
    reason: Literal["pending", "failed"] | None = None


class Thread(Message, kw_only=True):
    id: int
    name: str


class StackFrame(Message, kw_only=True):
    id: int
    name: str
    source: Source | None = None
    line: int
    column: int
    end_line: int | None = None
    end_column: int | None = None
    can_restart: bool
    presentation_hint: Literal["normal", "label", "subtle"] | None = None


class Scope(Message, kw_only=True):
    name: str
    presentation_hint: str | None = None
    variables_reference: int
    named_variables: int | None = None
    indexed_variables: int | None = None
    expensive: bool


class PresentationHint(Message, kw_only=True):
    attributes: tuple[str, ...]


class Variable(Message, kw_only=True):
    name: str
    value: str
    type: str | None = None
    presentation_hint: PresentationHint | None = None
    evaluate_name: str | None = None
    variables_reference: int
    named_variables: int | None = None
    indexed_variables: int | None = None


class Target(Message, kw_only=True):
    """What a step can go into, or a place to go to."""

    id: int
    label: str
    line: int | None = None
    column: int | None = None


class CompletionItem(Message, kw_only=True):
    label: str
    detail: str | None = None
    type: str | None = None


# --- Answers ---------------------------------------------------------------------------------------------------------


class ValueSet(Message, kw_only=True):
    value: str
    type: str | None = None
    variables_reference: int = 0
    named_variables: int | None = None
    indexed_variables: int | None = None


class Evaluated(Message, kw_only=True):
    result: str
    type: str | None = None
    variables_reference: int
    named_variables: int | None = None
    indexed_variables: int | None = None


class ExceptionDetails(Message, kw_only=True):
    message: str
    type_name: str
    full_type_name: str
    stack_trace: str | None = None


class ExceptionInfo(Message, kw_only=True):
    exception_id: str
    description: str
    break_mode: str
    details: ExceptionDetails


# --- Events ----------------------------------------------------------------------------------------------------------


class StoppedEvent(Message, kw_only=True):
    reason: str
    description: str
    thread_id: int
    text: str | None = None
    all_threads_stopped: bool
    hit_breakpoint_ids: list[int]


class OutputEvent(Message, kw_only=True):
    category: Literal["console", "stdout", "stderr"]
    output: str
    source: Source | None = None
    line: int | None = None
