"""A flow with its plan, and what was read to make it."""

from collections.abc import Mapping

from msgspec import Struct

from pitstop.definition.flow import Flow
from pitstop.engine.run import COMBINING
from pitstop.plan.fix_loops import FIX_LOOP
from pitstop.plan.plan import Plan
from pitstop.runs.graph_targets import GraphTarget
from pitstop.runs.sessions import AGENT, BREAKS
from pitstop.steps.registry import StepTypes


class PlannedFlow(Struct, frozen=True):
    """A flow, its plan, and the step types that it was read with. `graph` is set for one that is written in Python."""

    flow: Flow
    plan: Plan
    types: StepTypes
    texts: Mapping[str, str]
    graph: GraphTarget | None = None

    @property
    def address(self) -> str:
        """What it can be planned by again."""
        return self.flow.source.file if self.graph is None else str(self.graph)


def step_kinds(plan: Plan) -> set[str]:
    """The step types that a run of a plan needs."""
    return {step.kind for step in plan.steps.values()} - {*COMBINING, FIX_LOOP}


def pauses_itself(plan: Plan) -> bool:
    """Whether a step of the plan asks for a pause, even if the run is not being debugged."""
    if FIX_LOOP in (each.kind for each in plan.steps.values()):
        return True
    has_breaks = any(each.kind == AGENT and BREAKS in each.config for each in plan.steps.values())
    return has_breaks or any("pause" in (each.on_success, each.on_failure) for each in plan.steps.values())
