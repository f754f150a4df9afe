"""What requests over HTTP may say, strictly: a typo is an error and not a default. And answers that only HTTP gives.

The other answers are the dataclasses of `api.py` and `debugging.py` as they are.
"""

from collections.abc import Mapping
from dataclasses import field
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator

from pitstop.lazy_dataclass import dataclass
from pitstop.service.api import (
    BreakpointRequest,
    BreakPosition,
    DebugRequest,
    FlowInfo,
    RerunRequest,
    RunInfo,
    RunRequest,
    ShellMode,
    ShellRecord,
)
from pitstop.service.debugging import DebugState

LONGEST_TEXT = 4 * 1024 * 1024
LONGEST_NAME = 255
Role = Literal["viewer", "operator"]


def _without_nul(text: str) -> str:
    if "\0" in text:
        raise ValueError("may not have a NUL character in it")
    return text


def of_file_system(path: str) -> str:
    """The path, if any file could be called so."""
    if any(len(part.encode(errors="surrogateescape")) > LONGEST_NAME for part in path.split("/")):
        raise ValueError(f"no file can have a name of more than {LONGEST_NAME} bytes")
    return path


Text = Annotated[str, Field(max_length=4096), AfterValidator(_without_nul)]
PathText = Annotated[Text, AfterValidator(of_file_system)]
LongText = Annotated[str, Field(max_length=LONGEST_TEXT), AfterValidator(_without_nul)]
Name = Annotated[str, Field(min_length=1, max_length=200), AfterValidator(_without_nul)]
Stop = Annotated[int, Field(ge=1, lt=2**53, description="The stop that it acts on; one that is over answers 409.")]
Number = Annotated[int, Field(ge=0, lt=2**53)]
Values = Annotated[dict[str, Any], Field(max_length=10_000)]


class Form(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, allow_inf_nan=False)


# --- Runs ------------------------------------------------------------------------------------------------------------


class FlowChoice(Form):
    """One of: a file of the server's machine, a text with a name for it, or the name of a stored flow."""

    path: PathText | None = None
    text: LongText | None = None
    name: PathText | None = None

    @model_validator(mode="after")
    def _names_one(self) -> Self:
        if (self.path is not None) + (self.text is not None) > 1 or not (self.path or self.text or self.name):
            raise ValueError("say `path`, or `text` with a `name` if you like, or `name`")
        if self.path is not None and self.name is not None:
            raise ValueError("say either `path` or `name`")
        return self

    @property
    def flow(self) -> str:
        return self.path or self.name or "flow.yaml"


class BreakpointForm(Form):
    """Where to stop; `condition`, `state` and the braces of `log` are jq."""

    step: Text | None = None
    kind: Text | None = None
    file: Text | None = None
    line: Annotated[int, Field(ge=1, lt=2**31)] | None = None
    position: BreakPosition = "before"
    condition: Text | None = None
    hits: Text | None = None
    log: Text | None = None
    once: bool = False
    enabled: bool = True
    group: Text | None = None
    state: Text | None = None
    equals: Any = None
    has_equals: bool = False

    def to_request(self) -> BreakpointRequest:
        return BreakpointRequest(**dict(self))


class BreakpointChange(Form):
    """What is to be different about a breakpoint; what is left out stays."""

    step: Text | None = None
    kind: Text | None = None
    file: Text | None = None
    line: Annotated[int, Field(ge=1, lt=2**31)] | None = None
    position: BreakPosition | None = None
    condition: Text | None = None
    hits: Text | None = None
    log: Text | None = None
    once: bool | None = None
    enabled: bool | None = None
    group: Text | None = None
    state: Text | None = None
    equals: Any = None
    has_equals: bool | None = None

    def changes(self) -> dict[str, Any]:
        """The fields that were given, by name. What has to have a value cannot be taken away."""
        given = {name: getattr(self, name) for name in self.model_fields_set}
        return {name: value for name, value in given.items() if value is not None or name not in _ALWAYS_SET}


_ALWAYS_SET = ("position", "once", "enabled", "has_equals")


class DebugForm(Form):
    breakpoints: Annotated[list[BreakpointForm], Field(max_length=10_000)] = []
    flow_breakpoints: bool = True
    stop_at_entry: bool = False
    stop_on_error: bool = True
    stop_at_end: bool = False
    lease_seconds: Annotated[float, Field(gt=0, le=4 * 3600, strict=False)] = 3600.0
    on_lease_end: Literal["abort", "continue"] = "abort"

    def to_request(self) -> DebugRequest:
        breakpoints = tuple(each.to_request() for each in self.breakpoints)
        return DebugRequest(**{**dict(self), "breakpoints": breakpoints})


class _Starting(Form):
    inputs: Values = {}
    secrets: Annotated[dict[str, LongText], Field(max_length=1000)] = {}
    from_step: Text | None = None
    debug: DebugForm | None = None
    can_ask: bool = False
    priority: Annotated[int, Field(ge=-1000, le=1000)] = 0

    def _fields(self) -> dict[str, Any]:
        return {**dict(self), "debug": None if self.debug is None else self.debug.to_request()}


class RunForm(_Starting):
    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {"flow": {"path": "/home/me/project/ci.yaml"}, "inputs": {"region": "eu"}},
                {
                    "flow": {"text": "steps:\n  - run: make test\n", "name": "ci.yaml"},
                    "debug": {"stop_on_error": True, "breakpoints": [{"step": "test", "position": "before"}]},
                },
            ]
        }
    )

    flow: FlowChoice
    folder: PathText | None = Field(None, description="The workspace, in place; none makes a fresh one.")
    only: Text | None = None
    from_run: Text | None = None
    commit: Text | None = Field(None, description="Work on this commit of the folder's repository, and not in it.")

    def to_request(self) -> RunRequest:
        return RunRequest(**{**self._fields(), "flow": self.flow.flow, "text": self.flow.text})


class RerunForm(_Starting):
    use_file: bool = Field(False, description="Take the flow's file as it is now, and not as it was then.")
    commit: Text | None = Field(None, description="Check this commit, branch or tag out into a workspace of its own.")

    def to_request(self) -> RerunRequest:
        return RerunRequest(**self._fields())


class CancelForm(Form):
    reason: Text = "cancelled by hand"
    now: bool = Field(False, description="End everything at once, cleaning up too.")


class PinForm(Form):
    pinned: bool = True


class AnswerForm(Form):
    approved: bool
    comment: Text = ""
    by: Text = Field("", description="Who decided, where it is not who the token belongs to.")


class CheckForm(FlowChoice):
    pass


class ShellForm(Form):
    stop: Stop
    mode: ShellMode = Field("shell", description="A sidecar sees the workspace and cannot change it.")
    record: ShellRecord | None = Field(None, description="Keep the shell as an asciicast among the run's artifacts.")


class EnableForm(Form):
    enabled: bool


class SecretForm(Form):
    value: LongText


class TokenForm(Form):
    name: Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$")]
    role: Role


# --- Answers that only HTTP gives ------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Me:
    """Who asks, and which server answers."""

    name: str
    role: Role
    version: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RunDetail(RunInfo):
    """A run with its flow, and each of its files as it was when the flow was read."""

    flow_info: FlowInfo
    texts: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class MistakeInfo:
    """One thing that is wrong in a file, and where: lines and columns count from 1."""

    file: str
    line: int
    column: int
    message: str
    text: str = ""
    hint: str | None = None


@dataclass(frozen=True, slots=True)
class CheckedFlow:
    """A flow that can run, or every mistake in it."""

    flow: FlowInfo | None
    mistakes: tuple[MistakeInfo, ...] = ()


@dataclass(frozen=True, slots=True)
class FlowDetail:
    """A stored flow; `info` is None when it cannot run."""

    name: str
    file: str
    text: str
    info: FlowInfo | None
    mistakes: tuple[MistakeInfo, ...] = ()


@dataclass(frozen=True, slots=True)
class OutputPiece:
    """What a step wrote, as text."""

    occurrence: str
    stream: str
    time: float
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class InjectedState(DebugState):
    """The state after a step was put in, and the path that it has."""

    path: str


@dataclass(frozen=True, slots=True)
class Evaluated:
    """Every value that an expression gives. `cut` has the paths of what was too large to send."""

    values: list[Any]
    cut: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class WholeScope:
    """All that a step sees. `cut` has the paths of what was too large to send: variables can be read page by page."""

    scope: dict[str, Any]
    cut: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ShellToken:
    """Opens one shell, once, until `expires_at` (seconds since the epoch)."""

    token: str
    expires_at: float


@dataclass(frozen=True, slots=True)
class TokenInfo:
    """Who may come in with a token; the token itself is kept by nobody but them."""

    name: str
    role: Role
    created_at: float


@dataclass(frozen=True, slots=True)
class NewToken:
    """A token that was just made: it is shown this once."""

    name: str
    role: Role
    token: str


@dataclass(frozen=True, slots=True)
class LoginLink:
    """Where a browser is let in: once, and not after `expires_at`."""

    url: str
    expires_at: float


@dataclass(frozen=True, slots=True)
class SecretNames:
    """The secrets that are kept; nobody can read them back."""

    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class AuditEntry:
    """Who did what to a run, and when; never a value of a secret."""

    number: int
    at: float
    who: str
    action: str
    run: str | None
    detail: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class AuditPage:
    """Some entries, the newest first; `next` is the cursor of those that come after them."""

    entries: tuple[AuditEntry, ...]
    next: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """What went wrong, as RFC 9457 has it. `code` is stable; other members are the values of the error."""

    type: str
    title: str
    status: int
    detail: str
    code: str
