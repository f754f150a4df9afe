"""One step after the other; the first failure ends it."""

from collections.abc import Iterable, Mapping
from typing import Any

from pitstop.engine.frame import Activation, Frame
from pitstop.engine.step import record_in_steps, run_step
from pitstop.events.outcome import Outcome, Status
from pitstop.plan.plan import Step
from pitstop.plan.scope import Assigned, Layer, Removed, Scope

PASSED = Outcome(Status.PASSED)


async def run_sequence(activation: Activation, config: Mapping[str, Any]) -> Outcome:
    return await run_body(
        activation, activation.frame, activation.scope, activation.step.children, activation.occurrence
    )


async def run_body(activation: Activation, frame: Frame, scope: Scope, steps: Iterable[Step], address: str) -> Outcome:
    """Run steps in order at this address. A failed one ends it, unless it says to go on; one that passed may too."""
    for step in steps:
        base = f"{address}.{step.local}" if address else step.local
        outcome = await run_step(activation, frame, scope, step, base, record_in_steps)
        if outcome.is_failure and not step.continue_on_error and step.on_failure != "next":
            return Outcome(outcome.status, error=outcome.error)
        if outcome.status is Status.PASSED and step.on_success == "stop":
            break
    return PASSED


def take_over(scope: Scope, layer: Layer) -> None:
    """Let what was written in a layer that ends be seen in the scope around it."""
    for change in layer.changes or ():
        match change:
            case Assigned():
                scope.put(change.path, change.value)
            case Removed():
                scope.own.remove(change.path)
            case _:
                for key, value in change.items():
                    scope.put((key,), value)
