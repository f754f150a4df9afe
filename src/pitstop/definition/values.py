"""Values that a plan takes over from a definition as they are."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Literal

from msgspec import Struct

InputType = Literal["string", "number", "boolean", "array", "object"]  # jq's words, for jq is what sees the values
Effects = Literal["workspace", "external"]
OnInterrupt = Literal["repeat", "fail", "pause"]
Workspace = Literal["keep", "fresh"]
Choose = Callable[[dict[str, Any]], Any | Awaitable[Any]]
Reducer = Callable[[Any, Any], Any]


class Source(Struct, frozen=True):
    """Where in a file something was written; lines and columns count from 1."""

    file: str
    line: int
    column: int = 1
    end_line: int | None = None

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}"


class Retry(Struct, frozen=True):
    """How often a failed step is tried again, and how long to wait before each time."""

    times: int = 0
    delay_seconds: float = 0.0
    backoff: float = 1.0

    def delay_after(self, attempt: int) -> float | None:
        """Seconds to wait after this failed attempt; None to give up."""
        return None if attempt > self.times else self.delay_seconds * self.backoff ** (attempt - 1)


NO_RETRY = Retry()


class Router(Struct, frozen=True):
    """A conditional edge: `choose` sees the state and names what comes next."""

    choose: Choose
    targets: Mapping[Any, str] | None = None  # what choose may say -> the node; None if it was not declared


def type_of(value: object) -> InputType | None:
    """jq's word for the type of a value; None for null."""
    match value:
        case bool():
            return "boolean"
        case int() | float():
            return "number"
        case str():
            return "string"
        case list() | tuple():
            return "array"
        case Mapping():
            return "object"
    return None
