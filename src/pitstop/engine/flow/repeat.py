"""The same steps again and again, until something is true or a number of times."""

import asyncio
from collections.abc import Mapping
from typing import Any

from pitstop.engine.flow.sequence import PASSED, run_body, take_over
from pitstop.engine.frame import Activation
from pitstop.errors import LimitExceeded, StepFailure
from pitstop.events.outcome import Outcome, Status, StepError
from pitstop.limits import too_many_iterations
from pitstop.plan.expressions import truth


async def run_repeat(activation: Activation, config: Mapping[str, Any]) -> Outcome:
    """Turn by turn; `.repeat.index` counts from 0. `until` that never came true is a failure."""
    until, times, every_seconds = config.get("until"), config.get("times"), config.get("every_seconds", 0.0)
    if until is None and times is None:
        raise StepFailure("a repeat needs `until`, `times` or both")
    turn, acts_before = 0, activation.run.acts
    limits = activation.run.plan.limits
    while times is None or turn < times:
        if turn == limits.iteration_limit:
            raise LimitExceeded(too_many_iterations(turn + 1 if times is None else times, limits))
        await asyncio.sleep(0)  # even if no step of the iteration waits for anything
        if every_seconds and activation.run.acts > acts_before:  # turns that the log has were waited for already
            await asyncio.sleep(every_seconds)
        acts_before = activation.run.acts
        address = f"{activation.occurrence}[{turn}]"
        scope = activation.scope.child(address, {"repeat": {"index": turn}})
        try:
            outcome = await run_body(activation, activation.frame, scope, activation.step.children, address)
        finally:
            take_over(activation.scope, scope.own)
        if outcome.is_failure:
            return outcome
        if until is not None and await truth(until, activation.scope.values(), activation.run.evaluator):
            return PASSED
        turn += 1
    if until is None:
        return PASSED
    message = f"`until: {until}` was not true after {times} iterations"
    return Outcome(Status.FAILED, error=StepError("NeverTrue", message, activation.occurrence))
