"""Every verb that can be said to a debugger: what it has to say, and the one call that it is.

The routes under `/debug` and the debug socket speak from this table.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Annotated, Any, Literal, Self

from pydantic import Field, model_validator

from pitstop.service.debugging import Debugger
from pitstop.service.wire import Form, Number, Stop, Text, Values

Pauses = Annotated[bool, Field(description="Pause the frame at its next point.")]
External = Annotated[bool, Field(description="Confirm repeating external effects that cannot be undone.")]


class Nothing(Form):
    pass


class AtStop(Form):
    stop: Stop


class ContinueForm(Form):
    stop: Stop | None = None
    all: bool = False
    keeps_step: bool = Field(False, description="As if it had not paused: an interrupted step command continues.")

    @model_validator(mode="after")
    def _says_which(self) -> Self:
        if (self.stop is None) is not self.all:
            raise ValueError("use `stop` or `all`")
        if self.all and self.keeps_step:
            raise ValueError("`keeps_step` needs a `stop`")
        return self


class PauseForm(Form):
    frame: Text | None = None


class StepForm(AtStop):
    kind: Literal["into", "over", "out", "to", "back"]
    step: Text | None = Field(None, description="The target step, for the kind `to`.")
    external: External = False

    @model_validator(mode="after")
    def _says_where(self) -> Self:
        if (self.kind == "to") is not (self.step is not None):
            raise ValueError("`step` is required for the kind `to`, and not allowed otherwise")
        return self


class SkipForm(AtStop):
    outputs: Values | None = None
    pauses: Pauses = False


class ForceForm(AtStop):
    status: Literal["passed", "failed", "skipped", "cancelled", "timed_out"]
    outputs: Values | None = None
    pauses: Pauses = False


class InjectForm(AtStop):
    step: Annotated[Values, Field(description="The step: `uses` (type), `with` (config) and optionally `id`.")]
    position: Literal["before", "after"] = "before"


class SetForm(AtStop):
    path: Text
    value: Any
    layer: Text | None = None


class UnsetForm(AtStop):
    path: Text
    layer: Text | None = None


class ConfigForm(AtStop):
    config: Values


class RewindForm(AtStop):
    point: Number
    external: External = False


class RestartForm(AtStop):
    external: External = False


class GotoForm(AtStop):
    step: Text
    external: External = False


class AbortForm(Form):
    reason: Text = "aborted by the user"


class ExtendForm(Form):
    seconds: Annotated[float, Field(strict=False)]


class ExpressionForm(Form):
    expression: Text


class EvaluateForm(AtStop):
    expression: Text


async def _continue(debugger: Debugger, form: ContinueForm) -> None:
    if form.stop is None:
        await debugger.continue_all()
    else:
        await debugger.continue_(form.stop, keeps_step=form.keeps_step)


async def _step(debugger: Debugger, form: StepForm) -> None:
    match form.kind:
        case "into":
            await debugger.step_into(form.stop)
        case "over":
            await debugger.step_over(form.stop)
        case "out":
            await debugger.step_out(form.stop)
        case "to":
            await debugger.run_to(form.stop, form.step or "")
        case "back":
            await debugger.step_back(form.stop, external=form.external)


@dataclass(frozen=True, slots=True)
class Verb:
    """`act` makes the one call. An example is a body that makes sense."""

    name: str
    form: type[Form]
    act: Callable[[Debugger, Any], Awaitable[Any]]
    summary: str
    example: dict[str, Any]


_STOP = {"stop": 3}

VERBS = {
    verb.name: verb
    for verb in (
        Verb("continue", ContinueForm, _continue, "Resume a paused frame, or all", _STOP),
        Verb("pause", PauseForm, lambda d, f: d.pause(f.frame), "Pause a frame at its next point, or all", {}),
        Verb("step", StepForm, _step, "Step into, over, out, to or back", {**_STOP, "kind": "over"}),
        Verb(
            "skip",
            SkipForm,
            lambda d, f: d.skip(f.stop, f.outputs, pauses=f.pauses),
            "Skip the step",
            {**_STOP, "outputs": {}},
        ),
        Verb("retry", AtStop, lambda d, f: d.retry(f.stop), "Retry the step, with your edits", _STOP),
        Verb(
            "force",
            ForceForm,
            lambda d, f: d.force(f.stop, f.status, f.outputs, pauses=f.pauses),
            "Force the outcome of the step",
            {**_STOP, "status": "passed"},
        ),
        Verb(
            "inject",
            InjectForm,
            lambda d, f: d.inject(f.stop, f.step, f.position),
            "Inject a step that runs once",
            {**_STOP, "step": {"uses": "run", "with": {"script": "ls -l"}}, "position": "before"},
        ),
        Verb(
            "set",
            SetForm,
            lambda d, f: d.set(f.stop, f.path, f.value, layer=f.layer),
            "Set a value in the scope",
            {**_STOP, "path": ".vars.region", "value": "us"},
        ),
        Verb(
            "unset",
            UnsetForm,
            lambda d, f: d.unset(f.stop, f.path, layer=f.layer),
            "Remove a value from the scope",
            {**_STOP, "path": ".vars.region"},
        ),
        Verb("undo", AtStop, lambda d, f: d.undo(f.stop), "Undo the last edit", _STOP),
        Verb(
            "config",
            ConfigForm,
            lambda d, f: d.override_config(f.stop, f.config),
            "Override the step's config for this execution",
            {**_STOP, "config": {"script": "make test"}},
        ),
        Verb(
            "rewind",
            RewindForm,
            lambda d, f: d.rewind(f.stop, f.point, external=f.external),
            "Rewind to a point in the history",
            {**_STOP, "point": 12},
        ),
        Verb(
            "restart",
            RestartForm,
            lambda d, f: d.restart_frame(f.stop, external=f.external),
            "Restart the frame",
            _STOP,
        ),
        Verb(
            "goto",
            GotoForm,
            lambda d, f: d.goto(f.stop, f.step, external=f.external),
            "Jump to another step of the same sequence",
            {**_STOP, "step": "deploy"},
        ),
        Verb("abort", AbortForm, lambda d, f: d.abort(f.reason), "Cancel and clean up", {}),
        Verb(
            "extend", ExtendForm, lambda d, f: d.extend(f.seconds), "Extend the timeout of the stops", {"seconds": 3600}
        ),
        Verb(
            "evaluate",
            EvaluateForm,
            lambda d, f: d.evaluate(f.stop, f.expression),
            "Evaluate a jq expression at a stop",
            {**_STOP, "expression": ".vars"},
        ),
        Verb("watch", ExpressionForm, lambda d, f: d.watch(f.expression), "Add a watch", {"expression": ".vars"}),
        Verb(
            "unwatch",
            ExpressionForm,
            lambda d, f: d.unwatch(f.expression),
            "Remove a watch",
            {"expression": ".vars"},
        ),
    )
}
