"""`merge`: the branch of a run becomes part of another one."""

from collections.abc import Mapping
from typing import Any, ClassVar

from pydantic import Field

from pitstop.engine.frame import Activation
from pitstop.errors import CommandRefused, GitProblem, NeedsServer, Unknown
from pitstop.steps.config import read_config
from pitstop.steps.failures import MergeFailed
from pitstop.steps.fields import StepConfig
from pitstop.steps.workplace import Workplace


class MergeConfig(StepConfig):
    into: str = Field(description="The branch to merge into.", min_length=1)
    message: str = Field("", description="The message of the merge commit.")


class MergeStep:
    """Outputs: the merge's commit (`sha`), the branch (`into`), and whether there was anything to merge (`is_merged`).

    It merges the run's commit, on a server, and fails if the run's branch has moved since. Merging into a protected
    branch needs a flow that is the same on that branch.
    """

    name: ClassVar[str] = "merge"
    summary: ClassVar[str] = "Merge the run's branch into another one."
    shorthand_field: ClassVar[str | None] = "into"
    Config: ClassVar[type[MergeConfig]] = MergeConfig

    def __init__(self, workplace: Workplace) -> None:
        self._workplace = workplace

    async def act(self, activation: Activation, config: Mapping[str, Any]) -> dict[str, Any]:
        workplace = self._workplace
        given = read_config(self.name, MergeConfig, config, workplace.mask)
        if workplace.workshop is None:
            raise MergeFailed(given.into, str(NeedsServer("`merge`")))
        try:
            merged = await workplace.workshop.merge(given.into, given.message)
        except (CommandRefused, Unknown, GitProblem) as error:
            raise MergeFailed(given.into, str(error), getattr(error, "files", ())) from error
        said = f"merged into {given.into}: {merged['sha']}" if merged["is_merged"] else f"{given.into} has it already"
        workplace.tell(activation, said)
        return dict(merged)
