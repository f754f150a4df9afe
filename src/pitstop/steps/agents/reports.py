"""What an agent reports while it works, whichever CLI it is."""

from collections.abc import Mapping
from typing import Any, Literal

from msgspec import Struct, field

ToolClass = Literal["read", "edit", "shell", "search", "web", "mcp", "task", "other"]
EndStatus = Literal["passed", "failed"]


class Tokens(Struct, frozen=True, rename={"input": "in", "output": "out"}):
    """Tokens of the model. `cached` are those of `input` that came from a cache."""

    input: int = 0
    output: int = 0
    cached: int = 0

    def __add__(self, other: "Tokens") -> "Tokens":
        return Tokens(self.input + other.input, self.output + other.output, self.cached + other.cached)


class Began(Struct, frozen=True):
    """The agent began a session with a model."""

    session: str | None = None
    model: str | None = None


class Said(Struct, frozen=True):
    """A whole text of the agent. `parent` is the call of the subagent that said it."""

    text: str
    parent: str | None = None


class Typed(Struct, frozen=True):
    """A piece of a text that is still being written; `Said` has all of it later."""

    text: str


class Called(Struct, frozen=True):
    """A tool call. `call` is the id that the CLI gave it; `parent` the call of the subagent that makes it."""

    call: str
    name: str  # of the tool, as the CLI has it
    tool: ToolClass
    input: Mapping[str, Any] = field(default_factory=dict)
    paths: tuple[str, ...] = ()  # the files that it is about
    command: str | None = None  # of a shell
    parent: str | None = None


class Returned(Struct, frozen=True):
    """A tool call ended."""

    call: str
    ok: bool
    output: str = ""


class Refused(Struct, frozen=True):
    """The CLI says that a tool call was not allowed."""

    call: str
    reason: str = ""


class Warned(Struct, frozen=True):
    """Something that the CLI says of itself, such as an error that it recovers from."""

    text: str


class Finished(Struct, frozen=True):
    """The agent finished. `text` is its last word; a part that the CLI does not tell is None."""

    status: EndStatus
    text: str | None = None
    reason: str = ""  # why it failed
    turns: int | None = None
    cost: float | None = None  # in US dollars
    tokens: Tokens | None = None


Report = Began | Said | Typed | Called | Returned | Refused | Warned | Finished
