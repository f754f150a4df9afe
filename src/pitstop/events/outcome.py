"""How an occurrence ended."""

import traceback
from enum import StrEnum
from typing import Any

import msgspec


class Status(StrEnum):
    """How an occurrence, or a run, ended."""

    PASSED = "passed"
    FAILED = "failed"
    SKIPPED = "skipped"
    CANCELLED = "cancelled"
    TIMED_OUT = "timed_out"

    @property
    def is_failure(self) -> bool:
        return self in FAILURES


FAILURES = (Status.FAILED, Status.TIMED_OUT)


class StepError(msgspec.Struct, frozen=True, gc=False):
    """Why an occurrence failed."""

    type: str  # the name of the exception's class
    message: str
    origin: str = ""  # the occurrence in which the failure began
    trace: str | None = None  # the traceback, if there was an exception

    def __str__(self) -> str:
        return f"{self.type}: {self.message}" if self.message else self.type


class Outcome(msgspec.Struct, frozen=True, gc=False):
    """How an occurrence ended. A failure is data too, not an exception."""

    status: Status
    outputs: Any = None  # for a node, the update it returned
    error: StepError | None = None
    paused_seconds: float = 0.0  # time spent at stops, which no timeout counts
    log: str | None = None  # the end of what it wrote, without secrets; only of a step whose log another step reads

    @property
    def is_failure(self) -> bool:
        """Whether it failed or timed out."""
        return self.status in FAILURES


def error_of(exception: BaseException, origin: str) -> StepError:
    """An exception as data; one whose text cannot be made is named all the same."""
    try:
        message = str(exception)
        trace = "".join(traceback.format_exception(exception, limit=-20))
    except Exception as unprintable:  # noqa: BLE001 - the user's code: its __str__ may do anything
        message = f"(not printable: {type(unprintable).__name__})"
        trace = None
    return StepError(type(exception).__name__, message, origin, trace)
