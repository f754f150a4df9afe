"""`fail`: the end of a way that should not have been taken."""

from collections.abc import Mapping
from typing import Any, ClassVar, NoReturn

from pydantic import Field

from pitstop.engine.frame import Activation
from pitstop.steps.config import read_config
from pitstop.steps.failures import FailedOnPurpose
from pitstop.steps.fields import StepConfig
from pitstop.steps.workplace import Workplace


class FailConfig(StepConfig):
    message: str = Field(description="Failure message.", min_length=1)


class FailStep:
    name: ClassVar[str] = "fail"
    summary: ClassVar[str] = "Fail with a message."
    shorthand_field: ClassVar[str | None] = "message"
    Config: ClassVar[type[FailConfig]] = FailConfig

    def __init__(self, workplace: Workplace) -> None:
        self._workplace = workplace

    async def act(self, activation: Activation, config: Mapping[str, Any]) -> NoReturn:
        mask = self._workplace.mask
        raise FailedOnPurpose(mask(read_config(self.name, FailConfig, config, mask).message))
