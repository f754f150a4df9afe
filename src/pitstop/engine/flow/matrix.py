"""The same steps once for every combination of values, one by one or side by side."""

import asyncio
from collections.abc import Iterator, Mapping
from itertools import product
from math import prod
from typing import Any

from pitstop.engine.flow.parallel import Branch, rule_of, run_branches
from pitstop.engine.flow.sequence import PASSED, run_body, take_over
from pitstop.engine.frame import Activation, Frame
from pitstop.errors import LimitExceeded, StepFailure
from pitstop.events.outcome import Outcome
from pitstop.limits import NAME_CHARACTERS, too_many_combinations
from pitstop.plan.expressions import render


async def run_matrix(activation: Activation, config: Mapping[str, Any]) -> Outcome:
    axes = await render(config["matrix"], activation.scope.values(), activation.run.evaluator)
    count, limits = count_combinations(axes), activation.run.plan.limits
    if count > limits.matrix_limit:
        raise LimitExceeded(too_many_combinations(count, limits))
    branches = (_branch(activation, index, values) for index, values in enumerate(combinations_of(axes)))
    if config.get("parallel", False):
        return await run_branches(activation, list(branches), rule_of(config, count))
    for branch in branches:
        await asyncio.sleep(0)  # even if no step of the combination waits for anything
        try:
            outcome = await branch.body(activation.frame)
        finally:
            take_over(activation.scope, branch.scope.own)
        if outcome.is_failure:
            return outcome
    return PASSED


def count_combinations(axes: Mapping[str, Any]) -> int:
    """How many combinations there are, without making one."""
    for axis, values in axes.items():
        if not isinstance(values, list | tuple):
            raise StepFailure(f"matrix axis {axis!r} must be a list of values, not a {type(values).__name__}")
    return prod(map(len, axes.values()))


def combinations_of(axes: Mapping[str, list[Any]]) -> Iterator[dict[str, Any]]:
    """Every combination, the last axis changing quickest, as people write nested loops."""
    return (dict(zip(axes, values, strict=True)) for values in product(*axes.values()))


def _branch(activation: Activation, index: int, values: dict[str, Any]) -> Branch:
    address = f"{activation.occurrence}[{index}]"
    scope = activation.scope.child(address, {"matrix": values})
    name = ", ".join(f"{axis}={value}" for axis, value in values.items())
    if len(name) > NAME_CHARACTERS:
        name = name[: NAME_CHARACTERS - 1] + "…"

    async def body(frame: Frame) -> Outcome:
        return await run_body(activation, frame, scope, activation.step.children, address)

    return Branch(address, name, scope, body)
