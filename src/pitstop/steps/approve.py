"""`approve`: a person says yes or no."""

from collections.abc import Mapping
from typing import Any, ClassVar

from pydantic import Field

from pitstop.engine.frame import Activation
from pitstop.steps.config import read_config
from pitstop.steps.failures import NotApproved
from pitstop.steps.fields import StepConfig
from pitstop.steps.workplace import Workplace


class ApproveConfig(StepConfig):
    prompt: str = Field(description="Question to show to the approver.", min_length=1)


class ApproveStep:
    """Outputs: who approved (`by`), and the `comment`."""

    name: ClassVar[str] = "approve"
    summary: ClassVar[str] = "Wait for a user's approval."
    shorthand_field: ClassVar[str | None] = "prompt"
    Config: ClassVar[type[ApproveConfig]] = ApproveConfig

    def __init__(self, workplace: Workplace) -> None:
        self._workplace = workplace

    async def act(self, activation: Activation, config: Mapping[str, Any]) -> dict[str, Any]:
        workplace, occurrence = self._workplace, activation.occurrence
        mask = workplace.mask
        prompt = mask(read_config(self.name, ApproveConfig, config, mask).prompt)
        workplace.tell(activation, f"waiting for approval: {prompt}\n{workplace.approvals.how(occurrence)}")
        decision = await workplace.approvals.ask(occurrence, prompt)
        if not decision.approved:
            raise NotApproved(prompt, decision.by, decision.comment)
        return {"by": decision.by, "comment": decision.comment}
