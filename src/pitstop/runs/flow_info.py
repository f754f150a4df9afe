"""A flow as plain values: its steps and its inputs."""

from typing import Any

from msgspec import Struct

from pitstop.errors import Mistake


class StepInfo(Struct, frozen=True):
    """A step of a flow. `parent` is the path of its parent step; lines and columns start at 1."""

    path: str
    kind: str
    title: str
    id: str | None = None
    parent: str | None = None
    file: str | None = None
    line: int | None = None
    column: int | None = None
    end_line: int | None = None
    condition: str | None = None
    is_cleanup: bool = False
    detail: str = ""  # what it does, in one line
    retries: int = 0  # how often it is tried again when it has failed
    goes_on_after_failure: bool = False  # whether what follows runs all the same

    @property
    def place(self) -> str:
        """`file:line`, as editors and terminals take it; empty for a step that is in no file."""
        return f"{self.file}:{self.line}" if self.file is not None else ""


class InputInfo(Struct, frozen=True):
    """An input of a flow."""

    name: str
    type: str | None
    is_required: bool
    default: Any = None
    description: str = ""


class SecretUse(Struct, frozen=True):
    """A secret that a flow uses. `is_stored`: the service has its value, so a run does not need one."""

    name: str
    is_stored: bool


class FlowInfo(Struct, frozen=True):
    """A valid flow, with its steps in source order."""

    name: str
    file: str
    steps: tuple[StepInfo, ...]
    inputs: tuple[InputInfo, ...] = ()
    warnings: tuple[Mistake, ...] = ()  # of a flow that can run
    secrets: tuple[SecretUse, ...] = ()

    def step(self, path: str) -> StepInfo | None:
        """The step with this path; one that was injected beside it is found by the path of its host."""
        return next((step for step in self.steps if step.path == path.partition("+")[0]), None)
