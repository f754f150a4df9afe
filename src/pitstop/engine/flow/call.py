"""A sub-flow: its own inputs and variables, nothing of the caller's but what is handed in."""

import asyncio
from collections import deque
from collections.abc import Mapping
from typing import Any

from pitstop.engine.flow.sequence import run_body
from pitstop.engine.frame import Activation, FrameRewound
from pitstop.events.outcome import Outcome, Status
from pitstop.plan.expressions import render
from pitstop.plan.plan import Step
from pitstop.plan.scope import Layer, Scope


async def run_call(activation: Activation, config: Mapping[str, Any]) -> Outcome:
    """`with` is rendered in the caller's scope, `values` is what the sub-flow begins with, `outputs` what it gives."""
    evaluator = activation.run.evaluator
    given = await render(config.get("with", {}), activation.scope.values(), evaluator)
    values = dict(config.get("values", {}))
    values["inputs"] = {**values.get("inputs", {}), **given}
    values.setdefault("steps", {})
    for name in ("run", "trigger", "secrets"):
        if name in activation.scope.values():
            values[name] = activation.scope.values()[name]
    scope = Scope((Layer(activation.occurrence, values),))
    acts_before, left = activation.run.acts, deque(activation.step.cleanup)
    try:
        outcome = await run_body(activation, activation.frame, scope, activation.step.children, activation.occurrence)
        outcome = await clean_up(activation, scope, outcome, acts_before, left)
    except asyncio.CancelledError:
        await clean_up_aside(activation, scope, acts_before, left)
        raise
    if outcome.is_failure or "outputs" not in config:
        return outcome
    return Outcome(outcome.status, await render(config["outputs"], scope.values(), evaluator))


async def clean_up(
    activation: Activation, scope: Scope, outcome: Outcome, acts_before: int, left: deque[Step]
) -> Outcome:
    """Run every cleanup step that is left, whatever the others did. A failure counts only where there was none before.

    After anything was done again, what an earlier run of this log has cleaned up has to be cleaned up again.
    """
    while left:
        if activation.frame.is_cancelled:  # although the step before this one took the cancel for its own
            raise asyncio.CancelledError
        step = left.popleft()
        if activation.run.acts > acts_before:
            activation.frame.recorded.forget(activation.address(step.local))
        cleaned = await run_body(activation, activation.frame, scope, (step,), activation.occurrence)
        if cleaned.is_failure and outcome.status is Status.PASSED:
            outcome = cleaned
    return outcome


async def clean_up_aside(activation: Activation, scope: Scope, acts_before: int, left: deque[Step]) -> None:
    """Clean up after a cancel: in a task of its own, for this one is cancelled. Another cancel ends it."""
    run = activation.run
    rewound: FrameRewound | None = None

    async def clean_up_what_is_left() -> None:
        nonlocal rewound
        try:
            await clean_up(activation, scope, Outcome(Status.CANCELLED), acts_before, left)
        except FrameRewound as going_back:
            rewound = going_back

    if left and not activation.is_replayed and not run.ends_at_once:
        async with asyncio.TaskGroup() as group:
            task = group.create_task(clean_up_what_is_left(), name="cleanup")
            run.tasks[task] = None
            task.add_done_callback(run.tasks.pop)
    if rewound is not None:
        raise rewound
