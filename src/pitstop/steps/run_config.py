"""The model of what a `run` step can be told."""

import shlex
from collections.abc import Callable, Mapping
from typing import Any

from pydantic import Field, field_validator

from pitstop.steps.config import read_config
from pitstop.steps.containers import InContainer
from pitstop.steps.fields import OneOrMoreCodes, OneOrMoreTexts
from pitstop.steps.run_options import RunOptions
from pitstop.steps.workplace import BASH, SH

SHELLS = {"bash": BASH, "sh": SH, "python": ("python3", "-u")}


class RunConfig(InContainer):
    script: str = Field(description="What to run, in one line or many.")
    shell: str | tuple[str, ...] | None = Field(
        None,
        description="`bash` (`bash -eo pipefail`, the default where there is one), `sh` (the default with an `image`), "
        "`python`, or any other "
        "command, as text or as a list. `{file}` in it stands for a file with the script, `{script}` for its text; "
        "with neither, `-c` and the script come last.",
    )
    working_directory: str = Field(".", description="The folder to run in; it cannot be outside the workspace.")
    env: dict[str, Any] = Field({}, description="Variables for this script, over those of the flow and of the step.")
    stdin: str | None = Field(None, description="Text that the script can read; without it the input is empty.")
    accept: OneOrMoreCodes = Field(
        (0,), description="The exit codes that count as passed, such as `[0, 3]`.", min_length=1
    )
    tests: OneOrMoreTexts = Field(
        (),
        description="Patterns of the JUnit XML reports that the script writes, such as `reports/*.xml`: counted, and "
        "the failing cases listed, in the output `tests`.",
    )
    artifacts: OneOrMoreTexts = Field(
        (),
        description="Patterns of files that are kept: copied to `$PITSTOP_ARTIFACTS`, and listed in the output "
        "`artifacts`.",
    )
    requires: dict[str, Any] = Field({}, description="What the machine must have, by label.")

    @field_validator("shell")
    @classmethod
    def _is_a_command(cls, shell: str | tuple[str, ...] | None) -> tuple[str, ...] | None:
        """The words of the command, whichever way it was written."""
        if shell is None:
            return None
        words = SHELLS.get(shell) or tuple(shlex.split(shell)) if isinstance(shell, str) else shell
        if not words or not words[0]:
            raise ValueError("name the command that runs the script")
        return words

    @field_validator("accept")
    @classmethod
    def _are_exit_codes(cls, codes: tuple[int, ...]) -> tuple[int, ...]:
        if not all(0 <= code <= 255 for code in codes):
            raise ValueError("exit codes are between 0 and 255")
        return codes

    def options(self) -> RunOptions:
        return RunOptions(
            script=self.script,
            shell=None if self.shell is None else tuple(self.shell),
            working_directory=self.working_directory,
            env=self.env,
            stdin=self.stdin,
            accept=self.accept,
            tests=self.tests,
            artifacts=self.artifacts,
            requires=self.requires,
            image=self.image,
            container=self.container_options(),
        )


def read_run_config(step_type: str, config: Mapping[str, Any], mask: Callable[[str], str]) -> RunOptions:
    """BadConfig names each field that is wrong and the value that it has."""
    return read_config(step_type, RunConfig, config, mask).options()
