"""The model of what a `run` step can be told."""

import shlex
from typing import Any

from pydantic import Field, field_validator

from pitstop.steps.containers import InContainer
from pitstop.steps.fields import OneOrMoreCodes, OneOrMoreTexts
from pitstop.steps.workplace import BASH, SH

SHELLS = {"bash": BASH, "sh": SH, "python": ("python3", "-u")}


class RunConfig(InContainer):
    script: str = Field(description="Script to run, one or more lines.")
    shell: str | tuple[str, ...] | None = Field(
        None,
        description="`bash` (`bash -eo pipefail`, the default if installed), `sh` (the default with an `image`), "
        "`python`, or any other "
        "command, as text or as a list. `{file}` in it is replaced by a file with the script, `{script}` by its text; "
        "without either, `-c` and the script are appended.",
    )
    working_directory: str = Field(".", description="Folder to run in, inside the workspace.")
    env: dict[str, Any] = Field({}, description="Environment variables; they override those of the flow and the step.")
    stdin: str | None = Field(None, description="Text for standard input; empty by default.")
    accept: OneOrMoreCodes = Field((0,), description="Exit codes that count as passed, such as `[0, 3]`.", min_length=1)
    tests: OneOrMoreTexts = Field(
        (),
        description="Patterns of JUnit XML reports that the script writes, such as `reports/*.xml`, or `pytest` for "
        "the report of the last pytest that the script runs. Counts and failing cases are in the output `tests`.",
    )
    artifacts: OneOrMoreTexts = Field(
        (),
        description="Patterns of files to store: copied to `$PITSTOP_ARTIFACTS`, and listed in the output `artifacts`.",
    )
    requires: dict[str, Any] = Field({}, description="Labels the machine must have.")

    @field_validator("shell")
    @classmethod
    def _is_a_command(cls, shell: str | tuple[str, ...] | None) -> tuple[str, ...] | None:
        """The words of the command, whichever way it was written."""
        if shell is None:
            return None
        words = SHELLS.get(shell) or tuple(shlex.split(shell)) if isinstance(shell, str) else shell
        if not words or not words[0]:
            raise ValueError("the command that runs the script is empty")
        return words

    @field_validator("accept")
    @classmethod
    def _are_exit_codes(cls, codes: tuple[int, ...]) -> tuple[int, ...]:
        if not all(0 <= code <= 255 for code in codes):
            raise ValueError("exit codes must be between 0 and 255")
        return codes
