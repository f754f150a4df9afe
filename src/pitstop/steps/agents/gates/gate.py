"""What a gate is: it reads what an agent asks before a tool call, and answers when that is decided."""

from collections.abc import Mapping
from typing import Any, Protocol

from msgspec import Struct


class Asked(Struct, frozen=True):
    """A tool call that the agent asks about before it makes it."""

    call: str  # its id, as the CLI has it
    name: str
    input: Mapping[str, Any]
    parent: str | None = None  # the call of the subagent that makes it


class Allowed(Struct, frozen=True):
    """The call is made with this input."""

    input: Mapping[str, Any]


class Denied(Struct, frozen=True):
    """The call is not made, and the model is told this."""

    text: str


Decision = Allowed | Denied


class Decider(Protocol):
    """What decides about tool calls. Both methods wait as long as a call is held."""

    async def before(self, asked: Asked) -> Decision: ...

    async def after(self, call: str, output: str, *, ok: bool) -> str | None:
        """Returns the result that the model gets instead of the output; None leaves it as it is."""
        ...
