"""The steps that run now, found by name: to enter one, or to stop it."""

from collections.abc import Iterable

from pitstop.engine.calls import host_of
from pitstop.engine.frame import Activation, Frame, RunContext
from pitstop.errors import SeveralSteps, StepNotRunning


def running_step(run: RunContext, name: str) -> Activation:
    """The one open step that has this name, or is inside the step that has it. StepNotRunning, SeveralSteps."""
    found = running_steps(run, name)
    if len(found) > 1:
        raise SeveralSteps(name, [each.occurrence for each in found])
    return found[0]


def running_steps(run: RunContext, name: str) -> list[Activation]:
    """The innermost open steps at or inside the step with this address, path or ID. StepNotRunning if there is none."""
    leaves = list(_leaves(run, run.frames.values()))
    found = [leaf for leaf in leaves if _is_named(leaf, name)]
    if not found:
        raise StepNotRunning(name, [leaf.occurrence for leaf in leaves])
    return found


def _leaves(run: RunContext, frames: Iterable[Frame]) -> Iterable[Activation]:
    for frame in frames:
        at = None if frame.activation is None else host_of(frame.activation)
        if at is not None and not frame.is_done and not at.is_replayed and at.step.kind not in run.combining:
            yield at


def _is_named(leaf: Activation, name: str) -> bool:
    around: Activation | None = leaf
    while around is not None:
        if name in (around.occurrence, around.base, around.step.path, around.step.id):
            return True
        around = around.parent
    return False
