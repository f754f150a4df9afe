"""A step that was running when the run's process ended: whether its result is there, and what becomes of it if not."""

from pitstop.engine.frame import Activation, ResumableStepType
from pitstop.errors import Unavailable, UnknownStep
from pitstop.events.outcome import Outcome, Status, StepError


async def has_ended(activation: Activation) -> bool:
    """Whether the result of an interrupted step is there, because what it started ended without the run's process."""
    run, home, kind = activation.run, activation.home, activation.step.kind
    try:
        step_type = run.step_type(kind)
        if home is not None:
            step_type = await run.fresh_step_type(home, kind)
    except (UnknownStep, Unavailable):
        return False  # it fails when it is to run
    if isinstance(step_type, ResumableStepType) and await step_type.has_ended(activation):
        return True
    if home is not None and activation.step.workspace == "fresh":
        await run.discard_fresh(home)
    return False


def failed_by_interrupt(activation: Activation) -> Outcome | None:
    """The failure of a step that was interrupted and is not to be repeated; None for one that is, or is asked about."""
    step = activation.step
    if step.on_interrupt == "repeat" or (step.on_interrupt == "pause" and activation.run.can_pause()):
        return None
    reason = "the run's process ended while the step was running"
    if step.on_interrupt == "pause":
        reason += ", and no debugger is attached to decide what to do"
    return Outcome(Status.FAILED, error=StepError("Interrupted", reason, activation.occurrence))
