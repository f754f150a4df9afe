"""Where a step command comes to rest: rules on the tree of steps, without a clock or a loop."""

from collections.abc import Collection, Sequence
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

StepVerb = Literal["into", "over", "out", "to"]


class Goal(Struct, frozen=True):
    """A step command on its way.

    It moves in `frame` and rests at the next step there that is not at or under `boundary` (None: at any). `anchor`
    is the step it began at: what stops under it, in whichever frame, ends the command. `to` rests only at `targets`,
    which are paths of steps or addresses of occurrences.
    """

    verb: StepVerb
    frame: str
    anchor: str | None
    boundary: str | None
    targets: tuple[str, ...] = ()
    is_arm: bool = False  # set on a frame that a step into opened; dies with the frame


def is_under(address: str, boundary: str | None) -> bool:
    """Whether an occurrence is that one, another attempt of it, or anything inside it."""
    if boundary is None:
        return False
    if not boundary or address == boundary:
        return True
    return address.startswith(boundary) and address[len(boundary)] in ".[#/"


def goal_of(verb: StepVerb, frame: str, address: str, parent: str | None, targets: tuple[str, ...] = ()) -> Goal:
    """The goal of a command given at the step with this address, whose parent step has that one."""
    match verb:
        case "into":
            return Goal(verb, frame, address, None)
        case "over":
            return Goal(verb, frame, address, address)
        case "out":
            return Goal(verb, frame, parent or "", parent or "")
        case "to":
            return Goal(verb, frame, "", None, targets)


def rests_at(goal: Goal, frame: str, address: str, names: Collection[str]) -> bool:
    """Whether the command has come to its end before this step. `names` are its path and its occurrence."""
    if goal.verb == "to":
        return any(name in goal.targets for name in names)
    return frame == goal.frame and not is_under(address, goal.boundary)


def is_ended_by(goal: Goal, frame: str, lineage: Collection[str], address: str, names: Collection[str]) -> bool:
    """Whether a stop there, whatever caused it, ends the command."""
    if goal.targets and any(name in goal.targets for name in names):
        return True
    return frame == goal.frame or (goal.frame in lineage and is_under(address, goal.anchor))


def after_frame(goal: Goal, frame: str, parent: str | None) -> Goal | None:
    """What becomes of the command when a frame ends: it goes on in the parent, at whatever comes next there."""
    if goal.frame != frame:
        return goal
    if goal.is_arm or parent is None:
        return None
    if goal.verb == "to":
        return replace(goal, frame=parent)
    return Goal("over", parent, None, None)


def at_fork(goal: Goal, parent: str, opener: str, children: Sequence[str]) -> list[Goal]:
    """What becomes of the command when the step `opener`, in frame `parent`, opens frames.

    A step into it stops each frame at its first step. Where the branches are what follows (the fan-out of a graph), any
    command does. Under a step that is stepped over or out of, they are let go.
    """
    if goal.frame != parent or goal.verb == "to":
        return [goal]
    arms = [Goal("into", child, None, None, is_arm=True) for child in children]
    if goal.verb == "into" and is_under(opener, goal.anchor):
        return [goal, *arms]
    return [goal] if is_under(opener, goal.boundary) else arms
