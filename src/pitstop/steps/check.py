"""`check`: something that must hold."""

from collections.abc import Mapping
from typing import Any, ClassVar

from pydantic import Field

from pitstop.engine.frame import Activation
from pitstop.steps.conditions import holds, only_expression
from pitstop.steps.config import read_config
from pitstop.steps.fields import Duration, StepConfig
from pitstop.steps.polling import NotYet, plan_polling, poll
from pitstop.steps.workplace import Workplace


class CheckConfig(StepConfig):
    expression: str = Field(
        description="jq expression that must be true, such as `.steps.build.outputs.size < 1000`. "
        "Anything except false and null counts as true.",
        min_length=1,
        json_schema_extra={"format": "jq"},
    )
    every: Duration | None = Field(None, description="Repeat the check, with this delay between attempts (1s).")
    within: Duration | None = Field(
        None,
        description="Repeat the check until this timeout. Without `every` and `within` it is checked once.",
    )


class CheckStep:
    """If it is not, the failure shows the values that it used."""

    name: ClassVar[str] = "check"
    summary: ClassVar[str] = "Check that a jq expression is true, now or within a timeout."
    shorthand_field: ClassVar[str | None] = "expression"
    Config: ClassVar[type[CheckConfig]] = CheckConfig

    def __init__(self, workplace: Workplace) -> None:
        self._workplace = workplace

    async def act(self, activation: Activation, config: Mapping[str, Any]) -> dict[str, Any]:
        mask = self._workplace.mask
        written = {**activation.step.config, **(activation.config or {})}.get("expression")
        expression = only_expression(written)
        if expression is not None:  # rendered it is the answer of one moment, and can only be asked once
            config = {**config, "expression": expression}
        form = read_config(self.name, CheckConfig, config, mask)

        async def attempt() -> bool | NotYet:
            found = await holds(form.expression, activation.scope.values(), activation.run.evaluator)
            return NotYet(mask(found.reason)) if isinstance(found, NotYet) else found

        polling = plan_polling(form.every, form.within, activation.step.timeout_seconds)
        await poll(mask(f"{form.expression!r} is not true"), attempt, polling)
        return {}
