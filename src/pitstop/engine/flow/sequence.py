"""One step after the other; the first failure ends it."""

from collections.abc import Mapping, Sequence
from typing import Any

from pitstop.engine.body import Body
from pitstop.engine.frame import Activation, Frame, FrameRewound
from pitstop.engine.frame_life import go_back
from pitstop.engine.step import record_in_steps, run_step
from pitstop.events.outcome import Outcome, Status
from pitstop.plan.plan import Step
from pitstop.plan.scope import Assigned, Layer, Removed, Scope

PASSED = Outcome(Status.PASSED)


async def run_sequence(activation: Activation, config: Mapping[str, Any]) -> Outcome:
    return await run_body(
        activation, activation.frame, activation.scope, activation.step.children, activation.occurrence
    )


async def run_body(activation: Activation, frame: Frame, scope: Scope, steps: Sequence[Step], address: str) -> Outcome:
    """Run steps in order at this address. A failed one ends it, unless it says to go on; one that passed may too."""
    run, body = activation.run, Body(steps, scope, address, is_replayed=activation.is_replayed)
    frame.bodies.append(body)
    try:
        while True:
            try:
                return await _run_on(activation, frame, body)
            except FrameRewound as rewound:
                restart = rewound.target.restart
                if restart is None or restart.body is not body or run.log is None:
                    raise
                await go_back(run, frame, rewound.target)
                scope.own.rewind(restart.start.mark)
                body.index = restart.index
    finally:
        frame.bodies.pop()


async def _run_on(activation: Activation, frame: Frame, body: Body) -> Outcome:
    """Run the steps from the one on that the body has come to."""
    for index in range(body.index, len(body.steps)):
        body.index, step = index, body.steps[index]
        outcome = await run_step(activation, frame, body.scope, step, body.base(index), record_in_steps)
        if step.follows_failure:  # whatever came of it, the failure before it counts
            step = body.steps[index - 1]
            outcome = activation.run.done[step.path]
        elif outcome.is_failure and index + 1 < len(body.steps) and body.steps[index + 1].follows_failure:
            continue
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
