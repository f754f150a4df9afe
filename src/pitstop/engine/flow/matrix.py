"""The same steps once for every combination of values, one by one or side by side."""

from collections.abc import Mapping
from itertools import product
from typing import Any

from pitstop.engine.flow.parallel import Branch, rule_of, run_branches
from pitstop.engine.flow.sequence import PASSED, run_body, take_over
from pitstop.engine.frame import Activation, Frame
from pitstop.errors import StepFailure
from pitstop.events.outcome import Outcome
from pitstop.plan.expressions import render


async def run_matrix(activation: Activation, config: Mapping[str, Any]) -> Outcome:
    axes = await render(config["matrix"], activation.scope.values(), activation.run.evaluator)
    combinations = combinations_of(axes)
    branches = [_branch(activation, index, values) for index, values in enumerate(combinations)]
    if config.get("parallel", False):
        return await run_branches(activation, branches, rule_of(config, len(branches)))
    for branch in branches:
        try:
            outcome = await branch.body(activation.frame)
        finally:
            take_over(activation.scope, branch.scope.own)
        if outcome.is_failure:
            return outcome
    return PASSED


def combinations_of(axes: Mapping[str, list[Any]]) -> list[dict[str, Any]]:
    """Every combination, the last axis changing quickest, as people write nested loops."""
    for axis, values in axes.items():
        if not isinstance(values, list | tuple):
            raise StepFailure(f"matrix axis {axis!r} must be a list of values, not a {type(values).__name__}")
    return [dict(zip(axes, values, strict=True)) for values in product(*axes.values())]


def _branch(activation: Activation, index: int, values: dict[str, Any]) -> Branch:
    address = f"{activation.occurrence}[{index}]"
    scope = activation.scope.child(address, {"matrix": values})
    name = ", ".join(f"{axis}={value}" for axis, value in values.items())

    async def body(frame: Frame) -> Outcome:
        return await run_body(activation, frame, scope, activation.step.children, address)

    return Branch(address, name, scope, body)
