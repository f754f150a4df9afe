"""The shapes of a flow file: what the reader checks by, and what the schema, the help and the docs are made from."""

import re
from typing import Annotated, Any, Self

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    WithJsonSchema,
    WrapValidator,
    model_validator,
)
from pydantic_core import PydanticCustomError

from pitstop.definition.durations import DURATION_PATTERN, parse_duration
from pitstop.definition.flow import InputSpec
from pitstop.definition.plain import ID_PATTERN, MOST_SECRETS, SECRET_PATTERN, Options
from pitstop.definition.trigger_forms import ConcurrencyGroup, Triggers
from pitstop.definition.values import Effects, InputType, OnInterrupt, Retry, Workspace, type_of
from pitstop.limits import NAME_CHARACTERS, RETRIES, too_long

_ID = re.compile(ID_PATTERN)
_ID_SCHEMA = {"type": "string", "pattern": ID_PATTERN, "maxLength": NAME_CHARACTERS}
_ACTIONS = ("next", "stop", "pause")
_FAILURE_ACTIONS = (*_ACTIONS, "fix")
CARD_ACTIONS = ("card", "trigger")


def _check_id(written: str) -> str:
    if not _ID.match(written):
        raise ValueError("an id consists of letters, digits, `_` and `-`, and starts with a letter or `_`")
    return _check_length(written)


def _check_length(written: str) -> str:
    if len(written) > NAME_CHARACTERS:
        raise ValueError(too_long(written))
    return written


def _check_action(written: str, known: tuple[str, ...] = _FAILURE_ACTIONS) -> str:
    action, colon, rest = written.partition(":")
    if action in CARD_ACTIONS:
        example = "card:Fix the build" if action == "card" else "trigger:shop-3"
        if not colon or not rest.strip() or "${{" in rest:
            what = "title for the card" if action == "card" else "card that it starts"
            raise ValueError(f"`{action}` needs a {what}, such as `{example}`")
        return written
    if written not in known:
        told = f"must be {', '.join(f'`{each}`' for each in known)}, `card:TITLE` or `trigger:CARD`"
        if written.startswith("merge"):
            told = f"`{written}` is possible only for `on_success`"
        elif written in _FAILURE_ACTIONS:
            told = f"`{written}` is possible only for `on_failure`"
        raise PydanticCustomError("unknown_word", "{told}", {"told": told, "words": known})
    return written


def _check_success(written: str) -> str:
    action, colon, branch = written.partition(":")
    if action != "merge":
        return _check_action(written, _ACTIONS)
    if not colon or not branch.strip() or "${{" in branch:
        raise ValueError("`merge` needs the name of a branch, such as `merge:main`")
    return written


def _check_secret(written: str) -> str:
    if not re.fullmatch(SECRET_PATTERN, written):
        told = "a secret name has at most 200 letters, digits and `_`, and does not start with a digit"
        words = (re.sub("[^A-Za-z0-9_]|^(?=[0-9])", "_", written),)
        raise PydanticCustomError("secret_name", "{told}", {"told": told, "words": words})
    return written


def _check_secrets(written: object) -> object:
    if not isinstance(written, list):
        hint = f"did you mean `[{written}]`?" if isinstance(written, str) else "such as `[DEPLOY_KEY]`"
        raise PydanticCustomError("secret_list", "{told}", {"told": "must be a list of names", "hint": hint})
    if len(written) > MOST_SECRETS:
        told = f"has {len(written)} names, but at most {MOST_SECRETS} are allowed"
        raise PydanticCustomError("secret_list", "{told}", {"told": told})
    return written


Duration = Annotated[
    float,
    BeforeValidator(parse_duration),
    WithJsonSchema(
        {
            "anyOf": [
                {"type": "string", "pattern": rf"{DURATION_PATTERN}|^\d+(\.\d+)?$"},
                {"type": "number", "minimum": 0},
            ]
        }
    ),
]
Condition = Annotated[  # `true` and `false` are jq as well
    str,
    BeforeValidator(lambda written: str(written).lower() if isinstance(written, bool) else written),
    WithJsonSchema({"type": ["string", "boolean"]}),
]
Environment = Annotated[  # the reader hands on what is written, so `1.10` stays `1.10`
    dict[str, str],
    WithJsonSchema({"type": "object", "additionalProperties": {"type": ["string", "number", "boolean", "null"]}}),
]
STEPS_FORMAT = "steps"  # the schema has its definition of steps wherever this format is
# The reader hands on each step as its StepSpec
Steps = Annotated[tuple[Any, ...], WithJsonSchema({"type": "array", "format": STEPS_FORMAT})]
Profile = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$")]
Id = Annotated[str, AfterValidator(_check_id), WithJsonSchema(_ID_SCHEMA)]
Name = Annotated[str, AfterValidator(_check_length), WithJsonSchema({"type": "string", "maxLength": NAME_CHARACTERS})]
_CARD_ACTION = {"type": "string", "pattern": "^(card|trigger):.*[^ ].*$"}
Action = Annotated[
    str, AfterValidator(_check_action), WithJsonSchema({"anyOf": [{"enum": list(_FAILURE_ACTIONS)}, _CARD_ACTION]})
]
SuccessAction = Annotated[
    str,
    AfterValidator(_check_success),
    WithJsonSchema(
        {"anyOf": [{"enum": list(_ACTIONS)}, {"type": "string", "pattern": "^(merge|card|trigger):.*[^ ].*$"}]}
    ),
]
Secrets = Annotated[
    list[Annotated[str, AfterValidator(_check_secret), WithJsonSchema({"type": "string", "pattern": SECRET_PATTERN})]],
    BeforeValidator(_check_secrets),
    Field(max_length=MOST_SECRETS),
]
OrTemplate = WrapValidator(lambda value, check: value if isinstance(value, str) and "${{" in value else check(value))


class Form(BaseModel):
    """Strict: a typo is a mistake and not a default, and `"3"` is not 3."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, defer_build=True)


class RetryForm(Form):
    """How a failed step is retried."""

    times: int = Field(ge=1, le=RETRIES, description="Maximum number of retries after the first failure.")
    delay: Duration = Field(0.0, description="Delay before the first retry.")
    backoff: float = Field(1.0, ge=1, description="Factor applied to the delay after each retry.")

    def spec(self) -> Retry:
        return Retry(self.times, self.delay, self.backoff)


class FixForm(Form):
    """How failures of the step are fixed. Agents are profiles, as in `agent`."""

    agent: Profile = Field("claude", description="Agent for both roles.")
    diagnose: Profile | None = Field(None, description="Agent that diagnoses, instead of `agent`.")
    fix: Profile | None = Field(None, description="Agent that applies the fix, instead of `agent`.")
    with_: dict[str, Any] = Field(
        default_factory=dict,
        alias="with",
        description="Further fields of both `agent` steps, such as `model`, `image`, `network` or `env`.",
    )
    secrets: Secrets = Field(default_factory=list, description="Names of the secrets that only the agents get.")
    goal: str = Field("", description="What the change is for, for the prompts.", max_length=8_000)
    iterations: int = Field(3, ge=1, le=10, description="Maximum number of iterations of a round.")
    rounds: int = Field(3, ge=1, le=3, description="Maximum number of rounds; each further one needs guidance.")
    time: Duration = Field(1800.0, gt=0, description="Maximum time at work, without pauses.")
    cost: float | None = Field(None, gt=0, description="Maximum cost of all agents together, in US dollars.")
    lines: int = Field(400, ge=1, description="Maximum number of changed lines.")
    base: str = Field(
        "auto",
        min_length=1,
        description="Commit to compare with: a test that failed there already is not fixed. `auto` is where the "
        "branch left the default branch; `none` compares with nothing.",
    )
    allow_tests: bool = Field(False, description="Whether agents may change tests, CI files and thresholds.")
    allow_pre_existing: bool = Field(
        False, description="Whether the step passes if all its failures existed before the change."
    )
    early_stop: bool = Field(True, description="Whether to give up early when a different approach changes nothing.")


class StepForm(Form):
    """Fields of every step, regardless of type."""

    id: Id | None = Field(None, description="The step's name in paths and in `.steps.<id>`; unique in the flow.")
    name: Name | None = Field(None, description="Display name.")
    if_: Condition | None = Field(None, alias="if", description="jq; the step is skipped if it is false or null.")
    env: Environment = Field(default_factory=dict, description="Environment variables of the step and its child steps.")
    secrets: Secrets = Field(
        default_factory=list,
        description="Names of the secrets that the step and its child steps get as environment variables.",
    )
    timeout: Duration | None = Field(None, description="Maximum duration; paused time is not counted.")
    retry: RetryForm | None = Field(None, description="Retry policy for failures.")
    continue_on_error: bool = Field(False, description="Whether the following steps run even if this one fails.")
    requires: dict[str, str | int | float | bool | list[str]] = Field(
        default_factory=dict, description="Labels the machine must have, such as `{arch: arm64, has: [gpio]}`."
    )
    workspace: Workspace = Field(
        "keep",
        description="`keep` uses the run's workspace; `fresh` creates another one for the step and its child steps, "
        "with the commit in a run of a repository and empty otherwise, and removes it when the step ends. Its "
        "artifacts are stored, but its files are not restored by rewinding or by a server that resumes the run.",
    )
    on_success: SuccessAction = Field(
        "next",
        description="What to do if the step passes: `next`, `stop` (omit the steps after it in the same list), "
        "`pause` if the run is on a server or being debugged, `merge:BRANCH`, which merges the run's branch into "
        "another one, `card:TITLE`, which makes a card, or `trigger:CARD`, which starts one. The last three are steps "
        "of their own, such as `ID!merge`.",
    )
    on_failure: Action = Field(
        "stop",
        description="What to do if the step fails: `next` (like `continue_on_error`), `stop`, `pause` if the run "
        "is on a server or being debugged, `fix`, which starts the fix loop as `fix: {}` does, `card:TITLE`, which "
        "makes a card with the failure, or `trigger:CARD`, which starts a card; the run then stops as with `stop`.",
    )
    fix: FixForm | None = Field(
        None,
        description="The fix loop: if the step fails, agents diagnose the failure, repair it and test again, at most "
        "`iterations` times; then a user decides.",
    )
    on_interrupt: OnInterrupt = Field(
        "repeat",
        description="What to do with a step that was interrupted by a crash or restart, when the run resumes: "
        "`repeat` it, `fail` it (then `retry` applies), or `pause` before it until a user decides.",
    )
    effects: Effects = Field(
        "workspace",
        description="`external` if its effects cannot be undone, so that rewinding over it asks first.",
    )
    snapshot: bool | None = Field(None, description="Whether to take a snapshot of the workspace before the step.")

    def options(self) -> Options:
        """What was said, as the StepSpec has it."""
        told: Options = {name: getattr(self, name) for name in self.model_fields_set}
        if self.retry is not None:
            told["retry"] = self.retry.spec()
        if "secrets" in told:
            told["secrets"] = tuple(self.secrets)
        if self.on_failure == "fix":
            told["on_failure"] = "stop"
        if self.fix is not None or self.on_failure == "fix":
            told["fix"] = (self.fix or FixForm()).model_dump(by_alias=True)
        return {_INSIDE.get(name, name): value for name, value in told.items()}


_INSIDE = {"if_": "condition", "timeout": "timeout_seconds"}  # what a key is called past the file


# --- The flow itself -------------------------------------------------------------------------------------------------


class InputForm(Form):
    """An input of a flow."""

    default: Any = Field(None, description="Value if none is given.")
    description: str = Field("", description="Help text for the user.")
    required: bool | None = Field(None, description="Whether a value must be given; true if there is no default.")
    type: InputType | None = Field(None, description="jq type of the value; defaults to the type of `default`.")

    @model_validator(mode="after")
    def check_default(self) -> Self:
        if self.type and self.default is not None and type_of(self.default) != self.type:
            raise ValueError(f"has a default that is not a {self.type}, the declared `type`")
        return self

    def spec(self) -> InputSpec:
        required = "default" not in self.model_fields_set if self.required is None else self.required
        return InputSpec(self.default, self.description, required, self.type or type_of(self.default))


class FlowForm(Form):
    """A flow file."""

    name: Name | None = Field(None, description="Name of the flow; the file name by default.")
    inputs: dict[str, InputForm | None] = Field(default_factory=dict, description="Inputs, available as `.inputs`.")
    vars: dict[str, Any] = Field(default_factory=dict, description="Named values, available as `.vars`.")
    env: Environment = Field(default_factory=dict, description="Environment variables for all steps.")
    secrets: Secrets = Field(
        default_factory=list, description="Names of the secrets that all steps get as environment variables."
    )
    image: str | None = Field(None, description="Container image for all `run` steps.")
    pull: str | None = Field(None, description="When to pull images: `missing`, `always` or `never`.")
    user: str | None = Field(None, description="User that `run` steps run as in their containers.")
    cpus: float | None = Field(None, description="CPU limit of a container.")
    memory: str | int | None = Field(None, description="Memory limit of a container, such as `512m`.")
    platform: str | None = Field(None, description="Platform of images, such as `linux/arm64`.")
    services: dict[str, Any] = Field(
        default_factory=dict, description="Service containers shared by all steps, by name."
    )
    timeout: Duration | None = Field(None, description="Maximum duration of a run; paused time is not counted.")
    on: Triggers | None = Field(
        None, description="Events that start a run; a flow in a repository on a server is started by them."
    )
    concurrency: ConcurrencyGroup | None = Field(
        None, description="Group of runs of which only one runs at a time: its name, or a mapping."
    )
    steps: Steps = Field(description="Steps to run in sequence.")
    cleanup: Steps = Field((), description="Steps to run at the end, regardless of the outcome.")
    outputs: dict[str, Any] = Field(default_factory=dict, description="Outputs for a flow that calls this one.")

    @model_validator(mode="after")
    def check_trigger_inputs(self) -> Self:
        if self.on is not None:
            self.on.check_inputs(self.inputs)
        return self

    def options(self) -> Options:
        """What was said, as the Flow has it."""
        return {
            "name": self.name,
            "steps": self.steps,
            "cleanup": self.cleanup,
            "inputs": {name: (each or InputForm()).spec() for name, each in self.inputs.items()},
            "vars": self.vars,
            "env": self.env,
            "secrets": tuple(self.secrets),
            "timeout_seconds": self.timeout,
            "on": {} if self.on is None else self.on.spec(),
            "concurrency": None if self.concurrency is None else self.concurrency.spec(),
            "outputs": self.outputs,
        }
