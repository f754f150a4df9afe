"""The first child whose `if` is true, and no other."""

from collections.abc import Mapping
from typing import Any

from pitstop.engine.flow.sequence import PASSED, run_body
from pitstop.engine.frame import Activation
from pitstop.events.outcome import Outcome, Status
from pitstop.plan.expressions import truth


async def run_conditional(activation: Activation, config: Mapping[str, Any]) -> Outcome:
    """A child without an `if` is the else. With none that fits, the step is skipped."""
    for child in activation.step.children:
        values = activation.scope.values()
        if child.condition is None or await truth(child.condition, values, activation.run.evaluator):
            outcome = await run_body(activation, activation.frame, activation.scope, (child,), activation.occurrence)
            return outcome if outcome.is_failure else PASSED
    return Outcome(Status.SKIPPED)
