"""`sleep`: some time that passes."""

import asyncio
from collections.abc import Mapping
from typing import Any, ClassVar

from pydantic import Field

from pitstop.engine.frame import Activation
from pitstop.steps.config import read_config
from pitstop.steps.fields import Duration, StepConfig
from pitstop.steps.workplace import Workplace


class SleepConfig(StepConfig):
    duration: Duration = Field(description="Duration: `500ms`, `2s`, `1m30s`, or a number of seconds.")


class SleepStep:
    name: ClassVar[str] = "sleep"
    summary: ClassVar[str] = "Wait for a fixed time."
    shorthand_field: ClassVar[str | None] = "duration"
    Config: ClassVar[type[SleepConfig]] = SleepConfig

    def __init__(self, workplace: Workplace) -> None:
        self._workplace = workplace

    async def act(self, activation: Activation, config: Mapping[str, Any]) -> dict[str, Any]:
        form = read_config(self.name, SleepConfig, config, self._workplace.mask)
        await asyncio.sleep(form.duration)
        return {}
