"""A step that was running when the run's process ended: whether its result is there, and what becomes of it if not."""

from pitstop.engine.frame import Activation, ResumableStepType
from pitstop.errors import UnknownStep
from pitstop.events.outcome import Outcome, Status, StepError


async def has_ended(activation: Activation) -> bool:
    """Whether the result of an interrupted step is there, because what it started ended without the run's process."""
    if activation.home is not None:
        return False  # its workspace ended with the process
    try:
        step_type = activation.run.step_type(activation.step.kind)
    except UnknownStep:
        return False  # it fails when it is to run
    return isinstance(step_type, ResumableStepType) and await step_type.has_ended(activation)


def failed_by_interrupt(activation: Activation) -> Outcome | None:
    """The failure of a step that was interrupted and is not to be repeated; None for one that is, or is asked about."""
    step = activation.step
    if step.on_interrupt == "repeat" or (step.on_interrupt == "pause" and activation.run.can_pause()):
        return None
    reason = "the run's process ended while the step was running"
    if step.on_interrupt == "pause":
        reason += ", and no debugger is attached to decide what to do"
    return Outcome(Status.FAILED, error=StepError("Interrupted", reason, activation.occurrence))
