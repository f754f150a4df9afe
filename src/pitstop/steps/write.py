"""`write`: a file in the workspace."""

import json
from collections.abc import Mapping
from typing import Any, ClassVar

from pydantic import Field, field_validator

from pitstop.engine.frame import Activation
from pitstop.errors import FileProblem, PathOutside
from pitstop.plan.values import as_json
from pitstop.steps.config import read_config
from pitstop.steps.failures import CannotWrite, OutsideWorkspace
from pitstop.steps.fields import StepConfig
from pitstop.steps.workplace import Workplace


class WriteConfig(StepConfig):
    path: str = Field(description="Path in the workspace. Missing folders are created.", min_length=1)
    content: Any = Field("", description="Text, or any other value, which is written as JSON.")
    mode: str | None = Field(None, description="Permissions in octal, in quotes: `'0755'`.")
    append: bool = Field(False, description="Append to the file instead of replacing it.")

    @field_validator("mode", mode="before")
    @classmethod
    def _is_octal(cls, mode: object) -> object:
        if mode is None:
            return None
        digits = mode.removeprefix("0o").lstrip("0") if isinstance(mode, str) else "?"
        if len(digits) > 3 or not set(digits) <= set("01234567"):
            raise ValueError("permissions must be octal text, in quotes: '0644'")
        return digits or "0"


class WriteStep:
    """It never writes outside the workspace, even through links."""

    name: ClassVar[str] = "write"
    summary: ClassVar[str] = "Write a file in the workspace."
    shorthand_field: ClassVar[str | None] = "path"
    Config: ClassVar[type[WriteConfig]] = WriteConfig

    def __init__(self, workplace: Workplace) -> None:
        self._workplace = workplace

    async def act(self, activation: Activation, config: Mapping[str, Any]) -> dict[str, Any]:
        form = read_config(self.name, WriteConfig, config, self._workplace.mask)
        text = form.content if isinstance(form.content, str) else json.dumps(as_json(form.content), indent=2) + "\n"
        data = text.encode(errors="surrogateescape")
        mode = None if form.mode is None else int(form.mode, 8)
        try:
            written = await self._workplace.files.write("repo", form.path, data, mode=mode, append=form.append)
        except PathOutside as error:
            raise OutsideWorkspace("path", form.path) from error
        except FileProblem as error:
            raise CannotWrite(form.path, error.reason) from error
        return {"path": written.path, "size": written.size}
