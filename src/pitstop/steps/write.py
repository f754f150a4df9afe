"""`write`: a file in the workspace."""

import json
import os
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

from pydantic import Field, field_validator

from pitstop.engine.frame import Activation
from pitstop.engine.threads import in_thread
from pitstop.plan.values import as_json
from pitstop.steps.config import read_config
from pitstop.steps.failures import CannotWrite
from pitstop.steps.fields import StepConfig
from pitstop.steps.workplace import Workplace


class WriteConfig(StepConfig):
    path: str = Field(description="Where, in the workspace. Folders on the way are made.", min_length=1)
    content: Any = Field("", description="Text, which is written as it is, or anything else, written as JSON.")
    mode: str | None = Field(None, description="The permissions in octal, in quotes: `'0755'`.")
    append: bool = Field(False, description="Add to the end of the file instead of replacing it.")

    @field_validator("mode", mode="before")
    @classmethod
    def _is_octal(cls, mode: object) -> object:
        if mode is None:
            return None
        digits = mode.removeprefix("0o").lstrip("0") if isinstance(mode, str) else "?"
        if len(digits) > 3 or not set(digits) <= set("01234567"):
            raise ValueError("write the permissions as octal text, in quotes: '0644'")
        return digits or "0"


class WriteStep:
    """Writes a file, never outside the workspace, whatever links there are."""

    name: ClassVar[str] = "write"
    summary: ClassVar[str] = "Write a file in the workspace."
    shorthand_field: ClassVar[str | None] = "path"
    Config: ClassVar[type[WriteConfig]] = WriteConfig

    def __init__(self, workplace: Workplace) -> None:
        self._workplace = workplace

    async def act(self, activation: Activation, config: Mapping[str, Any]) -> dict[str, Any]:
        form = read_config(self.name, WriteConfig, config, self._workplace.masker.mask_text)
        path = self._workplace.path("path", form.path)
        text = form.content if isinstance(form.content, str) else json.dumps(as_json(form.content), indent=2) + "\n"
        try:
            size = await in_thread(lambda: _write(path, text.encode(errors="surrogateescape"), form))
        except OSError as error:
            raise CannotWrite(form.path, error.strerror or str(error)) from error
        return {"path": path.relative_to(self._workplace.repo.resolve()).as_posix(), "size": size}


def _write(path: Path, data: bytes, form: WriteConfig) -> int:
    """Write all of it and return the size of the file.

    The path had no link in it when it was looked at; one that is there now was put there since, and is not followed.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    how = os.O_APPEND if form.append else os.O_TRUNC
    file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | how, 0o666)
    with os.fdopen(file, "wb") as opened:
        if not stat.S_ISREG(os.fstat(file).st_mode):
            raise OSError(None, "something is there that is no file")
        opened.write(data)
        opened.flush()
        if form.mode is not None:
            os.fchmod(file, int(form.mode, 8))
        return os.fstat(file).st_size
