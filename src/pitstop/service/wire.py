"""What requests over HTTP may say, strictly: a typo is an error and not a default. And answers that only HTTP gives.

The other answers are the values of the desks as they are.
"""

from collections.abc import Mapping
from typing import Annotated, Any, Literal, Self

import msgspec
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator

from pitstop.errors import Mistake
from pitstop.service.caller import Role, Scope
from pitstop.service.flows import FlowInfo
from pitstop.service.hooks import Provider
from pitstop.service.repos import NewRepo, RepoChanges
from pitstop.service.runs import BreakpointRequest, DebugRequest, FixRequest, RerunRequest, RunInfo, RunRequest
from pitstop.service.workspaces import ShellMode, ShellPlace, ShellRecord

LONGEST_TEXT = 4 * 1024 * 1024
LONGEST_NAME = 255


def _without_nul(text: str) -> str:
    if "\0" in text:
        raise ValueError("must not contain a NUL character")
    return text


def of_file_system(path: str) -> str:
    """The path, if any file could be called so."""
    if any(len(part.encode(errors="surrogateescape")) > LONGEST_NAME for part in path.split("/")):
        raise ValueError(f"a file name must not be longer than {LONGEST_NAME} bytes")
    return path


Text = Annotated[str, Field(max_length=4096), AfterValidator(_without_nul)]
PathText = Annotated[Text, AfterValidator(of_file_system)]
LongText = Annotated[str, Field(max_length=LONGEST_TEXT), AfterValidator(_without_nul)]
Name = Annotated[str, Field(min_length=1, max_length=200), AfterValidator(_without_nul)]
Sha = Annotated[str, Field(pattern="^[0-9a-f]{40}$", examples=["0" * 40])]
RepoName = Annotated[str, Field(max_length=64, examples=["shop"])]
Stop = Annotated[int, Field(ge=1, lt=2**53, description="The stop to act on; 409 if it has ended.")]
Values = Annotated[dict[str, Any], Field(max_length=10_000)]


class Form(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, allow_inf_nan=False)


# --- Runs ------------------------------------------------------------------------------------------------------------


class FlowChoice(Form):
    """One of: a file on the server's machine, a text with an optional name, the name of a stored flow, or of a flow of
    a repository.
    """

    path: PathText | None = None
    text: LongText | None = None
    name: PathText | None = None
    repo: RepoName | None = Field(None, description="The repository that the named flow is in.")
    ref: Text | None = Field(None, description="Its branch, tag or commit; the default branch if omitted.")

    @model_validator(mode="after")
    def _names_one(self) -> Self:
        if (self.path is not None) + (self.text is not None) > 1 or not (self.path or self.text or self.name):
            raise ValueError("use `path`, or `text` with an optional `name`, or `name`")
        if self.path is not None and self.name is not None:
            raise ValueError("use either `path` or `name`")
        if self.repo is not None and (self.name is None or self.text is not None):
            raise ValueError("a flow of a `repo` needs its `name`, and no `text`")
        if self.ref is not None and self.repo is None:
            raise ValueError("`ref` needs a `repo`")
        return self

    @property
    def flow(self) -> str:
        return self.path or self.name or "flow.yaml"


def _read_breakpoints(given: list[Any]) -> tuple[BreakpointRequest, ...]:
    try:
        return tuple(msgspec.convert(given, list[BreakpointRequest]))
    except msgspec.ValidationError as error:
        raise ValueError(str(error)) from None


class DebugForm(Form):
    breakpoints: Annotated[list[Any], Field(max_length=10_000), AfterValidator(_read_breakpoints)] = []
    flow_breakpoints: bool = True
    watches: Annotated[list[Text], Field(max_length=1000)] = []
    remembers: bool = True
    stop_at_entry: bool = False
    stop_on_error: bool = True
    stop_at_end: bool = False
    lease_seconds: Annotated[float, Field(gt=0, le=4 * 3600, strict=False)] = 3600.0
    on_lease_end: Literal["abort", "continue"] = "abort"

    def to_request(self) -> DebugRequest:
        return DebugRequest(**{**dict(self), "breakpoints": tuple(self.breakpoints), "watches": tuple(self.watches)})


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
    folder: PathText | None = Field(None, description="The folder to run in; omit it for a fresh workspace.")
    only: Text | None = None
    from_run: Text | None = None
    commit: Text | None = Field(None, description="Check out this commit of the folder into a fresh workspace.")
    files_run: Text | None = Field(None, description="Start with the files of this run, in a fresh workspace.")
    files_event: int | None = Field(
        None, ge=1, lt=2**53, description="The event of `files_run` that its files were stored at."
    )

    def to_request(self) -> RunRequest:
        chosen = {"flow": self.flow.flow, "text": self.flow.text, "repo": self.flow.repo, "ref": self.flow.ref}
        return RunRequest(**{**self._fields(), **chosen})


class FixLoopForm(Form):
    step: Text | None = Field(None, description="The step to test and repair; by default the one that failed.")
    options: dict[str, Any] = Field(
        default_factory=dict, max_length=50, description="Options of the loop, as those of `fix` in a flow."
    )


class FixWayForm(Form):
    text: LongText = Field("", description="The guidance, the iteration to go back to (or `base`), or the reason.")


class RerunForm(_Starting):
    use_file: bool = Field(
        False, description="Use the current flow file, or that of `commit`, not the version of the run."
    )
    commit: Text | None = Field(None, description="Check out this commit, branch or tag into a fresh workspace.")
    fix: FixLoopForm | None = Field(None, description="Put the step in a fix loop.")

    def to_request(self) -> RerunRequest:
        fix = None if self.fix is None else FixRequest(step=self.fix.step, options=self.fix.options)
        return RerunRequest(**{**self._fields(), "fix": fix})


class CancelForm(Form):
    reason: Text = "cancelled by the user"
    now: bool = Field(False, description="Kill everything at once, including cleanup.")


class PinForm(Form):
    pinned: bool = True


class AnswerForm(Form):
    approved: bool
    comment: Text = ""
    by: Text = Field("", description="Who decided, if not the owner of the token.")


class CheckForm(FlowChoice):
    pass


class ShellForm(Form):
    """Either a `stop` or a `step`."""

    stop: Stop | None = None
    step: Text | None = Field(None, description="A step that is running: its occurrence, path or ID.")
    mode: ShellMode = Field("shell", description="A sidecar is a read-only shell; `step` runs the step's own command.")
    record: ShellRecord | None = Field(None, description="Save the shell as an asciicast artifact of the run.")

    @property
    def place(self) -> ShellPlace:
        return self.step or self.stop or 0

    @model_validator(mode="after")
    def _names_one(self) -> Self:
        if (self.stop is None) is (not self.step):
            raise ValueError("use `stop` or `step`")
        return self


class SecretForm(Form):
    value: LongText
    repos: list[Name] = Field(
        [], description="Repositories whose runs may get a secret with scope `server`; `*` is all."
    )


class TokenForm(Form):
    name: Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$")]
    role: Role
    scope: Scope = Field("all", description="`git:read` and `git:write` tokens can only be used by git.")
    repo: RepoName | None = Field(None, description="Restrict a token for git to this repository.")
    lasts_seconds: Annotated[float, Field(gt=0, le=10 * 365 * 86400, strict=False)] | None = Field(
        None, description="When the token expires; never by default."
    )


# --- Repositories ----------------------------------------------------------------------------------------------------


class NewRepoForm(Form):
    name: RepoName
    title: Annotated[Text, Field(max_length=200)] = ""
    default_branch: Name = "main"
    remote_url: Annotated[Text, Field(max_length=2000)] | None = None
    ingest: bool = Field(False, description="Start no flows until `POST /repos/{repo}/ingested`.")

    def to_request(self) -> NewRepo:
        return NewRepo(**dict(self))


class RepoChangesForm(Form):
    title: Annotated[Text, Field(max_length=200)] | None = None
    default_branch: Name | None = None
    remote_url: Annotated[Text, Field(max_length=2000)] | None = None
    protected: Annotated[list[Name], Field(max_length=100)] | None = Field(
        None, description="Branches that only a merge by Pitstop may change."
    )
    disabled_flows: Annotated[list[Text], Field(max_length=200)] | None = None
    test: Text | None = Field(
        None, description="The command that tests the work of agents; empty to find one, `none` for none."
    )

    def to_request(self) -> RepoChanges:
        lists = {
            name: None if value is None else tuple(value)
            for name, value in (("protected", self.protected), ("disabled_flows", self.disabled_flows))
        }
        return RepoChanges(**{**dict(self), **lists})


class BranchesForm(Form):
    branches: Annotated[dict[Name, Sha], Field(min_length=1, max_length=500)] = Field(
        description="The branches to delete, each with the commit that it is expected at."
    )


class WriteForm(Form):
    branch: Name
    path: PathText
    text: LongText | None = Field(None, description="The new content; null deletes the file.")
    expect: Annotated[str, Field(pattern="^([0-9a-f]{40})?$")] | None = Field(
        None, description="The blob hash of the content that was opened; empty if the file must not exist."
    )
    message: Annotated[Text, Field(max_length=2000)] = ""


class LandingForm(Form):
    branch: Name
    sha: Sha
    remote: Annotated[Text, Field(max_length=2000)]


class FireForm(Form):
    ref: Text | None = None
    inputs: Values = {}


class HookForm(Form):
    provider: Provider = "plain"
    flow: Text | None = Field(None, description="Only for this flow; for all flows of the repository if omitted.")


class SwitchForm(Form):
    enabled: bool


# --- Answers that only HTTP gives ------------------------------------------------------------------------------------


class Me(msgspec.Struct, frozen=True):
    """The client, and the server that answers."""

    name: str
    role: Role
    version: str


class RunDetail(RunInfo, frozen=True, kw_only=True):
    """A run with its flow, and the flow's files as they were when it was read."""

    flow_info: FlowInfo
    texts: Mapping[str, str] = msgspec.field(default_factory=dict)


class CheckedFlow(msgspec.Struct, frozen=True):
    """A valid flow, or all errors in it."""

    flow: FlowInfo | None
    mistakes: tuple[Mistake, ...] = ()


class FlowDetail(msgspec.Struct, frozen=True):
    """A stored flow; `info` is None if it is invalid."""

    name: str
    file: str
    text: str
    info: FlowInfo | None
    mistakes: tuple[Mistake, ...] = ()


class OutputPiece(msgspec.Struct, frozen=True):
    """The log of a step, as text."""

    occurrence: str
    stream: str
    time: float
    text: str


class ShellToken(msgspec.Struct, frozen=True):
    """A one-time token for a shell, valid until `expires_at` (seconds since the epoch)."""

    token: str
    expires_at: float


class LoginLink(msgspec.Struct, frozen=True):
    """A one-time login link for a browser, valid until `expires_at`."""

    url: str
    expires_at: float


class Problem(msgspec.Struct, frozen=True, kw_only=True):
    """Problem details (RFC 9457). `code` is stable; other members are the values of the error."""

    type: str
    title: str
    status: int
    detail: str
    code: str
