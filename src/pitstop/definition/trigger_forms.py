"""The shapes of `on` and `concurrency` in a flow file: what starts a run, and which runs exclude each other."""

from collections.abc import Collection, Iterator
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError
from pydantic_core import InitErrorDetails

from pitstop.definition.flow import Concurrency
from pitstop.definition.mistakes import did_you_mean, quoted
from pitstop.definition.trigger_fields import (
    MOST_SCHEDULES,
    Cron,
    Jq,
    NoAction,
    Patterns,
    PushOnFail,
    RefPatterns,
    Texts,
    Timezone,
    check_count,
    mistake,
)

TRIGGERS = ("push", "card_complete", "schedule", "webhook", "manual")


class TriggerForm(BaseModel):
    """An event that starts a run of the flow."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, defer_build=True)

    enabled: bool = Field(True, description="Whether the trigger starts runs.")


class PushForm(TriggerForm):
    """A push to the repository."""

    branches: RefPatterns | None = Field(
        None,
        description="Patterns of branches, such as `[main, release/**, '!release/old']`; the last match wins. All "
        "branches by default, or none if there are `tags`.",
    )
    tags: RefPatterns | None = Field(None, description="Patterns of tags, such as `v*`; none by default.")
    paths: Patterns | None = Field(
        None,
        description="Patterns of files, such as `src/**`: at least one changed file must match. They do not apply to "
        "tags.",
    )
    on_pass: Literal["merge", "nothing"] = Field(
        "nothing",
        description="What to do when the run passes: `merge` merges the branch into the default branch, and does "
        "nothing for a push to that branch.",
    )
    on_fail: PushOnFail = Field("nothing", description="What to do when the run fails.")

    def spec(self) -> dict[str, Any]:
        """The trigger as JSON, where no patterns of branches or tags match none, and no `paths` any file."""
        branches = self.branches or ([] if self.tags else ["**"])
        return {**self.model_dump(), "branches": branches, "tags": self.tags or [], "paths": self.paths or []}


class CardForm(TriggerForm):
    """A card is completed."""

    status: Literal["in_review", "done"] = Field("in_review", description="The status that the card has reached.")
    labels: Texts = Field(default_factory=list, description="Labels; the card must have one of them. Any by default.")
    on_pass: Literal["merge", "nothing"] = Field(
        "nothing", description="What to do when the run passes: `merge` merges the branch of the card."
    )
    on_fail: Literal["fail", "reject", "nothing"] = Field(
        "nothing",
        description="What to do when the run fails: `fail` moves the card to `failed`, `reject` back to `todo`.",
    )

    def spec(self) -> dict[str, Any]:
        return self.model_dump()


class _WithoutAction(TriggerForm):
    """A trigger with no card and no branch, so that `on_pass` and `on_fail` are mistakes."""

    on_pass: NoAction = Field(None, exclude=True)
    on_fail: NoAction = Field(None, exclude=True)

    def spec(self) -> dict[str, Any]:
        return self.model_dump(by_alias=True)


class ScheduleForm(_WithoutAction):
    """A schedule."""

    cron: Cron = Field(description="Cron expression with five fields: minute, hour, day of month, month, day of week.")
    timezone: Timezone = Field("UTC", description="Timezone of the expression, such as `Europe/Berlin`.")
    catch_up: bool = Field(
        False, description="Whether a run that was missed while the server was down starts later; at most one does."
    )
    inputs: dict[str, Any] = Field(default_factory=dict, description="Values for inputs of the flow.")


class WebhookForm(_WithoutAction):
    """A webhook is called."""

    provider: Literal["github", "gitlab", "gitea", "plain"] = Field(
        "plain",
        description="Who calls it, which decides how deliveries are signed; `gitea` also means Forgejo.",
    )
    events: Texts = Field(
        default_factory=list, description="Names of events, such as `[push, pull_request]`. Any by default."
    )
    if_: Jq | None = Field(
        None,
        alias="if",
        description='jq, such as `.payload.ref == "refs/heads/main"`; nothing starts if it is false or null.',
    )
    inputs: dict[str, Jq] = Field(
        default_factory=dict, description="jq for inputs of the flow, such as `{sha: .payload.after}`."
    )


class ManualForm(_WithoutAction):
    """A user starts it."""


def _as_mapping(written: object) -> object:
    """`push:` without a value is a push with all defaults."""
    return {} if written is None else written


def _one_or_more_schedules(written: object) -> object:
    schedules = written if isinstance(written, list) else [_as_mapping(written)]
    check_count(schedules, "schedules", MOST_SCHEDULES)
    return schedules


_Mapping = BeforeValidator(_as_mapping)
_Schedules = BeforeValidator(_one_or_more_schedules, json_schema_input_type=ScheduleForm | list[ScheduleForm])


class TriggersForm(BaseModel):
    """Events that start a run of the flow."""

    model_config = TriggerForm.model_config

    push: Annotated[PushForm | None, _Mapping] = Field(None, description="A push to the repository.")
    card_complete: Annotated[CardForm | None, _Mapping] = Field(None, description="A card is completed.")
    schedule: Annotated[list[ScheduleForm] | None, _Schedules] = Field(None, description="One or more schedules.")
    webhook: Annotated[WebhookForm | None, _Mapping] = Field(None, description="A webhook is called.")
    manual: Annotated[ManualForm | None, _Mapping] = Field(None, description="A user starts it.")

    def spec(self) -> dict[str, Any]:
        """The triggers by name, as JSON and with their defaults; `schedule` is a list."""
        forms = {name: getattr(self, name) for name in TRIGGERS}
        return {
            name: [each.spec() for each in form] if isinstance(form, list) else form.spec()
            for name, form in forms.items()
            if form is not None
        }

    def check_inputs(self, known: Collection[str]) -> None:
        """ValidationError with every input that a trigger sets and the flow does not have."""
        unknown = list(self._unknown_inputs(known))
        if unknown:
            raise ValidationError.from_exception_data("flow", unknown)

    def _unknown_inputs(self, known: Collection[str]) -> Iterator[InitErrorDetails]:
        setting: list[tuple[tuple[str | int, ...], dict[str, Any]]] = [
            (("schedule", number), each.inputs) for number, each in enumerate(self.schedule or ())
        ]
        if self.webhook is not None:
            setting.append((("webhook",), self.webhook.inputs))
        for place, inputs in setting:
            for name in inputs:
                if name not in known:
                    unknown = mistake(f"the flow has no input {quoted(name)}", did_you_mean(name, known))
                    yield InitErrorDetails(type=unknown, loc=("on", *place, "inputs", name), input=name)


def _named_triggers(written: object) -> object:
    """`on: push` and `on: [push, manual]` as the mapping that they are short for."""
    names = [written] if isinstance(written, str) else written
    if not isinstance(names, list):
        return written
    for name in names:
        if not isinstance(name, str):
            raise mistake("a list of triggers has only names", "write a mapping such as `{push: {branches: main}}`")
        if name not in TRIGGERS:
            raise mistake(f"unknown trigger {quoted(name)}", did_you_mean(name, TRIGGERS))
        if name == "schedule":
            raise mistake("`schedule` needs `cron`", "write a mapping such as `{schedule: {cron: 0 2 * * *}}`")
    return dict.fromkeys(names)


_TriggerName = Literal["push", "card_complete", "webhook", "manual"]
Triggers = Annotated[
    TriggersForm,
    BeforeValidator(_named_triggers, json_schema_input_type=TriggersForm | _TriggerName | list[_TriggerName]),
]


# --- Concurrency -----------------------------------------------------------------------------------------------------


class ConcurrencyForm(BaseModel):
    """Runs that exclude each other."""

    model_config = TriggerForm.model_config

    group: str = Field(
        min_length=1,
        description="Name of the group, such as `deploy-${{ .trigger.branch }}`; it can read `.trigger` and `.inputs`.",
    )
    cancel: bool = Field(False, description="Whether a new run cancels the run of the group that has not ended.")

    def spec(self) -> Concurrency:
        return Concurrency(self.group, self.cancel)


ConcurrencyGroup = Annotated[
    ConcurrencyForm,
    BeforeValidator(
        lambda written: {"group": written} if isinstance(written, str) else written,
        json_schema_input_type=ConcurrencyForm | str,
    ),
]
