"""The shapes of a flow file: what the reader checks by, and what the schema, the help and the docs are made from."""

import re
from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    InstanceOf,
    WithJsonSchema,
    WrapValidator,
    model_validator,
)
from pydantic_core import PydanticCustomError

from pitstop.definition.durations import DURATION_PATTERN, parse_duration
from pitstop.definition.flow import (
    Effects,
    InputSpec,
    InputType,
    OnInterrupt,
    Place,
    RetrySpec,
    StepSpec,
    Workspace,
    type_of,
)
from pitstop.definition.plain import ID_PATTERN, Options

_ID = re.compile(ID_PATTERN)
_ACTIONS = ("next", "stop", "pause")
_LATER_ACTIONS = {  # what belongs to parts that are not built: the way to have it until then
    "merge": ("merge queue", "push in a step of its own, such as `run: git push origin HEAD:main`"),
    "card": ("board with cards", "tell it in a step of its own, such as an `http` request"),
    "fix": ("fix loop", "debug the failure with `pitstop run --debug-on-error`"),
}


def _check_id(written: str) -> str:
    if not _ID.match(written):
        raise ValueError("an id has letters, digits, `_` and `-`, and begins with a letter or `_`")
    return written


def _check_action(written: str) -> str:
    if written not in _ACTIONS:
        told = "one of `next`, `stop` and `pause` is needed here"
        later = _LATER_ACTIONS.get(written.partition(":")[0])
        if later is not None:
            told = f"`{written}` would do nothing, for Pitstop has no {later[0]} yet: {later[1]}"
        raise PydanticCustomError("unknown_word", "{told}", {"told": told, "words": () if later else _ACTIONS})
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
Steps = Annotated[tuple[InstanceOf[StepSpec], ...], WithJsonSchema({"type": "array", "format": STEPS_FORMAT})]
Id = Annotated[str, AfterValidator(_check_id), WithJsonSchema({"type": "string", "pattern": ID_PATTERN})]
Action = Annotated[str, AfterValidator(_check_action), WithJsonSchema({"enum": list(_ACTIONS)})]
OrTemplate = WrapValidator(lambda value, check: value if isinstance(value, str) and "${{" in value else check(value))


class Form(BaseModel):
    """Strict: a typo is a mistake and not a default, and `"3"` is not 3."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, defer_build=True)


class RetryForm(Form):
    """How often a failed step is tried again."""

    times: int = Field(ge=1, description="How many more times the step is tried after it failed.")
    delay: Duration = Field(0.0, description="How long to wait before it is tried again.")
    backoff: float = Field(1.0, ge=1, description="What the delay is multiplied with after each time.")

    def spec(self) -> RetrySpec:
        return RetrySpec(self.times, self.delay, self.backoff)


class StepForm(Form):
    """What every step takes, whatever its type."""

    id: Id | None = Field(None, description="The step's name in paths and in `.steps.<id>`; unique in the flow.")
    name: str | None = Field(None, description="What people see.")
    if_: Condition | None = Field(None, alias="if", description="jq: the step is skipped when it is false or null.")
    env: Environment = Field(
        default_factory=dict, description="Environment variables of the step and of all steps under it."
    )
    timeout: Duration | None = Field(
        None, description="How long it may run; time in which it is paused is not counted."
    )
    retry: RetryForm | None = Field(None, description="How often it is tried again when it fails.")
    continue_on_error: bool = Field(False, description="Whether the steps after it run although it failed.")
    requires: dict[str, str | int | float | bool | list[str]] = Field(
        default_factory=dict, description="Labels that the machine must have, such as `{arch: arm64, has: [gpio]}`."
    )
    workspace: Workspace = Field(
        "keep",
        description="`keep` goes on in the workspace of the run; `fresh` has an empty one for the step and all steps "
        "under it, which is removed at its end. Its artifacts are kept; neither going back nor a server that goes on "
        "after a restart brings its files back.",
    )
    on_success: Action = Field(
        "next",
        description="What comes when it passed: `next`, `stop` (the steps after it in the same list are left out), or "
        "`pause` where somebody debugs.",
    )
    on_failure: Action = Field(
        "stop",
        description="What comes when it failed: `next` (as `continue_on_error`), `stop`, or `pause` where "
        "somebody debugs.",
    )
    on_interrupt: OnInterrupt = Field(
        "repeat",
        description="What becomes of it when the machine or the server goes down while it runs, once the run goes on: "
        "`repeat` it, `fail` it (then `retry` applies), or `pause` before it until somebody decides.",
    )
    effects: Effects = Field(
        "workspace", description="`external` when it does what cannot be undone, so that going back over it asks first."
    )
    snapshot: bool | None = Field(None, description="Whether the workspace is kept as it is before the step.")

    def options(self) -> Options:
        """What was said, as the StepSpec has it."""
        told: Options = {name: getattr(self, name) for name in self.model_fields_set}
        if self.retry is not None:
            told["retry"] = self.retry.spec()
        return {_INSIDE.get(name, name): value for name, value in told.items()}


_INSIDE = {"if_": "condition", "timeout": "timeout_seconds"}  # what a key is called past the file


# --- Ways of combining steps -----------------------------------------------------------------------------------------


class CombiningForm(Form):
    """A step that is made of steps."""

    kind: ClassVar[str]  # the engine's word for it
    shorthand_field: ClassVar[str | None] = None
    step_lists: ClassVar[tuple[str, ...]] = ("steps",)

    @property
    def title(self) -> str | None:
        """What people see where the step has no `name`."""
        return None

    def config(self) -> dict[str, Any]:
        """What the engine is told, apart from the children."""
        told = self.model_fields_set - set(self.step_lists)
        return {name: getattr(self, name) for name in type(self).model_fields if name in told}

    def children(self) -> tuple[StepSpec, ...]:
        return tuple(child for name in self.step_lists for child in getattr(self, name))


class BranchRules(CombiningForm):
    """When branches together succeed, and how many run at once."""

    succeed: Literal["all", "any"] | Annotated[int, Field(ge=1)] = Field(
        "all", description="How many branches have to pass: `all`, `any`, or a number."
    )
    fail_fast: bool = Field(False, description="Whether the others are ended as soon as success is impossible.")
    max_parallel: int | None = Field(None, ge=1, description="How many branches run at the same time, at most.")


class ParallelForm(BranchRules):
    """Branches side by side."""

    kind = "parallel"
    shorthand_field = "branches"
    step_lists = ("branches",)

    branches: Steps = Field(description="Steps that run at the same time; one of several steps is a `group`.")


class MatrixForm(BranchRules):
    """The same steps once for every combination of values."""

    kind = "matrix"
    shorthand_field = "matrix"

    matrix: Annotated[
        dict[str, Annotated[list[Any], Field(min_length=1), OrTemplate]], Field(min_length=1), OrTemplate
    ] = Field(description="A list of values for each name. A step reads them as `.matrix.<name>`.")
    steps: Steps = Field(description="What runs for every combination.")
    parallel: bool = Field(False, description="Whether the combinations run at the same time.")


class BackgroundForm(CombiningForm):
    """Steps beside which others run, and which are ended with them."""

    kind = "background"
    shorthand_field = "background"
    step_lists = ("background", "steps")

    background: Steps = Field(description="What runs beside `steps`, until they have ended.")
    steps: Steps = Field(description="What runs while the background does.")

    def children(self) -> tuple[StepSpec, ...]:
        """The background as one sequence, then the others."""
        if not self.background:
            return self.steps
        first, last = self.background[0].source, self.background[-1].source
        source = Place(
            first.file, first.line, first.column, last.end_line if last.file == first.file else first.end_line
        )
        return (StepSpec(kind="sequence", source=source, children=self.background), *self.steps)


class RepeatForm(CombiningForm):
    """The same steps again and again."""

    kind = "repeat"

    until: Condition | None = Field(
        None,
        description="jq: the last turn is the one after which it is true.",
        json_schema_extra={"format": "jq"},
    )
    times: int | None = Field(None, ge=1, description="How many turns there are, at most.")
    every: Duration = Field(0.0, description="How long to wait between two turns.")
    steps: Steps = Field(description="What is repeated. `.repeat.index` counts the turns from 0.")

    @model_validator(mode="after")
    def check_end(self) -> Self:
        if self.until is None and self.times is None:
            raise ValueError("needs `until` or `times`: with `until: false` it repeats for ever")
        return self

    def config(self) -> dict[str, Any]:
        return {"until": self.until, "times": self.times, "every_seconds": self.every}


class CallForm(CombiningForm):
    """Another flow as one step."""

    kind = "call"
    shorthand_field = "call"
    step_lists = ()

    call: str = Field(min_length=1, description="The file of the flow, seen from this one.")
    with_: dict[str, Any] = Field(default_factory=dict, alias="with", description="The inputs that the flow is given.")

    def config(self) -> dict[str, Any]:
        return {"call": self.call, "with": self.with_}


class StepsForm(CombiningForm):
    """Steps one after the other, as one step."""

    kind = "sequence"
    shorthand_field = "steps"

    steps: Steps = Field(description="The steps of the group.")


class GroupForm(StepsForm):
    """Steps one after the other, as one step with a name."""

    shorthand_field = "group"

    group: str | None = Field(None, description="What people see, like `name`; or the steps themselves.")

    @property
    def title(self) -> str | None:
        return self.group

    def config(self) -> dict[str, Any]:
        return {}


class ChooseForm(CombiningForm):
    """The first step whose `if` is true, and no other."""

    kind = "conditional"
    shorthand_field = "choose"
    step_lists = ("choose",)

    choose: Steps = Field(description="Steps with an `if` each; the last may have none, and is the else.")


COMBINING_FORMS: Mapping[str, type[CombiningForm]] = {  # by the key that a step is told by
    "parallel": ParallelForm,
    "matrix": MatrixForm,
    "background": BackgroundForm,
    "repeat": RepeatForm,
    "call": CallForm,
    "group": GroupForm,
    "steps": StepsForm,
    "choose": ChooseForm,
}


# --- The flow itself -------------------------------------------------------------------------------------------------


class InputForm(Form):
    """A value that a run is given."""

    default: Any = Field(None, description="What it is when nothing is given.")
    description: str = Field("", description="What people are told when they are asked for it.")
    required: bool | None = Field(None, description="Whether it must be given; true where there is no default.")
    type: InputType | None = Field(
        None, description="jq's word for what it must be; the type of the default if not said."
    )

    @model_validator(mode="after")
    def check_default(self) -> Self:
        if self.type and self.default is not None and type_of(self.default) != self.type:
            raise ValueError(f"has a default that is no {self.type}, as its `type` says")
        return self

    def spec(self) -> InputSpec:
        required = "default" not in self.model_fields_set if self.required is None else self.required
        return InputSpec(self.default, self.description, required, self.type or type_of(self.default))


class TriggerForm(Form):
    """What starts a run of the flow, and what comes of it."""

    on_pass: Literal["merge", "nothing"] | None = Field(None, description="What is done when the run passed.")
    on_fail: Literal["fail", "reject"] | None = Field(None, description="What is done when it failed.")


class PushForm(TriggerForm):
    """Somebody pushed."""

    branches: list[str] | None = Field(None, description="Patterns of the branches; all where there are none.")


class ScheduleForm(TriggerForm):
    """The clock."""

    cron: str = Field(description="When, as five fields: minute, hour, day of month, month, day of week.")


class TriggersForm(Form):
    """Everything that starts a run of the flow by itself."""

    push: PushForm | None = Field(None, description="Somebody pushed.")
    card_complete: TriggerForm | None = Field(None, description="The work on a card is done.")
    schedule: ScheduleForm | None = Field(None, description="The time has come.")
    manual: TriggerForm | None = Field(None, description="Somebody asked for it.")
    webhook: TriggerForm | None = Field(None, description="Another program asked for it.")

    @model_validator(mode="after")
    def check_schedule(self) -> Self:
        if "schedule" in self.model_fields_set and self.schedule is None:
            raise ValueError("`schedule` needs `cron`")
        return self


def _named_triggers(written: object) -> object:
    """`on: push` and `on: [push, manual]` as the mapping that they are short for."""
    if isinstance(written, str):
        written = [written]
    if isinstance(written, list) and all(isinstance(name, str) for name in written):
        return dict.fromkeys(written)
    return written


_TriggerName = Literal["push", "card_complete", "schedule", "manual", "webhook"]
Triggers = Annotated[
    TriggersForm,
    BeforeValidator(_named_triggers, json_schema_input_type=TriggersForm | _TriggerName | list[_TriggerName]),
]


class FlowForm(Form):
    """A flow file."""

    name: str | None = Field(None, description="What people call the flow; the file's name where there is none.")
    inputs: dict[str, InputForm | None] = Field(default_factory=dict, description="What a run is given: `.inputs`.")
    vars: dict[str, Any] = Field(default_factory=dict, description="Values with a name: `.vars`.")
    env: Environment = Field(default_factory=dict, description="Environment variables of every step.")
    image: str | None = Field(None, description="The image of a container that every `run` step runs in.")
    pull: str | None = Field(None, description="When images are pulled: `missing`, `always` or `never`.")
    user: str | None = Field(None, description="Whom `run` steps run as in their containers.")
    cpus: float | None = Field(None, description="How much of the CPUs a container may use.")
    memory: str | int | None = Field(None, description="How much memory a container may use, such as `512m`.")
    platform: str | None = Field(None, description="The platform of images, such as `linux/arm64`.")
    services: dict[str, Any] = Field(
        default_factory=dict, description="Containers beside those of the steps, shared by all of them, by their names."
    )
    timeout: Duration | None = Field(None, description="How long a run may take; paused time is not counted.")
    on: Triggers | None = Field(
        None, description="What starts a run by itself. It is checked, and nothing starts by it yet."
    )
    steps: Steps = Field(description="What the flow does, one after the other.")
    cleanup: Steps = Field((), description="What is done at the end, whatever happened before.")
    outputs: dict[str, Any] = Field(default_factory=dict, description="What a flow that calls this one gets from it.")

    def options(self) -> Options:
        """What was said, as the Flow has it."""
        return {
            "name": self.name,
            "steps": self.steps,
            "cleanup": self.cleanup,
            "inputs": {name: (each or InputForm()).spec() for name, each in self.inputs.items()},
            "vars": self.vars,
            "env": self.env,
            "timeout_seconds": self.timeout,
            "on": self._triggers(),
            "outputs": self.outputs,
        }

    def _triggers(self) -> Mapping[str, Mapping[str, Any]]:
        """By name, each with what was said about it, which may be nothing."""
        told = {} if self.on is None else self.on.model_dump(exclude_unset=True)
        return {name: details or {} for name, details in told.items()}
