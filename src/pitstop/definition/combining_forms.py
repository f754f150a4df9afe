"""The shapes of steps that are made of steps: one form for each way of combining them."""

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import Field, model_validator

from pitstop.definition.flow import StepSpec
from pitstop.definition.forms import Condition, Duration, Form, Name, OrTemplate, Steps
from pitstop.definition.plain import Options
from pitstop.definition.values import Source


class CombiningForm(Form):
    """A step that is made of steps."""

    kind: ClassVar[str]  # the engine's word for it
    shorthand_field: ClassVar[str | None] = None
    step_lists: ClassVar[tuple[str, ...]] = ("steps",)

    def options(self) -> Options:
        """Kind, config and children, as the StepSpec has them."""
        return {"kind": self.kind, "config": self.config(), "children": self.children()}

    def config(self) -> dict[str, Any]:
        """What the engine is told, apart from the children."""
        told = self.model_fields_set - set(self.step_lists)
        return {name: getattr(self, name) for name in type(self).model_fields if name in told}

    def children(self) -> tuple[StepSpec, ...]:
        return tuple(child for name in self.step_lists for child in getattr(self, name))


class BranchRules(CombiningForm):
    """When branches succeed as a whole, and how many run concurrently."""

    succeed: Literal["all", "any"] | Annotated[int, Field(ge=1)] = Field(
        "all", description="How many branches must pass: `all`, `any`, or a number."
    )
    fail_fast: bool = Field(False, description="Whether to cancel the other branches as soon as success is impossible.")
    max_parallel: int | None = Field(None, ge=1, description="Maximum number of branches that run concurrently.")


class ParallelForm(BranchRules):
    """Branches that run concurrently."""

    kind = "parallel"
    shorthand_field = "branches"
    step_lists = ("branches",)

    branches: Steps = Field(description="Steps that run concurrently; use `group` for a branch with several steps.")


class MatrixForm(BranchRules):
    """The same steps, once for each combination of values."""

    kind = "matrix"
    shorthand_field = "matrix"

    matrix: Annotated[
        dict[str, Annotated[list[Any], Field(min_length=1), OrTemplate]], Field(min_length=1), OrTemplate
    ] = Field(description="A list of values for each axis; steps read the current value as `.matrix.<name>`.")
    steps: Steps = Field(description="Steps to run for each combination.")
    parallel: bool = Field(False, description="Whether the combinations run concurrently.")


class BackgroundForm(CombiningForm):
    """Background steps that run while other steps run, and end with them."""

    kind = "background"
    shorthand_field = "background"
    step_lists = ("background", "steps")

    background: Steps = Field(description="Steps to run in the background until `steps` have ended.")
    steps: Steps = Field(description="Steps to run in the foreground.")

    def children(self) -> tuple[StepSpec, ...]:
        """The background as one sequence, then the others."""
        if not self.background:
            return self.steps
        first, last = self.background[0].source, self.background[-1].source
        source = Source(
            first.file, first.line, first.column, last.end_line if last.file == first.file else first.end_line
        )
        return (StepSpec(kind="sequence", source=source, children=self.background), *self.steps)


class RepeatForm(CombiningForm):
    """The same steps, repeated."""

    kind = "repeat"

    until: Condition | None = Field(
        None,
        description="jq; stop repeating when the result is true.",
        json_schema_extra={"format": "jq"},
    )
    times: int | None = Field(None, ge=1, description="Maximum number of iterations.")
    every: Duration = Field(0.0, description="Delay between iterations.")
    steps: Steps = Field(description="Steps to repeat. `.repeat.index` is the iteration, from 0.")

    @model_validator(mode="after")
    def check_end(self) -> Self:
        if self.until is None and self.times is None:
            raise ValueError("needs `until` or `times`; use `until: false` to repeat until a step fails")
        return self

    def config(self) -> dict[str, Any]:
        return {"until": self.until, "times": self.times, "every_seconds": self.every}


class CallForm(CombiningForm):
    """A call of another flow, as one step."""

    kind = "call"
    shorthand_field = "call"
    step_lists = ()

    call: str = Field(min_length=1, description="Path of the flow file, relative to this file.")
    with_: dict[str, Any] = Field(default_factory=dict, alias="with", description="Inputs of the called flow.")

    def config(self) -> dict[str, Any]:
        return {"call": self.call, "with": self.with_}


class StepsForm(CombiningForm):
    """Steps that run in sequence, as one step."""

    kind = "sequence"
    shorthand_field = "steps"

    steps: Steps = Field(description="The steps of the group.")


class GroupForm(StepsForm):
    """Steps that run in sequence, as one named step."""

    shorthand_field = "group"

    group: Name | None = Field(None, description="Display name, like `name`; or the steps themselves.")

    def options(self) -> Options:
        options = {**super().options(), "config": {}}
        return {**options, "name": self.group} if self.group else options


class ChooseForm(CombiningForm):
    """The first step whose `if` is true."""

    kind = "conditional"
    shorthand_field = "choose"
    step_lists = ("choose",)

    choose: Steps = Field(description="Steps with an `if` each; the last may omit it and is the else branch.")


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
